// Runs a kernel by every schedule, with parameters besides the default ones, and compares the bits of all results.
#pragma once

#include <gmock/gmock.h>

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "kernel.hpp"

namespace kernels::test {

// More threads than cores, so that they lose their core anywhere.
inline const bool several_threads = [] {
  if (std::getenv("TRIREME_PES") == nullptr) setenv("TRIREME_PES", "4", 1);
  return true;
}();

inline std::vector<std::string> many_schedules() {
  std::vector<std::string> texts = all_schedules();
  for (const char* text : {"static,3", "dynamic,7", "hybrid,0", "hybrid,0.9", "hybrid,1", "staggered,0",
                           "staggered,0.9,keep=0.5,ends=clip", "tasklets,0,count=7", "weighted+staggered,0.7"}) {
    texts.emplace_back(text);
  }
  return texts;
}

inline std::vector<std::uint64_t> bits_of(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  return bits;
}

inline void expect_right(kernel& of) {
  for (const finding& each : of.check()) EXPECT_TRUE(each.right) << of.problem() << ": " << each.text;
}

/// Each method twice: the second run uses what the loops remember of the first.
inline void expect_same_with_every_method(kernel& of, const std::vector<std::string>& more = {}) {
  of.run_serial();
  std::vector<std::uint64_t> expected;
  std::vector<std::string> texts = many_schedules();
  texts.insert(texts.end(), more.begin(), more.end());
  for (const std::string& text : texts) {
    method how(text);
    for (int run = 0; run < 2; ++run) {
      of.reset();
      of.run(how);
      const std::vector<std::uint64_t> found = bits_of(of.result());
      if (expected.empty()) expected = found;
      EXPECT_TRUE(found == expected) << of.problem() << " by " << text << ", run " << run;
      expect_right(of);
    }
  }
}

}  // namespace kernels::test
