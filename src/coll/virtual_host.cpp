#include "coll/virtual_host.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tri::coll {

bool virtual_host::event::operator<(const event& other) const {
  return std::tie(time, kind, of.rank, of.index) > std::tie(other.time, other.kind, other.of.rank, other.of.index);
}

std::size_t virtual_host::hash_of_name::operator()(const message_name& name) const {
  std::uint64_t mixed =
      (std::uint64_t{static_cast<std::uint32_t>(name.from)} << 32) | std::uint64_t{static_cast<std::uint32_t>(name.to)};
  mixed = (mixed ^ (std::uint64_t{name.round} << 8 | name.slot)) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::size_t>(mixed ^ (mixed >> 31));
}

virtual_host::virtual_host(const request& asked, const cost_parameters& costs, const step_delays* delays, int number)
    : costs_(costs),
      delays_(delays),
      first_rank_(asked.hosts.first_rank(number)),
      end_rank_(asked.hosts.first_rank(number + 1)) {
  // All plans begin at 0; which steps are ready then is known when the plans are there.
  events_.push({0.0, no_name, event_kind::begin});
}

void virtual_host::load(std::span<const plan> plans) {
  plans_ = plans;
  progress_.reserve(plans.size());
  for (const plan& each : plans) progress_.emplace_back(each);
  if (!has_begun_) return first_load();
  for (std::size_t rank = 0; rank < plans.size(); ++rank)
    for (std::uint32_t index = 0; index < plans[rank].steps.size(); ++index)
      if (ended_[first_step_[rank] + index]) progress_[rank].ended(index, ready_);
  ready_.clear();  // what is ready is among the events, or waits
}

void virtual_host::first_load() {
  has_begun_ = true;
  events_.pop();
  ranks_.resize(plans_.size());
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    first_step_.push_back(steps_left_);
    steps_left_ += plans_[rank].steps.size();
    first_counter_.push_back(static_cast<std::uint32_t>(counters_.size()));
    counters_.resize(counters_.size() + plans_[rank].counters);
    if (keeps_records_) records_.emplace_back(plans_[rank].steps.size());
    progress_[rank].begin(ready_);
    for (const std::uint32_t index : ready_)
      events_.push({0.0, {first_rank_ + static_cast<std::int32_t>(rank), index}, event_kind::begin});
    ready_.clear();
  }
  ended_.resize(steps_left_);
}

void virtual_host::unload() {
  plans_ = {};
  progress_ = {};
  ready_ = {};
}

void virtual_host::run(double begin_time, double end_time, std::vector<message_under_way>& sent,
                       virtual_totals& totals) {
  sent_ = &sent;
  totals_ = &totals;
  while (!events_.empty() && (events_.top().time < end_time || events_.top().time <= begin_time)) {
    const event next = events_.top();
    events_.pop();
    switch (next.kind) {
      case event_kind::begin:
        begin(next.time, next.of);
        break;
      case event_kind::arrival:
        take(next.time, next.of);
        break;
      case event_kind::end:
        end(next.time, next.of);
        break;
    }
  }
}

// The rank works for so long, from `earliest` on or when it is free; returns when it has done.
double virtual_host::work(step_name of, double earliest, double length) {
  rank_state& rank = ranks_[local(of.rank)];
  if (rank.free > earliest)
    if (step_record* const record = record_of(of)) record->occupied = rank.last;
  rank.free = std::max(rank.free, earliest) + length + late_by(of);
  rank.last = of;
  return rank.free;
}

void virtual_host::begin(double time, step_name of) {
  const step& one = step_of(of);
  if (step_record* const record = record_of(of); record != nullptr && record->begin < 0.0)
    record->begin = time;  // a send may come again
  const double bytes = static_cast<double>(one.bytes);
  switch (one.kind) {
    case step_kind::join:
      return events_.push({time, of, event_kind::end});
    case step_kind::copy:
      return events_.push({work(of, time, costs_.copy_start + bytes * costs_.copy_per_byte), of, event_kind::end});
    case step_kind::reduce_left:
    case step_kind::reduce_right:
      return events_.push({work(of, time, costs_.copy_start + bytes * costs_.reduce_per_byte), of, event_kind::end});
    case step_kind::signal:
      return events_.push({time + costs_.signal, of, event_kind::end});
    case step_kind::wait:
      return wait(time, of);
    case step_kind::send:
      return begin_send(time, of);
    case step_kind::receive:
      return receive(time, of);
  }
}

