#include "os/cpu/cpu_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tri::os {
namespace {

constexpr int highest_cpu = 1 << 16;
constexpr std::size_t most_cpus = 1 << 20;  // of a list: a few characters can say "65536 times the same"

[[noreturn]] void refuse(std::string_view part, std::string_view text) {
  throw std::invalid_argument(fmt::format(
      "'{}' in the CPU list '{}' is not a CPU or a range; write CPUs and ranges with an optional step, such as 0,2-5:2",
      part, text));
}

// Reads a number from the front of `rest` and removes it; false where there is none.
bool take_number(std::string_view& rest, int& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 0 || number > highest_cpu || rest.front() == '-') return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    std::string_view rest = part;
    int first = 0;
    int step = 1;
    if (rest.empty() || !take_number(rest, first)) refuse(part, text);
    int last = first;
    if (take(rest, '-')) {
      if (!take_number(rest, last) || last < first) refuse(part, text);
      if (take(rest, ':') && (!take_number(rest, step) || step == 0)) refuse(part, text);
    }
    if (!rest.empty()) refuse(part, text);
    if (cpus.size() + static_cast<std::size_t>((last - first) / step) >= most_cpus) {
      throw std::invalid_argument(
          fmt::format("the CPU list has more than {} entries up to '{}'; it needs one for each PE", most_cpus, part));
    }
    for (int cpu = first; cpu <= last; cpu += step) cpus.push_back(cpu);
    begin = comma + 1;
  }
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? "," : "-", cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace tri::os
