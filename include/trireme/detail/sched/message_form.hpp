// The form of a handler's messages, so that one from another host can be refused before its arguments are accessed.
// Registered with the handler (handler_table.hpp); pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/detail/sched/envelope.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

/// The permitted contents of a handler's messages from another host.
struct message_form {
  enum class content : std::uint8_t {
    anything,  // checked by the handler
    plain,     // this many bytes
    archive,
    stays_in_host,  // its arguments mean nothing to another
  };
  content what = content::anything;
  std::uint64_t bytes = 0;
};

/// The error in a message from another host with `bytes` bytes of this kind; empty if none.
std::string fault_of_arguments(const message_form& form, payload_kind kind, std::uint64_t bytes);

}  // namespace tri::sched

#pragma GCC visibility pop
