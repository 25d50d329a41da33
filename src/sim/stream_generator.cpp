#include "sim/stream_generator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace tri::sim {
namespace {

// The senders of SP are not in the thesis: those of BT, which has the same decomposition. Nor are its collective
// messages.
constexpr std::array<stream_shape, 20> shapes{{
    // program, processes, messages, prologue, epilogue, pattern, buffers, sizes, senders, late, latest
    {"BT", 4, 2425, 6, 3, 18, 7, 4, 3, 30, 4},       {"BT", 9, 3660, 6, 3, 12, 7, 3, 7, 30, 4},
    {"BT", 16, 4835, 6, 3, 24, 7, 3, 7, 30, 4},      {"BT", 25, 6039, 6, 3, 30, 7, 5, 7, 30, 4},
    {"CG", 4, 1679, 0, 0, 4, 2, 2, 2, 10, 3},        {"CG", 8, 2942, 0, 0, 7, 3, 2, 2, 10, 3},
    {"CG", 16, 2942, 0, 0, 10, 3, 2, 2, 10, 3},      {"CG", 32, 4204, 0, 0, 12, 3, 2, 2, 10, 3},
    {"LU", 4, 31490, 12, 6, 126, 2, 2, 2, 20, 3},    {"LU", 8, 31490, 12, 6, 126, 2, 4, 2, 20, 3},
    {"LU", 16, 31490, 12, 6, 126, 2, 2, 2, 20, 3},   {"LU", 32, 47230, 12, 6, 126, 2, 4, 2, 20, 3},
    {"IS", 4, 100, 1, 0, 9, 9, 6, 4, 1000, 8},       {"IS", 8, 188, 1, 0, 17, 17, 9, 8, 1000, 16},
    {"IS", 16, 364, 1, 0, 33, 33, 17, 16, 1000, 32}, {"IS", 32, 716, 1, 0, 65, 65, 34, 32, 1000, 64},
    {"SP", 4, 4823, 0, 0, 12, 6, 3, 3, 30, 4},       {"SP", 9, 7226, 0, 0, 18, 6, 6, 7, 30, 4},
    {"SP", 16, 9000, 0, 0, 24, 6, 7, 7, 30, 4},      {"SP", 25, 12000, 0, 0, 30, 6, 12, 7, 30, 4},
}};

std::uint64_t below(std::mt19937_64& random, std::size_t bound) { return random() % bound; }

template <class Value>
void shuffle(std::vector<Value>& values, std::mt19937_64& random) {
  // std::shuffle draws differently in every standard library.
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(random, i)]);
}

// Whether a repetition of the values has no shorter period.
bool is_primitive(const std::vector<std::size_t>& values) {
  const std::size_t length = values.size();
  for (std::size_t period = 1; period <= length / 2; ++period) {
    if (length % period == 0 &&
        std::equal(values.begin() + static_cast<std::ptrdiff_t>(period), values.end(), values.begin())) {
      return false;
    }
  }
  return true;
}

// A pattern of `length` out of 0..kinds-1, each at least once.
std::vector<std::size_t> pattern_of(const stream_shape& shape, std::size_t kinds, std::mt19937_64& random) {
  const auto length = static_cast<std::size_t>(shape.pattern);
  std::vector<std::size_t> pattern(kinds);
  std::iota(pattern.begin(), pattern.end(), std::size_t{0});
  if (shape.program == "LU") {
    pattern.insert(pattern.begin(), length - kinds, 0);
    return pattern;
  }
  do {
    pattern.resize(kinds);
    std::iota(pattern.begin(), pattern.end(), std::size_t{0});
    shuffle(pattern, random);
    while (pattern.size() < length) {
      // Half of the additions continue with the previous neighbour, half return to an entry from elsewhere.
      const std::size_t copied = below(random, pattern.size());
      const std::size_t at = below(random, 2) == 0 ? copied : below(random, pattern.size());
      pattern.insert(pattern.begin() + static_cast<std::ptrdiff_t>(at), std::size_t{pattern[copied]});
    }
  } while (!is_primitive(pattern));
  return pattern;
}

std::uint64_t size_of(const stream_shape& shape, std::size_t number) {
  if (shape.program == "LU") {
    return number + 1 == static_cast<std::size_t>(shape.sizes) ? 40'000
                                                               : 1'000 * (number + 1);  // the rare one is large
  }
  constexpr std::array<std::uint64_t, 3> of_bt{3240, 10240, 19440};
  return number < of_bt.size() ? of_bt[number] : 19440 + 4096 * (number - 2);
}

std::vector<flow::prediction::message_facts> arrivals(const stream_shape& shape,
                                                      const std::vector<flow::prediction::message_facts>& sent,
                                                      std::mt19937_64& random) {
  std::vector<std::pair<std::uint64_t, flow::prediction::message_facts>> arriving;
  std::vector<std::uint64_t> latest_of(static_cast<std::size_t>(shape.senders), 0);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const bool late = below(random, 1000) < static_cast<std::uint64_t>(shape.late_per_thousand);
    const std::uint64_t delay = late ? 1 + below(random, static_cast<std::size_t>(shape.latest)) : 0;
    std::uint64_t& latest = latest_of[sent[i].sender];
    latest = std::max(latest, 2 * (i + delay) + (late ? 1 : 0));  // behind the one that is on time there
    arriving.emplace_back(latest, sent[i]);
  }
  // Stable: messages of one sender never have falling times.
  std::stable_sort(arriving.begin(), arriving.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<flow::prediction::message_facts> arrived;
  for (const auto& [time, message] : arriving) arrived.push_back(message);
  return arrived;
}

}  // namespace

std::span<const stream_shape> known_streams() { return shapes; }

const stream_shape& known_stream(std::string_view program, int processes) {
  std::string known;
  for (const stream_shape& it : shapes) {
    if (it.program == program && it.processes == processes) return it;
    known.append(" ").append(it.program).append(".").append(std::to_string(it.processes));
  }
  throw std::invalid_argument("no stream '" + std::string(program) + "." + std::to_string(processes) + "'; there are" +
                              known);
}

generated_stream generate(const stream_shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto kinds = static_cast<std::size_t>(std::max({shape.buffers, shape.sizes, shape.senders}));
  const auto message = [&](std::size_t kind) {
    return flow::prediction::message_facts{
        .address = 0x7f00'0000'0000 + 0x10'0000 * (kind % static_cast<std::size_t>(shape.buffers)),
        .size = size_of(shape, kind % static_cast<std::size_t>(shape.sizes)),
        .sender = static_cast<std::uint32_t>(kind % static_cast<std::size_t>(shape.senders))};
  };
  generated_stream stream;
  for (const std::size_t kind : pattern_of(shape, kinds, random)) stream.pattern.push_back(message(kind));

  for (int i = 0; i < shape.prologue; ++i) stream.logical.push_back(message(below(random, kinds)));
  for (int i = 0; i < shape.messages - shape.prologue - shape.epilogue; ++i) {
    stream.logical.push_back(stream.pattern[static_cast<std::size_t>(i % shape.pattern)]);
  }
  for (int i = 0; i < shape.epilogue; ++i) stream.logical.push_back(message(below(random, kinds)));
  stream.physical = arrivals(shape, stream.logical, random);
  return stream;
}

}  // namespace tri::sim