void virtual_host::wait(double time, step_name of) {
  const step& one = step_of(of);
  counter& waited_for = counter_of(one);
  if (waited_for.value >= one.value) return events_.push({time, of, event_kind::end});
  if (free_waiting_ == none) {
    free_waiting_ = static_cast<std::uint32_t>(waiting_.size());
    waiting_.emplace_back();
  }
  const std::uint32_t mine = free_waiting_;
  free_waiting_ = waiting_[mine].next;
  waiting_[mine] = {of, one.value, waited_for.first_waiting};
  waited_for.first_waiting = mine;
}

void virtual_host::begin_send(double time, step_name of) {
  const step& one = step_of(of);
  rank_state& rank = ranks_[local(of.rank)];
  if (is_mine(one.peer)) {
    const double handed_over = work(of, time, costs_.overhead);
    events_.push({handed_over, of, event_kind::end});
    ++totals_->inside_messages;
    totals_->inside_bytes += one.bytes;
    return arrive(handed_over + costs_.host_latency, of, {of.rank, one.peer, one.round, one.slot});
  }
  if (rank.next_send > time) {  // the processor may do something else meanwhile
    if (step_record* const record = record_of(of)) record->occupied = rank.last_send;
    return events_.push({rank.next_send, of, event_kind::begin});
  }
  const double handed_over = work(of, time, costs_.overhead);
  rank.last_send = of;
  rank.next_send = handed_over - costs_.overhead + costs_.gap;
  const double leaves = std::max(handed_over, out_free_);
  out_free_ = leaves + static_cast<double>(one.bytes) * costs_.per_byte;
  events_.push({out_free_, of, event_kind::end});
  sent_->push_back({time, leaves, one.bytes, of, one.peer, one.round, one.slot});
  if (totals_->rounds.size() <= one.round) totals_->rounds.resize(one.round + std::size_t{1});
  round_times& round = totals_->rounds[one.round];
  ++round.messages;
  round.bytes += one.bytes;
  round.begin = std::min(round.begin, time);
}

void virtual_host::deliver(const message_under_way& arriving) {
  const double delay = delays_ == nullptr ? 0.0 : delays_->of_message(arriving.send);
  in_free_ = std::max(arriving.leaves + costs_.latency + delay, in_free_) +
             static_cast<double>(arriving.bytes) * costs_.per_byte;
  arrive(in_free_, arriving.send, {arriving.send.rank, arriving.to, arriving.round, arriving.slot});
}

void virtual_host::arrive(double arrives, step_name send, const message_name& name) {
  const auto [entry, is_first] = half_met_.try_emplace(name, half_met{arrives, send});
  if (is_first) return;
  const half_met posted = entry->second;
  half_met_.erase(entry);
  meet(arrives, send, posted.time, posted.side);
}

void virtual_host::receive(double time, step_name of) {
  const step& one = step_of(of);
  const auto [entry, is_first] = half_met_.try_emplace({one.peer, of.rank, one.round, one.slot}, half_met{time, of});
  if (is_first) return;
  const half_met arrived = entry->second;
  half_met_.erase(entry);
  meet(arrived.time, arrived.side, time, of);
}

// Both sides are known. The receiver begins its part when the message is there; another event, for the rank works in
// the order in which work comes up.
void virtual_host::meet(double arrives, step_name send, double posted, step_name receive) {
  if (arrives > posted)
    if (step_record* const record = record_of(receive)) record->cause = send;
  events_.push({std::max(arrives, posted), receive, event_kind::arrival});
}

void virtual_host::take(double time, step_name of) {
  const step& one = step_of(of);
  const double length =
      is_mine(one.peer) ? costs_.copy_start + static_cast<double>(one.bytes) * costs_.copy_per_byte : costs_.overhead;
  events_.push({work(of, time, length), of, event_kind::end});
}

void virtual_host::end(double time, step_name of) {
  if (step_record* const record = record_of(of)) record->end = time;
  const std::size_t rank = local(of.rank);
  ended_[first_step_[rank] + of.index] = true;
  --steps_left_;
  ++totals_->steps;
  totals_->time = std::max(totals_->time, time);
  const step& one = step_of(of);
  if (one.kind == step_kind::signal) raise(time, of);
  if (one.kind == step_kind::receive && !is_mine(one.peer)) {
    if (totals_->rounds.size() <= one.round) totals_->rounds.resize(one.round + std::size_t{1});
    double& round_end = totals_->rounds[one.round].end;
    round_end = std::max(round_end, time);
  }
  progress_[rank].ended(of.index, ready_);
  for (const std::uint32_t index : ready_) {
    const step_name next{of.rank, index};
    if (step_record* const record = record_of(next)) record->cause = of;
    events_.push({time, next, event_kind::begin});
  }
  ready_.clear();
}

