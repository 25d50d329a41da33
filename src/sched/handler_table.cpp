#include "trireme/detail/sched/handler_table.hpp"

#include <algorithm>
#include <cstring>

#include "os/hash.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {
namespace {
std::vector<handler_row>& rows() {
  static std::vector<handler_row> table;
  return table;
}
}  // namespace

std::uint32_t register_handler(handler_function run, std::string name, handler_function make_portable,
                               handler_function drop, refusal_function refuse, handler_function make_remote,
                               arrival_function at_host, message_form form, service_function may_be_served,
                               bool answer_is_large) {
  rows().push_back(
      {run, std::move(name), make_portable, drop, refuse, make_remote, at_host, form, may_be_served, answer_is_large});
  return static_cast<std::uint32_t>(rows().size() - 1);
}

std::uint32_t with_role(message_role role, std::uint32_t handler) {
  rows()[handler].role = role;
  return handler;
}

std::uint32_t with_posted_memory(std::uint32_t handler) {
  rows()[handler].into_posted_memory = true;
  return handler;
}

const std::vector<handler_row>& handler_table() { return rows(); }

void drop_message(pe& here, envelope& message) {
  if (const handler_function drop = rows()[message.handler].drop)
    drop(here, message);
  else if (message.kind != payload_kind::direct)
    arena::release(message.block().block);
}

bool refuse_message(pe& here, envelope& message, const std::string& why) {
  const refusal_function refuse = rows()[message.handler].refuse;
  if (refuse == nullptr) return false;
  refuse(here, message, why);
  return true;
}

envelope copy_of_message(const envelope& message) {
  envelope copy = message;
  if (message.kind != payload_kind::direct) {
    // The receiver releases a block, even one of no bytes, so at least one byte is allocated.
    const std::uint64_t bytes = std::max<std::uint64_t>(message.block().bytes, 1);
    copy.block().block = arena::allocate(bytes);
    std::memcpy(copy.block().block, message.block().block, bytes);
  }
  return copy;
}

void make_remote(pe& here, envelope& message) {
  if (const handler_function convert = rows()[message.handler].make_remote) convert(here, message);
}

std::vector<handler_function> handler_functions() {
  std::vector<handler_function> functions;
  for (const auto& row : rows()) functions.push_back(row.run);
  return functions;
}

std::uint64_t handler_fingerprint() {
  std::uint64_t hash = os::hash_of_nothing;
  for (const auto& row : rows()) hash = os::hashed_name(hash, row.name);
  return hash;
}

}  // namespace tri::sched
