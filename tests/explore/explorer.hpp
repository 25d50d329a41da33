// Drives a protocol through its interleavings. A model is a copyable value, of one of two kinds:
//
//   struct agents {                          struct channels {
//     int agents() const;                      int steps();                  // possible now: deliver from some
//     channel, ... bool enabled(int agent) const;           void take(int step);          // throws std::exception
//     where the protocol void step(int agent);                                                  // is wrong std::string
//     fault() const;               void check_end();             // no step is possible: throws where std::string
//     fault_at_end() const;                                      // something is left over void
//     append_key(std::string&) const;     void encode(std::string&);
//   };                                       };
//
// Agents share memory: each step of one is one access to what they share, with the private work that follows it. The
// memory is sequentially consistent: this finds wrong protocols, while interleavings.hpp and the thread sanitizer look
// after memory orders. Channels are state machines that send each other messages. `append_key` and `encode` append
// everything that decides the future, so equal bytes are equal states. fault() is empty when a state is sound,
// fault_at_end() when one may be the last.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tri::explore {

struct model_outcome {
  std::string fault;          // empty: none was found
  std::vector<int> schedule;  // the steps that lead to the fault
  std::uint64_t states = 0;   // different ones
  std::uint64_t steps = 0;
  std::uint64_t ends = 0;  // states (or runs) in which no step is possible
  bool complete = false;   // everything was visited

  std::string text() const { return fault.empty() ? "no fault" : failure(); }

  /// Empty where no fault was found; else the fault and its schedule.
  std::string failure() const {
    if (fault.empty()) return {};
    std::string line = fault + "; schedule:";
    for (const int step : schedule) line += ' ' + std::to_string(step);
    return line;
  }
};

