// Drives a protocol through its interleavings. A model is a copyable value with cooperating agents; each step of an
// agent is one access to what they share (and whatever private work follows it). The memory is sequentially consistent:
// this finds wrong protocols, the thread sanitizer and the pairing comments look after the orderings.
//
//   struct model {
//     int agents() const;
//     bool enabled(int agent) const;         // may take its next step; false while it waits, and when it is done
//     void step(int agent);
//     std::string fault() const;             // of any state; empty when it is sound
//     std::string fault_at_end() const;      // of a state where nobody is enabled: unfinished agents are a deadlock
//     void append_key(std::string&) const;   // everything that decides the future: shared memory and agents
//   };
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tri::explore {

struct outcome {
  std::string fault;          // empty: none was found
  std::vector<int> schedule;  // the agents' steps that lead to the fault
  std::uint64_t states = 0;   // different ones
  std::uint64_t steps = 0;
  std::uint64_t ends = 0;  // states (or runs) where everybody had finished
  bool complete = false;   // everything was visited

  std::string text() const {
    std::string line = fault.empty() ? "no fault" : fault + "; schedule:";
    for (const int agent : schedule) line += ' ' + std::to_string(agent);
    return line;
  }
};

// Appends the bytes of a plain value to a key.
template <class Value>
void append_value(std::string& key, const Value& value) {
  static_assert(std::has_unique_object_representations_v<Value>, "padding would make equal states look different");
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All interleavings, depth first, each state once. Keys are compared in full, so nothing is missed by a collision.
template <class Model>
outcome explore_all(const Model& start, std::uint64_t most_states = 5'000'000) {
  struct level {
    Model state;
    int next_agent = 0;
    bool moved = false;
  };
  outcome result;
  std::unordered_set<std::string> seen;
  std::vector<level> path;
  const auto visit = [&](const Model& state) {
    std::string key;
    state.append_key(key);
    if (!seen.insert(std::move(key)).second) return false;
    ++result.states;
    return true;
  };
  const auto fail = [&](std::string fault) {
    result.fault = std::move(fault);
    for (std::size_t depth = 0; depth + 1 < path.size(); ++depth) result.schedule.push_back(path[depth].next_agent - 1);
    return result;
  };

  visit(start);
  path.push_back({start});
  if (std::string fault = start.fault(); !fault.empty()) return fail(std::move(fault));
  while (!path.empty()) {
    level& here = path.back();
    if (here.next_agent == here.state.agents()) {
      if (!here.moved) {
        ++result.ends;
        if (std::string fault = here.state.fault_at_end(); !fault.empty()) return fail(std::move(fault));
      }
      path.pop_back();
      continue;
    }
    const int agent = here.next_agent++;
    if (!here.state.enabled(agent)) continue;
    here.moved = true;
    ++result.steps;
    Model after = here.state;
    after.step(agent);
    if (!visit(after)) continue;
    path.push_back({std::move(after)});
    if (std::string fault = path.back().state.fault(); !fault.empty()) return fail(std::move(fault));
    if (result.states >= most_states) return result;
  }
  result.complete = true;
  return result;
}

// Random schedules of a scope that is too large to exhaust; the same seed gives the same schedules.
template <class Model>
outcome explore_random(const Model& start, std::uint64_t seed, std::uint64_t runs, std::uint64_t most_steps_of_a_run) {
  outcome result;
  std::mt19937_64 random(seed);
  for (std::uint64_t run = 0; run < runs; ++run) {
    Model state = start;
    result.schedule.clear();
    for (std::uint64_t count = 0; count < most_steps_of_a_run; ++count) {
      std::vector<int> enabled;
      for (int agent = 0; agent < state.agents(); ++agent) {
        if (state.enabled(agent)) enabled.push_back(agent);
      }
      if (enabled.empty()) {
        ++result.ends;
        result.fault = state.fault_at_end();
        break;
      }
      const int agent = enabled[random() % enabled.size()];
      state.step(agent);
      ++result.steps;
      result.schedule.push_back(agent);
      result.fault = state.fault();
      if (!result.fault.empty()) break;
    }
    if (!result.fault.empty()) return result;
  }
  result.schedule.clear();
  return result;
}

}  // namespace tri::explore
