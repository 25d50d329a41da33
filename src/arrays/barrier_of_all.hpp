// The barrier of all PEs behind barriers and frees of the program, and the end of a future of this PE.
#pragma once

#include <exception>
#include <utility>
#include <variant>

#include "objects/teams/local_teams.hpp"
#include "trireme/detail/objects/team_collective.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/future.hpp"

namespace tri::arrays {

/// Runs `completed` on this PE when all PEs have come here. Kind: derived from objects::team_barrier, with a name.
template <class Kind>
void at_barrier(os::unique_function<void(std::exception_ptr)> completed) {
  sched::pe& here = sched::this_pe();
  const auto world = objects::team_here(here, objects::local_teams::arrays);
  objects::start_collective<Kind>(
      here, *world, 0, {},
      [completed = std::move(completed)](std::exception_ptr error, std::monostate*) { completed(std::move(error)); });
}

/// At once, without a message. Null: without an error.
inline void complete(const promise<void>& to, const std::exception_ptr& error) {
  std::monostate nothing;
  objects::complete_future<void>(to, error, error == nullptr ? &nothing : nullptr);
}

}  // namespace tri::arrays
