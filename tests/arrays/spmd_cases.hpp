// Programs of cases that run on every PE of a job: `program PROCESSES PES [case...]`, all cases without names. Prints
// "<case>: ok" for each.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/check.hpp"
#include "trireme/run.hpp"

namespace tri::testing {

struct test_case {
  const char* name;
  void (*run)();
};

/// `when_named`: those that take long.
inline int run_cases(std::span<const test_case> cases, int argc, char** argv,
                     std::span<const test_case> when_named = {}) {
  return run_everywhere(argc, argv, [cases, when_named](int count, char** arguments) {
    check_equal(process_count(), std::atoi(arguments[1]));
    check_equal(pes_per_process(), std::atoi(arguments[2]));
    const std::span<char*> named(arguments + 3, arguments + count);
    const auto run = [](const test_case& one) {
      one.run();
      if (this_pe() == 0) std::printf("%s: ok\n", one.name);
    };
    if (named.empty()) std::ranges::for_each(cases, run);
    for (const std::string_view name : named) {
      const auto in = [name](std::span<const test_case> all) {
        return std::ranges::find_if(all, [name](const test_case& one) { return one.name == name; });
      };
      if (const auto found = in(cases); found != cases.end())
        run(*found);
      else if (const auto slow = in(when_named); slow != when_named.end())
        run(*slow);
      else
        check(false, "no such case: " + std::string(name));
    }
  });
}

template <class F>
void expect_throws(F&& f, std::string_view text, const std::source_location& where = std::source_location::current()) {
  check_throws<std::exception>(f, std::string(text), where);
}

}  // namespace tri::testing
