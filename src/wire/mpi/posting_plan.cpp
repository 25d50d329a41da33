#include "wire/mpi/posting_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tri::wire {
namespace {

posted_ahead read_one(std::string_view text) {
  posted_ahead one{};
  const char* const end = text.data() + text.size();
  const auto count = std::from_chars(text.data(), end, one.count);
  if (count.ec == std::errc() && count.ptr != end && *count.ptr == 'x') {
    const auto bytes = std::from_chars(count.ptr + 1, end, one.bytes);
    if (bytes.ec == std::errc() && bytes.ptr == end && one.count >= 1 && one.count <= 4096 && one.bytes >= 1 &&
        one.bytes <= most_size_classes * size_class_bytes)
      return one;
  }
  throw std::invalid_argument(
      fmt::format("'{}' in wire_mpi_posted; each part is COUNTxBYTES, 1 to 4096 receives of 1 to {} bytes, such as "
                  "4x65536",
                  text, most_size_classes * size_class_bytes));
}

}  // namespace

std::vector<posted_ahead> read_posted_ahead(std::string_view text) {
  std::vector<posted_ahead> all;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    all.push_back(read_one(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return all;
}

posting_plan::posting_plan(const posting_options& options)
    : options_(options), fixed_(most_size_classes + 1), seen_(most_size_classes + 1) {
  for (const posted_ahead& each : options_.fixed) fixed_[size_class_of(each.bytes)] += each.count;
  wanted_ = fixed_;
}

void posting_plan::saw(std::size_t size_class) {
  ++seen_[size_class];
  ++seen_in_all_;
}

// The buffers are shared out by how often a class was seen, at least one for each of those that are kept.
bool posting_plan::renew() {
  if (options_.adaptive_classes == 0 || seen_in_all_ < options_.interval) return false;
  std::vector<std::size_t> often;
  for (std::size_t each = 1; each < seen_.size(); ++each)
    if (seen_[each] != 0) often.push_back(each);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(options_.adaptive_classes, often.size()));
  std::partial_sort(often.begin(), often.begin() + kept, often.end(), [&](std::size_t left, std::size_t right) {
    return seen_[left] != seen_[right] ? seen_[left] > seen_[right] : left < right;
  });
  often.resize(static_cast<std::size_t>(kept));
  std::size_t seen_of_kept = 0;
  for (const std::size_t each : often) seen_of_kept += seen_[each];
  wanted_ = fixed_;
  for (const std::size_t each : often) {
    const std::size_t share = std::max<std::size_t>(1, options_.buffers * seen_[each] / seen_of_kept);
    wanted_[each] = std::max(wanted_[each], share);
  }
  std::fill(seen_.begin(), seen_.end(), 0);
  seen_in_all_ = 0;
  return true;
}

}  // namespace tri::wire