// Appends the bytes of a plain value to a key.
template <class Value>
void append_value(std::string& key, const Value& value) {
  static_assert(std::has_unique_object_representations_v<Value>, "padding would make equal states look different");
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

namespace detail {

template <class Model>
concept with_agents = requires(const Model& model) { model.agents(); };

// What both kinds of models have in common.
template <class Model>
int choices(Model& state) {
  if constexpr (with_agents<Model>) {
    return state.agents();
  } else {
    return state.steps();
  }
}

template <class Model>
bool possible(const Model& state, int choice) {
  if constexpr (with_agents<Model>) {
    return state.enabled(choice);
  } else {
    return true;
  }
}

// Returns the fault.
template <class Model>
std::string take(Model& state, int choice) {
  if constexpr (with_agents<Model>) {
    state.step(choice);
    return state.fault();
  } else {
    try {
      state.take(choice);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
}

template <class Model>
std::string fault_at_end(Model& state) {
  if constexpr (with_agents<Model>) {
    return state.fault_at_end();
  } else {
    try {
      state.check_end();
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
}

// 128 bits tell states apart: of 10^7 states two are taken for one with a chance of 10^-25.
using state_key = std::array<std::uint64_t, 2>;
struct first_word {
  std::size_t operator()(const state_key& key) const { return key[0]; }
};

inline state_key key_of_bytes(std::string_view bytes) {
  state_key key = {0x9e3779b97f4a7c15U ^ bytes.size(), 0xc2b2ae3d27d4eb4fU + bytes.size()};
  const auto mix = [&](std::uint64_t word) {
    key[0] = (key[0] ^ word) * 0x9e3779b97f4a7c15U;
    key[0] ^= key[0] >> 29U;
    key[1] = (key[1] + word) * 0xff51afd7ed558ccdU;
    key[1] ^= key[1] >> 32U;
  };
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
  }
  for (const char byte : bytes) mix(static_cast<unsigned char>(byte));
  return key;
}

template <class Model>
state_key key_of(Model& state) {
  static thread_local std::string bytes;
  bytes.clear();
  if constexpr (with_agents<Model>) {
    state.append_key(bytes);
  } else {
    state.encode(bytes);
  }
  return key_of_bytes(bytes);
}

// One path of random steps from `state`, which is left where the path ends. Returns whether it came to an end.
template <class Model>
bool random_path(Model& state, std::mt19937_64& random, std::uint64_t most_steps, model_outcome& result) {
  std::vector<int> ready;
  for (std::uint64_t count = 0; count <= most_steps; ++count) {
    ready.clear();
    const int all = choices(state);
    for (int choice = 0; choice < all; ++choice) {
      if (possible(state, choice)) ready.push_back(choice);
    }
    if (ready.empty()) {
      ++result.ends;
      result.fault = fault_at_end(state);
      return true;
    }
    if (count == most_steps) return false;
    const int choice = ready[random() % ready.size()];
    ++result.steps;
    result.schedule.push_back(choice);
    result.fault = take(state, choice);
    if (!result.fault.empty()) return false;
  }
  return false;
}

}  // namespace detail

// All interleavings, depth first, each state once.
template <class Model>
model_outcome explore_all(const Model& start, std::uint64_t most_states = 5'000'000) {
  struct level {
    Model state;
    int choices;
    int next = 0;
    bool moved = false;
  };
  model_outcome result;
  std::unordered_set<detail::state_key, detail::first_word> seen;
  std::vector<level> path;
  // `extra`: a step that is not on the path, because its state did not come to be.
  const auto fail = [&](std::string fault, int extra = -1) {
    result.fault = std::move(fault);
    for (std::size_t depth = 0; depth + 1 < path.size(); ++depth) result.schedule.push_back(path[depth].next - 1);
    if (extra >= 0) result.schedule.push_back(extra);
    return result;
  };
  const auto enter = [&](Model state) {
    if (!seen.insert(detail::key_of(state)).second) return;
    ++result.states;
    const int choices = detail::choices(state);
    path.push_back({std::move(state), choices});
  };

  enter(start);
  if constexpr (detail::with_agents<Model>) {
    if (std::string fault = start.fault(); !fault.empty()) return fail(std::move(fault));
  }
  while (!path.empty()) {
    level& here = path.back();
    if (here.next == here.choices) {
      if (!here.moved) {
        ++result.ends;
        if (std::string fault = detail::fault_at_end(here.state); !fault.empty()) return fail(std::move(fault));
      }
      path.pop_back();
      continue;
    }
    const int choice = here.next++;
    if (!detail::possible(here.state, choice)) continue;
    here.moved = true;
    ++result.steps;
    Model after = here.state;
    if (std::string fault = detail::take(after, choice); !fault.empty()) return fail(std::move(fault), choice);
    enter(std::move(after));
    if (result.states >= most_states) return result;
  }
  result.complete = true;
  return result;
}

// Random schedules of a scope that is too large to exhaust; the same seed gives the same schedules.
template <class Model>
model_outcome explore_random(const Model& start, std::uint64_t seed, std::uint64_t runs,
                             std::uint64_t most_steps_of_a_run) {
  model_outcome result;
  std::mt19937_64 random(seed);
  for (std::uint64_t run = 0; run < runs; ++run) {
    Model state = start;
    result.schedule.clear();
    detail::random_path(state, random, most_steps_of_a_run, result);
    if (!result.fault.empty()) return result;
  }
  result.schedule.clear();
  return result;
}

// One random schedule, which leaves `state` where it ends. One without an end is a fault.
template <class Model>
model_outcome explore_random(Model& state, std::uint64_t seed, std::uint64_t most_steps) {
  model_outcome result;
  std::mt19937_64 random(seed);
  result.complete = detail::random_path(state, random, most_steps, result);
  if (!result.complete && result.fault.empty()) result.fault = "no end after " + std::to_string(most_steps) + " steps";
  if (!result.fault.empty()) {
    result.fault += ", seed " + std::to_string(seed);
    result.schedule.clear();
  }
  return result;
}

}  // namespace tri::explore
