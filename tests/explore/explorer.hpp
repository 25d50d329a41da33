// Drives a protocol through its interleavings. A model is a copyable value, of one of two kinds:
//
//   struct agents {                                struct channels {
//     int agents() const;                            int steps();           // possible now: deliver from some
//     bool enabled(int agent) const;                                        // channel, ...
//     void step(int agent);                          void take(int step);   // throws std::exception where the
//     std::string fault() const;                                            // protocol is wrong
//     std::string fault_at_end() const;              void check_end();      // no step is possible: throws where
//     void append_key(std::string&) const;                                  // something is left over
//   };                                               void encode(fingerprint&);
//                                                  };
//
// Agents share memory: each step of one is one access to what they share, with the private work that follows it. The
// memory is sequentially consistent: this finds wrong protocols, while interleavings.hpp and the thread sanitizer look
// after memory orders. Channels are state machines that send each other messages. `append_key` and `encode` have
// everything that decides the future, so equal bytes are equal states. fault() is empty when a state is sound,
// fault_at_end() when one may be the last.
//
// explore_all() copies the model at each step. Where that is what costs, in_place.hpp has explore_all_in_place().
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "explore/fingerprints.hpp"

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

// Models that live outside the program's heap have a guard for whatever may allocate; what it returns is outside.
struct no_guard {
  no_guard() {}
};

// Returns the fault.
template <class Guard = no_guard, class Model>
std::string take(Model& state, int choice) {
  if constexpr (with_agents<Model>) {
    {
      const Guard guard;
      state.step(choice);
    }
    return state.fault();
  } else {
    try {
      const Guard guard;
      state.take(choice);
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
}

template <class Guard = no_guard, class Model>
std::string fault_at_end(Model& state) {
  if constexpr (with_agents<Model>) {
    return state.fault_at_end();
  } else {
    try {
      const Guard guard;
      state.check_end();
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
}

template <class Model>
fingerprint fingerprint_of(Model& state) {
  fingerprint made;
  if constexpr (with_agents<Model>) {
    static thread_local std::string bytes;
    bytes.clear();
    state.append_key(bytes);
    made.put_bytes(bytes);
  } else {
    state.encode(made);
  }
  return made;
}

// One path of random steps from `state`, which is left where the path ends. Returns whether it came to an end.
template <class Model>
bool random_path(Model& state, std::mt19937_64& random, std::uint64_t most_steps, model_outcome& result) {
  std::vector<int> ready;
  for (std::uint64_t count = 0; count <= most_steps; ++count) {
    int all = choices(state);
    if constexpr (with_agents<Model>) {
      ready.clear();
      for (int choice = 0; choice < all; ++choice) {
        if (possible(state, choice)) ready.push_back(choice);
      }
      all = static_cast<int>(ready.size());
    }
    if (all == 0) {
      ++result.ends;
      result.fault = fault_at_end(state);
      return true;
    }
    if (count == most_steps) return false;
    const std::size_t drawn = random() % static_cast<std::uint64_t>(all);
    const int choice = with_agents<Model> ? ready[drawn] : static_cast<int>(drawn);
    ++result.steps;
    result.schedule.push_back(choice);
    result.fault = take(state, choice);
    if (!result.fault.empty()) return false;
  }
  return false;
}

// The states from the first one to the one that is being visited, and the one that a step leads to.
template <class Model>
class copied_path {
 public:
  using guard = no_guard;

  explicit copied_path(const Model& start) : next_(start) {}
  /// The state at the end of the path.
  Model& end() { return states_.back(); }
  /// The same as a new state, to take a step in it.
  Model& begin_next() { return next_.emplace(states_.back()); }
  Model& next() { return *next_; }
  /// The new state becomes the end.
  void push() { states_.push_back(std::move(*next_)); }
  void pop() { states_.pop_back(); }

 private:
  std::vector<Model> states_;
  std::optional<Model> next_;
};

// All interleavings, depth first, each state once. The path has one new state: the first.
template <class Path>
model_outcome explore_along(Path& path, std::uint64_t most_states) {
  using guard = typename Path::guard;
  using model = std::remove_reference_t<decltype(path.next())>;
  struct level {
    int choices;
    int next = 0;
    bool moved = false;
  };
  model_outcome result;
  fingerprint_set seen;
  std::vector<level> levels;
  // `extra`: a step that is not on the path, because its state did not come to be.
  const auto fail = [&](std::string fault, int extra = -1) {
    result.fault = std::move(fault);
    for (std::size_t depth = 0; depth + 1 < levels.size(); ++depth) result.schedule.push_back(levels[depth].next - 1);
    if (extra >= 0) result.schedule.push_back(extra);
    return result;
  };
  const auto enter_next = [&] {
    if (!seen.insert(fingerprint_of(path.next()))) return;
    ++result.states;
    int choices_of_next = 0;
    {
      const guard now;
      choices_of_next = choices(path.next());
    }
    path.push();
    levels.push_back({choices_of_next});
  };

  enter_next();
  if constexpr (with_agents<model>) {
    if (std::string fault = path.end().fault(); !fault.empty()) return fail(std::move(fault));
  }
  while (!levels.empty()) {
    level& here = levels.back();
    if (here.next == here.choices) {
      if (!here.moved) {
        ++result.ends;
        if (std::string fault = fault_at_end<guard>(path.end()); !fault.empty()) return fail(std::move(fault));
      }
      path.pop();
      levels.pop_back();
      continue;
    }
    const int choice = here.next++;
    if (!possible(path.end(), choice)) continue;
    here.moved = true;
    ++result.steps;
    if (std::string fault = take<guard>(path.begin_next(), choice); !fault.empty())
      return fail(std::move(fault), choice);
    enter_next();
    if (result.states >= most_states) return result;
  }
  result.complete = true;
  return result;
}

}  // namespace detail

// All interleavings, depth first, each state once.
template <class Model>
model_outcome explore_all(const Model& start, std::uint64_t most_states = 5'000'000) {
  detail::copied_path<Model> path(start);
  return detail::explore_along(path, most_states);
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
