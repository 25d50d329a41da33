// What the refusal of bad bytes says.
#pragma once

#include <string>

#include "boot/bootstrap_messages.hpp"

namespace tri::testing {

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const boot::protocol_error& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

}  // namespace tri::testing
