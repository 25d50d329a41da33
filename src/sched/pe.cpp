#include "trireme/detail/sched/pe.hpp"

#include <stdexcept>

#include "sched/inbox.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/remote/wire_link.hpp"
#include "trace/recorder.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::sched {
namespace {

// Only of a process that has peers on other hosts.
wire_link& wire_of(const runtime& job) { return *static_cast<const process_runtime&>(job).wire(); }

void nothing_left(pe&, envelope&) {}
}  // namespace
const std::uint32_t taken_handler = register_handler(&nothing_left, "scheduler: taken", nullptr, &nothing_left);

void detail::not_on_a_pe() {
  throw std::logic_error(
      "trireme: this call must come from a PE: from the function given to tri::run, or from a method of an object");
}

pe::pe(runtime& owner, int number, int local_number, const pe_peer* peers, board::board_pe& board)
    : owner_(owner),
      number_(number),
      local_number_(local_number),
      process_(owner.process()),
      host_number_(owner.host_pe_number(number)),
      record_(*owner.record_of(number)),
      counters_(record_.counters),
      peers_(peers),
      board_(board) {}

void pe::trace_send(trace::target to, int destination, envelope& message) {
  message.set_trace_tag(trace::tag_of(
      trace_->send(message.handler, to, static_cast<std::uint32_t>(destination), message.argument_bytes())));
}

inbox_slot pe::claim_in(inbox_shared& inbox) {
  const inbox_slot slot = claim(inbox);
  if (slot.is_overflow()) [[unlikely]]
    counters_.overflowed.add();
  return slot;
}

void pe::publish_in(inbox_shared& inbox, const inbox_slot& slot) { publish(inbox, slot); }

void pe::trace_send_to_pe(int destination, envelope& message) { trace_send(trace::target::pe, destination, message); }

// Counted first: the receiver, and a relaying process, may count their part at once.
void pe::send_to_host(int destination, envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::pe, destination, message);
  counters_.sent.add();
  counters_.sent_to_others.add();
  wire_of(owner_).send(*this, destination, message);
}

void pe::send_to_other_hosts(envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::other_hosts, 0, message);
  wire_of(owner_).send_to_other_hosts(*this, message);
}

void pe::send_creation(envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::other_hosts, 0, message);
  wire_of(owner_).send_creation(*this, message);
}

void pe::creation_lies_in_inboxes(std::uint32_t collection) { wire_of(owner_).creation_lies_in_inboxes(collection); }

void pe::send_copy(int destination, const envelope& message) {
  if ((message.flags & (envelope::has_priority | envelope::is_immediate)) == 0) {
    send(destination, [&](envelope& slot) { slot.assign_message(message); });
    return;
  }
  inbox_shared* const inbox = peers_[static_cast<std::size_t>(destination)].inbox;
  if (inbox == nullptr) {
    envelope copy{};
    copy.assign_message(message);
    send_to_host(destination, copy);
    return;
  }
  auto* const block = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  block->assign_message(message);
  block->source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::pe, destination, *block);
  counters_.sent.add();
  if (destination != number_) counters_.sent_to_others.add();
  push_urgent(*inbox, block);
}

void pe::send_to_node(int process, const envelope& message) {
  process_record* const target = owner_.process_record_of(process);
  counters_.sent.add();
  envelope copy;
  copy.assign_message(message);
  copy.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::process, process, copy);
  if (target == nullptr) {
    wire_of(owner_).send_to_node(*this, process, copy);
    return;
  }
  try {
    target->nodes->push(copy);
  } catch (...) {
    // It had to be counted first, or its receiver could have counted it before us. Until now quiescence erred on
    // the safe side.
    counters_.sent.add(~std::uint64_t{0});
    throw;
  }
  target->wake(1);
}

}  // namespace tri::sched
