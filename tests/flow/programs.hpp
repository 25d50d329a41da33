// Programs for flow_world: who sends what, and in which order it is received.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "flow_world.hpp"

namespace tri::flow {

enum class program : std::uint8_t {
  in_order,     // source by source in turn, each tag in the order of sending
  by_source,    // a source is named, the tag is not
  from_anyone,  // neither
  reverse,      // tags in reverse order: every message but the last has to wait (the thesis' killer benchmark)
};

inline std::string name_of(program which) {
  constexpr const char* names[] = {"in_order", "by_source", "from_anyone", "reverse"};
  return names[static_cast<std::size_t>(which)];
}

inline constexpr program all_programs[] = {program::in_order, program::by_source, program::from_anyone,
                                           program::reverse};

// Messages of 0, 1, 2 records' sizes in turn, beginning with `first_size`, so every limit of memory makes a difference.
inline scope make_scope(program which, std::size_t senders, std::size_t messages, std::uint64_t memory,
                        std::size_t window, std::size_t first_size = 1) {
  scope made;
  made.memory = memory;
  made.window = window;
  made.sends.resize(senders);
  for (std::size_t i = 0; i < messages; ++i) {
    const std::size_t tag = which == program::reverse ? messages - 1 - i : i;
    for (std::size_t from = 0; from < senders; ++from) {
      made.sends[from].push_back({static_cast<std::int32_t>(i), (first_size + i) % 3 * record_bytes});
      message_filter filter;
      if (which != program::from_anyone) filter.source = static_cast<peer_number>(from);
      if (which == program::in_order || which == program::reverse) filter.tag = static_cast<std::int32_t>(tag);
      made.receives.push_back(filter);
    }
  }
  return made;
}

/// Messages with random tags; receives with and without wildcards, in a random order, of which each is sure to be
/// served whatever the timing: those from a named source take, in the order of posting, each the first message left
/// that they take; tags of the highest number are received from anyone only.
inline scope make_random_scope(std::uint64_t seed, std::size_t senders, std::size_t messages, std::uint64_t memory,
                               std::size_t window) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  constexpr std::int32_t from_anyone = 3;
  const bool has_any_source = below(2) == 0;
  scope made;
  made.memory = memory;
  made.window = window;
  made.sends.resize(senders);
  std::vector<std::vector<std::int32_t>> tags_left(senders);
  for (std::size_t from = 0; from < senders; ++from) {
    for (std::size_t i = 0; i < messages; ++i) {
      const auto tag = static_cast<std::int32_t>(below(has_any_source ? 4 : 3));
      made.sends[from].push_back({tag, below(3) * record_bytes});
      tags_left[from].push_back(tag);
    }
  }
  while (made.receives.size() < senders * messages) {
    const std::size_t from = below(senders);
    auto& left = tags_left[from];
    if (left.empty()) continue;
    const std::int32_t tag = left[below(left.size())];
    const auto first = std::find(left.begin(), left.end(), tag);
    message_filter filter{.source = static_cast<peer_number>(from), .context = 0, .tag = tag};
    if (tag == from_anyone) filter.source = any_source;
    // With tags that anyone's receives take, a receive without a tag could take theirs.
    if (!has_any_source && first == left.begin() && below(2) == 0) filter.tag = any_tag;
    left.erase(first);
    made.receives.push_back(filter);
  }
  return made;
}

}  // namespace tri::flow
