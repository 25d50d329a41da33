// The cases of the system program: each is a function that runs on PE 0 inside tri::run and throws when a check fails.
// A source file registers its cases with `const case_entry name_case{"name", &function};` at namespace scope.
#pragma once

#include <deque>
#include <string>

#include "support/check.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {

struct case_entry {
  case_entry(const char* its_name, void (*its_run)()) : name(its_name), run(its_run) { all().push_back(this); }
  static std::deque<case_entry*>& all() {
    static std::deque<case_entry*> registered;
    return registered;
  }
  std::string name;
  void (*run)();
};

/// What the command line said the job would be.
struct expected_job {
  int processes = 1;
  int pes_per_process = 1;
};
inline expected_job& expected() {
  static expected_job values;
  return values;
}

}  // namespace tri::testing
