// What the messages of a handler look like, so that one from another host can be refused before its arguments are
// touched. Registered with the handler (handler_table.hpp); pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/detail/sched/envelope.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

/// What the messages of a handler may carry when they come from another host.
struct message_form {
  enum class content : std::uint8_t {
    anything,  // the handler looks for itself
    plain,     // so many bytes
    archive,
    stays_in_host,  // its arguments mean nothing to another
  };
  content what = content::anything;
  std::uint64_t bytes = 0;
};

/// What is wrong with a message from another host that carries so many bytes in this way; empty if nothing is.
std::string fault_of_arguments(const message_form& form, payload_kind kind, std::uint64_t bytes);

}  // namespace tri::sched

#pragma GCC visibility pop
