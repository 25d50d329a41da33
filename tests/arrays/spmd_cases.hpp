// Programs of cases that run on every PE of a job: `program PROCESSES PES [case...]`, all cases without names. Prints
// "<case>: ok" for each.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
  bool only_when_named = false;  // it takes long
};

inline int run_cases(std::span<const test_case> cases, int argc, char** argv) {
  return run_everywhere(argc, argv, [cases](int count, char** arguments) {
    check_equal(process_count(), std::atoi(arguments[1]));
    check_equal(pes_per_process(), std::atoi(arguments[2]));
    const std::span<char*> named(arguments + 3, arguments + count);
    for (const std::string_view name : named)
      check(std::ranges::find(cases, name, &test_case::name) != cases.end(), "no such case: " + std::string(name));
    for (const test_case& one : cases) {
      if (named.empty() ? one.only_when_named : std::ranges::find(named, std::string_view(one.name)) == named.end())
        continue;
      one.run();
      if (this_pe() == 0) std::printf("%s: ok\n", one.name);
    }
  });
}

template <class F>
void expect_throws(F&& f, std::string_view text, const std::source_location& where = std::source_location::current()) {
  check_throws<std::exception>(f, std::string(text), where);
}

}  // namespace tri::testing
