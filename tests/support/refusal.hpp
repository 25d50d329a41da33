// What the refusal of bad bytes says.
#pragma once

#include <string>

#include "boot/bootstrap_messages.hpp"

namespace tri::host::testing {

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const protocol_error& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

}  // namespace tri::host::testing
