#include "coll/symbolic_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tri::coll {

contribution_sets::contribution_sets(int ranks, bool ordered) : ordered_(ordered) {
  sets_.reserve(static_cast<std::size_t>(ranks) * 4);
  for (int rank = 0; rank < ranks; ++rank) stored({{rank, rank + 1}});
}

contribution_sets::id contribution_sets::stored(std::vector<interval> set) {
  std::uint64_t hash = 1469598103934665603u;
  for (const interval& each : set)
    hash = (hash ^ (static_cast<std::uint64_t>(each.first) << 32 | static_cast<std::uint32_t>(each.last))) *
           1099511628211u;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found)
    if (sets_[static_cast<std::size_t>(found->second)] == set) return found->second;
  const id made = static_cast<id>(sets_.size());
  by_hash_.emplace(hash, made);
  sets_.push_back(std::move(set));
  return made;
}

contribution_sets::id contribution_sets::of_ranks(int first, int last) { return stored({{first, last}}); }

contribution_sets::id contribution_sets::combined(id left, id right, std::string& problem) {
  const std::uint64_t operands = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  if (const auto found = by_operands_.find(operands); found != by_operands_.end()) return found->second;
  const std::vector<interval>& a = sets_[static_cast<std::size_t>(left)];
  const std::vector<interval>& b = sets_[static_cast<std::size_t>(right)];
  std::vector<interval> both(a.size() + b.size());
  std::ranges::merge(a, b, both.begin(), {}, &interval::first, &interval::first);
  std::vector<interval> joined;
  for (const interval& each : both) {
    if (!joined.empty() && each.first < joined.back().last) {
      problem = fmt::format("the contribution of rank {} enters twice: {} with {}", each.first, text_of(left),
                            text_of(right));
      return none;
    }
    if (!joined.empty() && each.first == joined.back().last)
      joined.back().last = each.last;
    else
      joined.push_back(each);
  }
  if (ordered_ && (joined.size() != 1 || a.front().first > b.front().first)) {
    problem = fmt::format("contributions are combined out of order: {} before {}", text_of(left), text_of(right));
    return none;
  }
  const id made = stored(std::move(joined));
  by_operands_.emplace(operands, made);
  return made;
}

std::string contribution_sets::text_of(id set) const {
  std::string text;
  for (const interval& each : sets_[static_cast<std::size_t>(set)])
    text += fmt::format(
        "{}{}", text.empty() ? "ranks " : ",",
        each.last == each.first + 1 ? fmt::format("{}", each.first) : fmt::format("{}-{}", each.first, each.last - 1));
  return text;
}

std::vector<symbolic_piece>::const_iterator symbolic_buffer::first_behind(std::uint64_t offset) const {
  return std::ranges::partition_point(pieces_, [&](const symbolic_piece& each) { return each.end <= offset; });
}

bool symbolic_buffer::read(std::uint64_t begin, std::uint64_t end, std::vector<symbolic_piece>& into) const {
  std::uint64_t at = begin;
  for (auto each = first_behind(begin); at < end; ++each) {
    if (each == pieces_.end() || each->begin > at) return false;
    const std::uint64_t last = std::min(each->end, end);
    into.push_back({at - begin, last - begin, each->set, each->origin + (at - each->begin)});
    at = last;
  }
  return true;
}

bool symbolic_buffer::has_some_of(std::uint64_t begin, const std::vector<symbolic_piece>& pieces) const {
  for (const symbolic_piece& one : pieces)
    for (auto each = first_behind(begin + one.begin); each != pieces_.end() && each->begin < begin + one.end; ++each) {
      const std::uint64_t at = std::max(each->begin, begin + one.begin);
      if (each->set == one.set && each->origin + (at - each->begin) == one.origin + (at - begin - one.begin))
        return true;
    }
  return false;
}

void symbolic_buffer::write(std::uint64_t begin, const std::vector<symbolic_piece>& pieces) {
  if (pieces.empty()) return;
  const std::uint64_t end = begin + pieces.back().end;
  std::vector<symbolic_piece> fresh;
  fresh.reserve(pieces.size() + 2);
  const auto add = [&](const symbolic_piece& one) {
    if (!fresh.empty() && one.continues(fresh.back()))
      fresh.back().end = one.end;
    else
      fresh.push_back(one);
  };
  auto first = first_behind(begin);
  if (first != pieces_.begin() && (first == pieces_.end() || first->begin >= begin)) --first;  // to merge with it
  auto last = first;
  if (last != pieces_.end() && last->begin < begin) {
    add({last->begin, std::min(last->end, begin), last->set, last->origin});
  }
  for (const symbolic_piece& one : pieces) add({begin + one.begin, begin + one.end, one.set, one.origin});
  for (; last != pieces_.end() && last->begin <= end; ++last)
    if (last->end > end) {
      const std::uint64_t at = std::max(last->begin, end);
      add({at, last->end, last->set, last->origin + (at - last->begin)});
      ++last;
      break;
    }
  const auto from = first - pieces_.begin();
  const auto old = last - first;
  const auto common = std::min<std::ptrdiff_t>(old, static_cast<std::ptrdiff_t>(fresh.size()));
  std::copy(fresh.begin(), fresh.begin() + common, pieces_.begin() + from);
  if (old > common)
    pieces_.erase(pieces_.begin() + from + common, pieces_.begin() + from + old);
  else
    pieces_.insert(pieces_.begin() + from + common, fresh.begin() + common, fresh.end());
}

}  // namespace tri::coll
