#include "balance/distributed/gossip_host.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "os/hash.hpp"

namespace tri::balancing {
namespace {

// The limit of a turn is at most so many times the tolerance above the level.
constexpr double farthest_limit = 4.0;

// Equal for all hosts: whom a host sends to in a round, as a distance.
std::int32_t distance_of(std::uint64_t seed, std::int32_t round, std::int32_t hosts) {
  std::mt19937_64 random(
      os::hashed_word(os::hashed_word(os::hash_of_nothing, seed), static_cast<std::uint64_t>(round)));
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(hosts - 1)) + 1;
}

}  // namespace

gossip_host::gossip_host(host_part part, std::int32_t number, std::int32_t hosts, const gossip_options& options)
    : part_(std::move(part)),
      number_(number),
      tree_{hosts},
      options_(options),
      random_(
          os::hashed_word(os::hashed_word(os::hash_of_nothing, options.seed), ~static_cast<std::uint64_t>(number))) {
  sum_.missing = tree_.children_of(number);
}

void gossip_host::begin(outbox& out) {
  part_.refine(options_.tolerance);
  sum_.add(part_.work(), part_.speed());
  if (sum_.missing == 0) send_sum(out);
}

double gossip_host::limit_of(std::int32_t turn) const {
  return level_ * (1.0 + options_.tolerance * std::min(std::ldexp(1.0, turn), farthest_limit));
}

void gossip_host::send_sum(outbox& out) {
  if (number_ == 0)
    take_level(sum_.work / sum_.speed, out);
  else
    out.push_back({tree_.parent_of(number_), {.what = message::kind::sum, .work = sum_.work, .speed = sum_.speed}});
}

void gossip_host::receive(std::int32_t from, const message& what, outbox& out) {
  switch (what.what) {
    case message::kind::sum:
      sum_.add(what.work, what.speed);
      if (--sum_.missing == 0) send_sum(out);
      break;
    case message::kind::level:
      take_level(what.work, out);
      break;
    case message::kind::rumour:
      early_[what.round] = what.known;
      hear_rumours(out);
      break;
    case message::kind::offer:  // only hosts whose own rumour has room get one, so this one knows the level
      answer_offer(from, what, out);
      break;
    case message::kind::answer:
      take_answer(from, what, out);
      break;
  }
}

void gossip_host::take_level(double level, outbox& out) {
  level_ = level;
  for (std::int32_t child = tree_.first_child_of(number_); child < tree_.end_of_children_of(number_); ++child)
    out.push_back({child, {.what = message::kind::level, .work = level}});
  if (tree_.hosts == 1)
    done_ = true;
  else
    begin_rumours(out);
}

// What was heard before an earlier turn is old: rooms have been filled since.
void gossip_host::begin_rumours(outbox& out) {
  known_.clear();
  if (const double room = part_.free_work(limit_of(turn_)); room > 0.0) known_[number_] = room;
  is_listening_ = true;
  send_rumour(out);
  hear_rumours(out);
}

void gossip_host::send_rumour(outbox& out) {
  message rumour{.what = message::kind::rumour, .round = round_};
  for (const auto& [host, room] : known_) rumour.known.push_back({host, room});
  out.push_back({(number_ + distance_of(options_.seed, round_, tree_.hosts)) % tree_.hosts, std::move(rumour)});
}

void gossip_host::hear_rumours(outbox& out) {
  for (auto heard = early_.find(round_); is_listening_ && heard != early_.end(); heard = early_.find(round_)) {
    merge(heard->second);
    early_.erase(heard);
    ++round_;
    if (round_ % options_.rounds != 0) {
      send_rumour(out);
    } else {
      is_listening_ = false;
      begin_turn(out);
    }
  }
}

void gossip_host::merge(const std::vector<message::room_of_host>& heard) {
  for (const message::room_of_host& each : heard) known_.try_emplace(each.host, each.work);
  while (known_.size() > options_.most_known)
    known_.erase(std::next(known_.begin(), static_cast<std::ptrdiff_t>(random_() % known_.size())));
}

void gossip_host::begin_turn(outbox& out) {
  known_.erase(number_);
  std::vector<offered_object> objects = part_.surplus(limit_of(turn_), level_);
  std::sort(objects.begin(), objects.end(), [](const offered_object& a, const offered_object& b) {
    return a.work != b.work ? a.work > b.work : a.object < b.object;
  });
  for (const offered_object& each : objects) {
    const std::int32_t target = draw_target(each.work);
    if (target == no_host) continue;  // it stays, at least for this turn
    known_[target] -= each.work;
    asked_[target].push_back(each);
  }
  for (const auto& [host, offered] : asked_)
    out.push_back({host, {.what = message::kind::offer, .round = turn_, .offered = offered}});
  if (asked_.empty()) end_turn(out);
}

void gossip_host::end_turn(outbox& out) {
  part_.refine(options_.tolerance);  // what could not leave may still find a better PE here
  if (++turn_ == options_.turns)
    done_ = true;
  else
    begin_rumours(out);
}

// Few hosts get large offers, as each costs two messages; more are asked where those are full.
std::int32_t gossip_host::draw_target(double work) {
  std::int32_t target = no_host;
  if (asked_.size() >= options_.few_targets) target = draw_among(work, true);
  if (target == no_host && asked_.size() < options_.most_targets) target = draw_among(work, false);
  return target;
}

std::int32_t gossip_host::draw_among(double work, bool only_asked) {
  const auto weight_of = [&](std::int32_t host, double room) {
    if (only_asked && !asked_.contains(host)) return 0.0;
    return room >= work || is_last(turn_) ? std::max(room, 0.0) : 0.0;
  };
  double sum = 0.0;
  for (const auto& [host, room] : known_) sum += weight_of(host, room);
  if (sum <= 0.0) return no_host;
  double drawn = static_cast<double>(random_() >> 11U) * 0x1p-53 * sum;
  std::int32_t last = no_host;
  for (const auto& [host, room] : known_) {
    const double weight = weight_of(host, room);
    if (weight <= 0.0) continue;
    last = host;
    if (drawn < weight) return host;
    drawn -= weight;
  }
  return last;  // by rounding
}

void gossip_host::answer_offer(std::int32_t from, const message& offer, outbox& out) {
  message answer{.what = message::kind::answer};
  for (const offered_object& each : offer.offered) {
    const double below_old = each.time_before * (1.0 - 1e-9);
    const double limit = limit_of(offer.round);
    const auto pe = part_.admit(each.work, is_last(offer.round) ? std::max(limit, below_old) : limit);
    if (pe) answer.accepted.push_back({each.object, each.host, *pe});
  }
  out.push_back({from, std::move(answer)});
}

void gossip_host::take_answer(std::int32_t from, const message& answer, outbox& out) {
  const auto asked = asked_.find(from);
  for (const accepted_object& each : answer.accepted) part_.give(each.object, each.pe);
  asked_.erase(asked);
  if (asked_.empty()) end_turn(out);
}

}  // namespace tri::balancing
