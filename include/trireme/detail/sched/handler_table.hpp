// Handlers: functions that messages name by number. Registration happens before main, through static initialisers; the
// processes of a job run the same binary, so a number means the same function in all of them (the fingerprint is
// compared when they meet). Function addresses themselves never leave their process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/detail/sched/message_form.hpp"

#pragma GCC visibility push(default)

namespace tri::sched {

class pe;
struct envelope;
class runtime;

using handler_function = void (*)(pe&, envelope&);
using refusal_function = void (*)(pe&, envelope&, const std::string& why);
using arrival_function = void (*)(const runtime&, envelope&);
using service_function = bool (*)(const pe& here, const envelope&, int receiver);

/// What a message is to those that change the order in which messages run (src/sched/order).
enum class message_role : std::uint8_t {
  usual,
  creation,  ///< of a collection: whatever comes later in an inbox may speak of what it creates
  service    ///< sent because of the clock or an idle PE: runs on arrival, and is no part of an order
};

struct handler_row {
  handler_function run;
  std::string name;
  /// Turns arguments that are C++ objects of this process into an archive, for a message that must be sent on to
  /// another process; null for handlers whose messages never have such arguments.
  handler_function make_portable = nullptr;
  /// Destroys the arguments of a message that will never run and releases their block; null when nothing must be
  /// destroyed: then only the block, if any, is released.
  handler_function drop = nullptr;
  /// Instead of `drop` when a caller waits for an answer to the message: tells it why there will be none. Null when no
  /// caller waits.
  refusal_function refuse = nullptr;
  /// For another host: replaces arguments with addresses in the arena (a tri::buffer) or C++ objects by an archive.
  /// Null for handlers whose messages are plain bytes.
  handler_function make_remote = nullptr;
  /// Of a creation (pe::send_creation): called once on each host, by the thread that makes progress on the wire there,
  /// before the message is copied for the PEs; may change its `element`.
  arrival_function at_host = nullptr;
  message_form form = {};
  /// Of a request that any PE of the receiver's process may serve: the one that takes it from the wire runs it at once
  /// if this says so (pe::serves is the receiver), in the order of arrival. Otherwise it goes to the receiver, and so
  /// do those behind it until it has run there. Null for all other handlers.
  service_function may_be_served = nullptr;
  /// The answer to such a request is large: the request waits for a slot of the process that serves it.
  bool answer_is_large = false;
  message_role role = message_role::usual;
  /// A block that comes over the wire goes to the memory that its receiver has posted under the number `element`
  /// (posted_memory.hpp), if there is such; the handler, and `drop`, find out.
  bool into_posted_memory = false;
};

/// Adds a row and returns its number. Before main only.
std::uint32_t register_handler(handler_function run, std::string name, handler_function make_portable = nullptr,
                               handler_function drop = nullptr, refusal_function refuse = nullptr,
                               handler_function make_remote = nullptr, arrival_function at_host = nullptr,
                               message_form form = {}, service_function may_be_served = nullptr,
                               bool answer_is_large = false);
/// Gives a handler that was registered just now another role; returns its number. Before main only.
std::uint32_t with_role(message_role role, std::uint32_t handler);
/// The same for handlers whose blocks go to posted memory. Before main only.
std::uint32_t with_posted_memory(std::uint32_t handler);
const std::vector<handler_row>& handler_table();
/// Releases a message that will never run. The caller keeps the envelope.
void drop_message(pe& here, envelope& message);
/// The same, and tells the PE that waits for its answer why there will be none. False if none waits: then the message
/// is unchanged.
bool refuse_message(pe& here, envelope& message, const std::string& why);
/// Another message with the same arguments, in a block of its own. Only for one whose bytes can be copied: plain data
/// without owners, or an archive. Throws arena_exhausted.
envelope copy_of_message(const envelope& message);
/// Before a message leaves for another host: afterwards its bytes mean the same there.
void make_remote(pe& here, envelope& message);
/// The functions alone, indexed by number, for the PEs' loops.
std::vector<handler_function> handler_functions();
/// A hash of all names in order: equal in all processes of a job unless they are different programs.
std::uint64_t handler_fingerprint();

}  // namespace tri::sched

#pragma GCC visibility pop
