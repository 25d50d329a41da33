// How PEs that work on one file agree: on what the first one has found out, and on whether all have succeeded. A PE
// that fails goes on to the next agreement, so that others neither wait for it nor go on without it. Collective.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "trireme/array_files.hpp"
#include "trireme/run.hpp"
#include "trireme/team.hpp"

namespace tri::arrays {

/// What the action has thrown; empty: nothing. The unwinding at the end of a job passes.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Runs an action on PE 0, and gives its result to all, or throws its error on all.
template <class Result, class Action>
Result result_of_first_pe(Action&& action) {
  std::pair<Result, std::string> outcome;
  if (this_pe() == 0) outcome.second = error_of([&] { outcome.first = action(); });
  outcome = team::world().broadcast(std::move(outcome), 0).get();
  if (!outcome.second.empty()) throw file_error(outcome.second);
  return std::move(outcome.first);
}

/// Returns when all PEs have come here without an error; otherwise throws that of the first PE with one on all.
void throw_error_of_any(const std::string& own);

}  // namespace tri::arrays