void virtual_host::raise(double time, step_name of) {
  counter& raised = counter_of(step_of(of));
  ++raised.value;
  for (std::uint32_t* link = &raised.first_waiting; *link != none;) {
    const std::uint32_t place = *link;
    waiting_step& waiting = waiting_[place];
    if (waiting.value > raised.value) {
      link = &waiting.next;
      continue;
    }
    if (step_record* const record = record_of(waiting.of)) record->cause = of;
    events_.push({time, waiting.of, event_kind::end});
    *link = waiting.next;
    waiting.next = free_waiting_;
    free_waiting_ = place;
  }
}

std::size_t virtual_host::loaded_bytes() const {
  std::size_t bytes = progress_.capacity() * sizeof(ready_steps);
  // Of each step: dependencies left, first successor; of each dependency: a successor.
  for (const plan& each : plans_) bytes += (2 * each.steps.size() + each.dependencies.size()) * sizeof(std::uint32_t);
  return bytes;
}

std::size_t virtual_host::kept_bytes() const {
  constexpr std::size_t node = sizeof(message_name) + sizeof(half_met) + 2 * sizeof(void*);  // of libstdc++
  return sizeof *this + events_.capacity() * sizeof(event) + ranks_.capacity() * sizeof(rank_state) +
         first_counter_.capacity() * sizeof(std::uint32_t) + counters_.capacity() * sizeof(counter) +
         waiting_.capacity() * sizeof(waiting_step) + first_step_.capacity() * sizeof(std::uint64_t) +
         ended_.capacity() / 8 + half_met_.size() * node + half_met_.bucket_count() * sizeof(void*);
}

void virtual_host::forget() {
  unload();
  events_ = {};
  ranks_ = {};
  first_counter_ = {};
  counters_ = {};
  waiting_ = {};
  first_step_ = {};
  ended_ = {};
  half_met_ = {};
}

namespace {

// Hosts by the time of their next event; an entry whose time is no longer that of its host is old.
struct agenda {
  using entry = std::pair<double, std::size_t>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> entries;
  std::vector<double> listed;  // by host

  void list(std::size_t host, double time) {
    if (time == virtual_host::never || time == listed[host]) return;
    listed[host] = time;
    entries.emplace(time, host);
  }
  // Lets go of entries that are old; false where nothing is left.
  bool has_more() {
    while (!entries.empty() && listed[entries.top().second] != entries.top().first) entries.pop();
    return !entries.empty();
  }
  std::size_t take() {
    const std::size_t host = entries.top().second;
    entries.pop();
    listed[host] = virtual_host::never;
    return host;
  }
};

}  // namespace

void run_in_windows(std::vector<virtual_host>& hosts, const request& asked, const cost_parameters& costs,
                    std::vector<message_under_way>& under_way,
                    const std::function<void(std::size_t host, double begin, double end)>& turn,
                    const std::function<void(std::span<const message_under_way>)>& delivered) {
  agenda next;
  next.listed.assign(hosts.size(), virtual_host::never);
  for (std::size_t host = 0; host < hosts.size(); ++host) next.list(host, hosts[host].next_time());
  std::vector<std::size_t> of_window;
  while (next.has_more()) {
    const double begin = next.entries.top().first;
    // A little less than o + L, as sums of these are rounded.
    const double end = begin + (costs.overhead + costs.latency) * (1.0 - 1e-9);
    of_window.clear();
    while (next.has_more() && (next.entries.top().first < end || next.entries.top().first == begin))
      of_window.push_back(next.take());
    std::ranges::sort(of_window);
    under_way.clear();
    for (const std::size_t host : of_window) {
      turn(host, begin, end);
      next.list(host, hosts[host].next_time());
    }
    std::ranges::sort(under_way, {}, [](const message_under_way& each) {
      return std::tuple(each.begun, each.send.rank, each.send.index);
    });
    for (const message_under_way& each : under_way) {
      const auto target = static_cast<std::size_t>(asked.hosts.host_of(each.to));
      hosts[target].deliver(each);
      next.list(target, hosts[target].next_time());
    }
    if (delivered) delivered(under_way);
  }
}

}  // namespace tri::coll
