#include "mpi/engine/call_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tri::mpi {
namespace {

constexpr std::array<std::string_view, 7> reasons{"",          "inter-communicator", "communicator", "window",
                                                  "reduction", "arguments",          "another host"};
constexpr std::array<std::string_view, 5> sizes{"no size", "up to 256 B", "up to 8 KiB", "up to 1 MiB", "above 1 MiB"};

void write_name(std::array<char, 32>& to, std::string_view name) {
  name.copy(to.data(), to.size() - 1);  // the last one stays 0
}

// A row of a table: all that has one name.
struct share {
  std::uint64_t intercepted = 0;
  std::map<left_because, std::uint64_t> left;

  void add(const call_count& count) {
    (count.reason == left_because::intercepted ? intercepted : left[count.reason]) += count.times;
  }
  std::uint64_t left_in_all() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, times] : left) sum += times;
    return sum;
  }
  std::string why() const {
    std::string text;
    for (const auto& [reason, times] : left)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(reason), times);
    return text;
  }
};

// In the order of `place`, then of names.
template <class Name, class Place>
std::string lines_by(std::string_view title, std::span<const call_count> calls, Name&& name, Place&& place) {
  std::map<std::pair<int, std::string>, share> shares;
  for (const call_count& each : calls) shares[{place(each), std::string(name(each))}].add(each);
  std::string text = fmt::format("{:<32}{:>13}{:>16}{:>15}  why passed through\n", title, "intercepted",
                                 "passed through", "% intercepted");
  for (const auto& [key, of] : shares) {
    const std::string& what = key.second;
    const std::uint64_t all = of.intercepted + of.left_in_all();
    text += fmt::format(
        "{:<32}{:>13}{:>16}{:>15.1f}  {}", what, of.intercepted, of.left_in_all(),
        100 * static_cast<double>(of.intercepted) / static_cast<double>(std::max<std::uint64_t>(all, 1)), of.why());
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string json_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return safe;
}

}  // namespace

std::string_view name_of(left_because reason) { return reasons[static_cast<std::size_t>(reason)]; }
std::string_view name_of(size_class size) { return sizes[static_cast<std::size_t>(size)]; }

size_class size_class_of(std::uint64_t bytes) {
  if (bytes <= 256) return size_class::cell;
  if (bytes <= 8192) return size_class::block;
  return bytes <= 1 << 20 ? size_class::large : size_class::very_large;
}

call_count* call_counts::add(std::string_view call, std::string_view communicator, size_class size,
                             left_because reason) {
  if (used == all.size()) return nullptr;
  call_count& made = all[used++];
  write_name(made.call, call);
  write_name(made.communicator, communicator);
  made.size = size;
  made.reason = reason;
  return &made;
}

std::vector<call_count> sum_of(std::span<const std::span<const call_count>> ranks) {
  std::map<std::tuple<std::string_view, std::string_view, size_class, left_because>, call_count> sums;
  for (const std::span<const call_count> rank : ranks) {
    for (const call_count& each : rank) {
      const auto [place, is_new] =
          sums.try_emplace({each.call_name(), each.communicator_name(), each.size, each.reason}, each);
      if (!is_new) place->second.times += each.times;
    }
  }
  std::vector<call_count> all;
  for (const auto& [key, count] : sums) all.push_back(count);
  std::stable_sort(all.begin(), all.end(), [](const call_count& one, const call_count& other) {
    const bool is_left = one.reason != left_because::intercepted;
    if (is_left != (other.reason != left_because::intercepted)) return is_left;
    return one.times > other.times;
  });
  return all;
}

std::string calls_to_table(std::span<const call_count> calls) {
  if (calls.empty()) return {};
  const auto by_name = [](const call_count&) { return 0; };
  return lines_by(
             "calls", calls, [](const call_count& of) { return of.call_name(); }, by_name) +
         lines_by(
             "calls by size", calls, [](const call_count& of) { return name_of(of.size); },
             [](const call_count& of) { return static_cast<int>(of.size); }) +
         lines_by(
             "calls by communicator", calls, [](const call_count& of) { return of.communicator_name(); }, by_name);
}

std::string calls_to_json(std::span<const call_count> calls) {
  std::string rows;
  for (const call_count& each : calls)
    rows += fmt::format(
        "{}\n    {{\"call\": \"{}\", \"communicator\": \"{}\", \"size\": \"{}\", \"times\": {}, \"left_because\": "
        "\"{}\"}}",
        rows.empty() ? "" : ",", json_text(each.call_name()), json_text(each.communicator_name()), name_of(each.size),
        each.times, name_of(each.reason));
  return "[" + rows + "\n  ]";
}

}  // namespace tri::mpi
