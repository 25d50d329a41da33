// What Pointer and Update of the DIS Stressmarks have in common: a field of words, where the median of the words in a
// window says where the next window is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dis/random_words.hpp"
#include "pgas/version_table.hpp"

namespace dis {

using word = std::uint32_t;
using field_array = tri::global_array<word, 1>;

/// The parameters of the suite, with its names in brackets.
struct hop_settings {
  std::int64_t words = 1 << 16;   // of the field (f)
  std::int64_t window = 9;        // words of a window, odd (w, or l)
  std::int64_t most_hops = 4096;  // (maxhops)
  std::int64_t stop_words =
      2;  // a window that begins in a stop range of so many words ends the hops (maxStop - minStop)
  std::int64_t seed = 1;

  void add_to(pgas::command_line& line) {
    line.number("--field", words, 16, std::int64_t{1} << 31, "words of the field")
        .number("--window", window, 1, 15, "words of a window, an odd number")
        .number("--hops", most_hops, 1, std::int64_t{1} << 40, "hops at most")
        .number("--stop", stop_words, 0, std::int64_t{1} << 31, "words of the range that ends the hops")
        .number("--seed", seed, 0, 1 << 30, "of the random numbers");
  }
  /// Empty: they are possible.
  std::string fault() const {
    if (window % 2 == 0) return fmt::format("--window is {}; it must be odd, so that there is a median", window);
    if (words <= window) return fmt::format("--field is {}; it must be larger than the window, {}", words, window);
    return "";
  }
  /// Windows begin below.
  std::int64_t starts() const { return words - window; }
  word word_at(std::int64_t i) const { return static_cast<word>(random_word(seed, i, starts())); }
};

/// Where a thread of the suite starts and stops.
struct hop_range {
  hop_range(const hop_settings& of, int thread)
      : start(static_cast<std::int64_t>(random_word(~of.seed, 2 * thread, of.starts()))),
        first_stop(static_cast<std::int64_t>(random_word(~of.seed, 2 * thread + 1, of.starts()))),
        last_stop(first_stop + of.stop_words) {}
  bool ends_at(std::int64_t at) const { return at >= first_stop && at < last_stop; }
  std::int64_t start, first_stop, last_stop;
};

/// How far a thread came.
struct hop_result {
  std::int64_t hops = 0;
  std::int64_t at = 0;
  friend bool operator==(const hop_result&, const hop_result&) = default;
};

/// Hops from window to window. read(at, window) fetches one, seen(at, window) is called with each that was read.
template <class Read, class Seen>
hop_result follow(const hop_settings& how, const hop_range& range, Read&& read, Seen&& seen) {
  hop_result result{.hops = 0, .at = range.start};
  std::vector<word> window(static_cast<std::size_t>(how.window)), sorted;
  while (result.hops < how.most_hops && !range.ends_at(result.at)) {
    read(result.at, std::span(window));
    seen(result.at, std::span<const word>(window));
    sorted = window;
    std::nth_element(sorted.begin(), sorted.begin() + how.window / 2, sorted.end());
    result.at = (sorted[static_cast<std::size_t>(how.window / 2)] + result.hops) % how.starts();
    ++result.hops;
  }
  return result;
}

// Three ways to read a window.

/// Word by word through the array.
inline auto read_by_element(const field_array& field, pgas::access_counts& counts) {
  return [&](std::int64_t at, std::span<word> to) {
    for (word& each : to) each = counts.note(field(at++));
  };
}
/// By plain pointers for words of this host, else through the array.
inline auto read_by_pointer(const field_array& field, pgas::access_counts& counts) {
  return [&](std::int64_t at, std::span<word> to) {
    for (word& each : to) {
      if (const word* const near = field.local(tri::position<1>(at)); near != nullptr) {
        each = *near;
        counts.near(1);
      } else {
        each = counts.note(field(at));
      }
      ++at;
    }
  };
}
/// The window at once: a message to each PE of another host that has a part of it.
inline auto read_by_section(const field_array& field, pgas::access_counts& counts) {
  return [&](std::int64_t at, std::span<word> to) {
    const std::int64_t end = at + static_cast<std::int64_t>(to.size());
    field.get({{at}, {end}}, to.data()).get();
    for (std::int64_t i = at; i < end; ++i)
      field.local(tri::position<1>(i)) != nullptr ? counts.near(1) : counts.far(1);
  };
}

/// The main program of Pointer and of Update. All hops of PEs together are compared with the sequential ones: the
/// kernel's compute_sequentially() returns those of this PE, which take sequential_seconds().
template <class Kernel, std::size_t N>
int run_hops(const char* name, const char* what, const pgas::version<Kernel> (&versions)[N], int argc, char** argv) {
  hop_settings how;
  pgas::version_choice chosen;
  pgas::command_line line(name, what);
  how.add_to(line);
  line.versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;
  if (const std::string fault = how.fault(); !fault.empty()) return line.refuse(fault);

  Kernel kernel(how);
  const tri::team all = tri::team::world();
  const std::int64_t hops = all.allreduce(kernel.compute_sequentially().hops, tri::sum).get();
  pgas::version_table table(fmt::format("field of {} words, windows of {}", how.words, how.window), "Mhops/s",
                            static_cast<double>(hops) * 1e-6);
  table.sequential(all.allreduce(kernel.sequential_seconds(), tri::sum).get());
  return pgas::run_versions(table, kernel, versions, chosen);
}

}  // namespace dis
