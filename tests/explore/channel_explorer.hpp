// Explores what a protocol of communicating state machines can do. A world is a copyable value with
//   int  steps()              number of steps possible now (deliver from some channel, next line of some script, ...)
//   void take(int step)       performs one; throws std::exception where the protocol is wrong
//   void check_end()          called where no step is possible; throws where something is left over
//   void encode(std::string&) appends bytes that are equal exactly for worlds with the same future
// explore_all visits every reachable state once (states are told apart by a 64-bit hash of the encoding: with 10^6
// states the chance of a mix-up is about 10^-7); explore_random takes one seeded path. Used by tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>

namespace tri::explore {

struct channel_outcome {
  std::size_t states = 0;
  std::size_t ends = 0;
  bool complete = true;  // false: stopped at the limit of states
  std::string failure;   // empty: none; otherwise what was wrong and the steps that lead there
};

inline std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U ^ bytes.size();
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    hash ^= hash >> 29U;
  }
  return hash;
}

template <class World>
class explorer {
 public:
  explicit explorer(std::size_t limit) : limit_(limit) {}

  channel_outcome run(const World& start) {
    visit(start);
    return result_;
  }

 private:
  // Returns false where the search has to stop.
  bool visit(const World& world) {
    bytes_.clear();
    world.encode(bytes_);
    if (!seen_.insert(hash_of(bytes_)).second) return true;
    if (++result_.states > limit_) {
      result_.complete = false;
      return false;
    }
    const int count = world.steps();
    try {
      if (count == 0) {
        ++result_.ends;
        world.check_end();
      }
    } catch (const std::exception& error) {
      return failed(error);
    }
    for (int step = 0; step < count; ++step) {
      path_ += ' ' + std::to_string(step);
      World next = world;
      try {
        next.take(step);
      } catch (const std::exception& error) {
        return failed(error);
      }
      if (!visit(next)) return false;
      path_.resize(path_.rfind(' '));
    }
    return true;
  }

  bool failed(const std::exception& error) {
    result_.failure = std::string(error.what()) + "; steps:" + path_;
    return false;
  }

  std::size_t limit_;
  channel_outcome result_;
  std::string bytes_;
  std::string path_;
  std::unordered_set<std::uint64_t> seen_;
};

template <class World>
channel_outcome explore_all(const World& start, std::size_t limit) {
  return explorer<World>(limit).run(start);
}

// Takes steps drawn from `seed` until none is possible; `longest` guards against a path that does not end.
template <class World>
channel_outcome explore_random(World& world, std::uint64_t seed, std::size_t longest) {
  channel_outcome result;
  std::mt19937_64 random(seed);
  try {
    for (int count = world.steps(); count > 0; count = world.steps()) {
      if (++result.states > longest) {
        result.complete = false;
        result.failure = "no end after " + std::to_string(longest) + " steps";
        return result;
      }
      world.take(static_cast<int>(random() % static_cast<std::uint64_t>(count)));
    }
    result.ends = 1;
    world.check_end();
  } catch (const std::exception& error) {
    result.failure = std::string(error.what()) + "; seed " + std::to_string(seed);
  }
  return result;
}

}  // namespace tri::explore
