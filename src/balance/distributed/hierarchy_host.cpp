#include "balance/distributed/hierarchy_host.hpp"

#include <algorithm>
#include <set>

namespace tri::balancing {

hierarchy_host::hierarchy_host(host_part part, std::int32_t number, std::int32_t hosts, double tolerance,
                               std::int32_t fanout)
    : part_(std::move(part)), number_(number), tree_{hosts, fanout}, tolerance_(tolerance) {
  sum_.missing = unmatched_missing_ = tree_.children_of(number);
}

void hierarchy_host::begin(outbox& out) {
  part_.refine(tolerance_);
  sum_.add(part_.work(), part_.speed());
  if (sum_.missing == 0) send_sum(out);
}

void hierarchy_host::send_sum(outbox& out) {
  if (number_ == 0)
    begin_matching(sum_.work / sum_.speed, out);
  else
    out.push_back({tree_.parent_of(number_), {.what = message::kind::sum, .work = sum_.work, .speed = sum_.speed}});
}

void hierarchy_host::receive(std::int32_t, const message& what, outbox& out) {
  switch (what.what) {
    case message::kind::sum:
      sum_.add(what.work, what.speed);
      if (--sum_.missing == 0) send_sum(out);
      break;
    case message::kind::level:
      begin_matching(what.work, out);
      break;
    case message::kind::unmatched:
      offered_.insert(offered_.end(), what.offered.begin(), what.offered.end());
      rooms_.insert(rooms_.end(), what.rooms.begin(), what.rooms.end());
      if (--unmatched_missing_ == 0) match(out);
      break;
    case message::kind::decided:
      send_decisions(what.accepted, out);
      break;
  }
}

void hierarchy_host::begin_matching(double level, outbox& out) {
  level_ = level;
  for (std::int32_t child = tree_.first_child_of(number_); child < tree_.end_of_children_of(number_); ++child)
    out.push_back({child, {.what = message::kind::level, .work = level}});
  offered_ = part_.surplus(level * (1.0 + tolerance_), level);
  rooms_ = part_.rooms(level);
  if (unmatched_missing_ == 0) match(out);
}

// Of the subtree: the largest object first, into the PE with the shortest time.
void hierarchy_host::match(outbox& out) {
  const bool is_root = number_ == 0;
  const double limit = level_ * (1.0 + tolerance_);
  std::sort(offered_.begin(), offered_.end(), [](const offered_object& a, const offered_object& b) {
    return a.work != b.work ? a.work > b.work : a.object < b.object;
  });
  std::set<std::pair<double, std::int32_t>> by_time;
  std::sort(rooms_.begin(), rooms_.end(),
            [](const host_part::room& a, const host_part::room& b) { return a.pe < b.pe; });
  for (std::size_t i = 0; i < rooms_.size(); ++i)
    by_time.emplace(rooms_[i].load / rooms_[i].speed, static_cast<std::int32_t>(i));
  std::vector<offered_object> unmatched;
  for (const offered_object& each : offered_) {
    if (by_time.empty()) {
      unmatched.push_back(each);
      continue;
    }
    host_part::room& room = rooms_[static_cast<std::size_t>(by_time.begin()->second)];
    const double time = (room.load + each.work) / room.speed;
    // The root knows of all rooms: there is no better place than this one, if it ends sooner than the present one.
    if (time > limit && !(is_root && time < each.time_before * (1.0 - 1e-9))) {
      unmatched.push_back(each);
      continue;
    }
    room.load += each.work;
    accepted_.push_back({each.object, each.host, room.pe});
    const std::int32_t index = by_time.begin()->second;
    by_time.erase(by_time.begin());
    by_time.emplace(time, index);
  }
  offered_ = std::move(unmatched);
  if (is_root) {
    send_decisions({}, out);
    return;
  }
  std::erase_if(rooms_, [&](const host_part::room& each) { return each.load / each.speed >= level_; });
  out.push_back({tree_.parent_of(number_),
                 {.what = message::kind::unmatched, .offered = std::move(offered_), .rooms = std::move(rooms_)}});
  offered_.clear();
  rooms_.clear();
}

void hierarchy_host::send_decisions(const std::vector<accepted_object>& more, outbox& out) {
  accepted_.insert(accepted_.end(), more.begin(), more.end());
  const std::int32_t first = tree_.first_child_of(number_), end = tree_.end_of_children_of(number_);
  std::vector<message> to_children(static_cast<std::size_t>(end - first));
  for (const accepted_object& each : accepted_) {
    if (each.host == number_)
      part_.give(each.object, each.pe);
    else
      to_children[static_cast<std::size_t>(tree_.child_towards(number_, each.host) - first)].accepted.push_back(each);
  }
  for (std::int32_t child = first; child < end; ++child) {
    message& decided = to_children[static_cast<std::size_t>(child - first)];
    decided.what = message::kind::decided;
    out.push_back({child, std::move(decided)});
  }
  accepted_.clear();
  done_ = true;
}

}  // namespace tri::balancing
