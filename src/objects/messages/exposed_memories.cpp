#include "objects/messages/exposed_memories.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "arena/arena.hpp"
#include "arena/window.hpp"
#include "config/configuration.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/post.hpp"

namespace tri::objects {

/// The state of the sender's future.
class exposure_state final : public result_state<void>, public ends_elsewhere {
 public:
  exposure_state(exposed_memories& table, exposed_memory& memory)
      : table_(&table), memory_(&memory), number_(memory.number), bytes_(memory.bytes) {}
  ~exposure_state() override {
    if (table_ != nullptr) table_->withdraw(number_);
  }
  std::string describe() const override {
    return fmt::format("memory of {} bytes that is exposed to the receiver of a message", bytes_);
  }
  void abandon() override {
    table_ = nullptr;
    result_state<void>::abandon();
  }
  // As exposed_memories::withdraw, which its own PE calls when it destroys this.
  void future_ends() noexcept override {
    const std::lock_guard guard(lock_);
    while (memory_ != nullptr && !memory_->use.withdraw()) progress_or_yield(sched::this_pe());
  }
  /// Before the record goes.
  void detach_memory() {
    const std::lock_guard guard(lock_);
    memory_ = nullptr;
  }
  void exposure_ended(std::exception_ptr error) {
    table_ = nullptr;
    if (error != nullptr)
      fail(std::move(error));
    else
      set({});
  }

 private:
  exposed_memories* table_;  // null: the exposure has ended
  std::mutex lock_;
  exposed_memory* memory_;  // under the lock: another PE may have the future; null: the record is gone
  std::uint64_t number_;
  std::uint64_t bytes_;
};

namespace {

sched::wire_link* wire_of(const sched::pe& here) {
  return static_cast<const sched::process_runtime&>(here.job()).wire();
}

// While an order of messages is recorded or replayed, the sender hears from the receiver that its memory has left: when
// the wire has read it is no matter of messages.
bool hears_from_receiver(const sched::pe& here) {
  return static_cast<const sched::process_runtime&>(here.job()).order() != nullptr;
}

}  // namespace

void progress_or_yield(const sched::pe& here) noexcept {
  const sched::runtime& job = here.job();
  try {
    if (wire_of(here) != nullptr && job.values().comm_thread == config::communication_thread::off &&
        wire_of(here)->progress())
      return;
  } catch (const std::exception& error) {
    job.fail(error.what());
  }
  std::this_thread::yield();
}

std::string text_of(exposure_end how, std::uint64_t bytes, std::uint32_t pe) {
  switch (how) {
    case exposure_end::received:
      break;
    case exposure_end::unread:
      return fmt::format(
          "tri::expose: memory of {} bytes was not received: its tri::zero_copy was destroyed before, with the message "
          "or "
          "by the receiver",
          bytes);
    case exposure_end::withdrawn:
      return fmt::format(
          "tri::zero_copy: PE {} has withdrawn its memory of {} bytes: the future `reusable` ended before it was "
          "received",
          pe, bytes);
    case exposure_end::unreadable:
      return fmt::format(
          "tri::zero_copy: memory of {} bytes of PE {} cannot be read: it was freed before it was received", bytes, pe);
  }
  return {};
}

namespace {

// ---- messages; their `element` is the number of the exposure at its sender, or the key of the transfer at its
// receiver

void ended_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<std::uint32_t>> arguments(message);
  const std::uint32_t how = std::get<0>(arguments.values());
  if (how > static_cast<std::uint32_t>(exposure_end::unreadable))
    refuse_arguments(message, fmt::format("an exposure cannot end with {}", how).c_str());
  pe_objects::of(here).exposed().ended(message, static_cast<exposure_end>(how));
}
const std::uint32_t ended_handler = register_handler_of<std::tuple<std::uint32_t>>(&ended_deliver, "exposure ended");

struct request {
  std::uint64_t key;
  std::uint32_t receiver;
  std::uint32_t unused;
};
void request_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<request>> arguments(message);
  const request& asked = std::get<0>(arguments.values());
  if (asked.receiver >= static_cast<std::uint32_t>(here.job().pes()))
    refuse_arguments(message,
                     fmt::format("there is no PE {}, only 0..{}", asked.receiver, here.job().pes() - 1).c_str());
  pe_objects::of(here).exposed().requested(message, asked.key, static_cast<int>(asked.receiver));
}
const std::uint32_t request_handler =
    register_handler_of<std::tuple<request>>(&request_deliver, "exposed memory requested");

void refusal_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<std::uint32_t>> arguments(message);
  if (sched::wire_link* const wire = wire_of(here)) wire->posted().withdraw(message.element);
  incoming_memory* const transfer = pe_objects::of(here).exposed().take(message.element);
  if (transfer == nullptr) return;
  method_scope scope(pe_objects::of(here));
  transfer->fail(text_of(exposure_end::withdrawn, transfer->bytes(), std::get<0>(arguments.values())));
}
const std::uint32_t refusal_handler =
    register_handler_of<std::tuple<std::uint32_t>>(&refusal_deliver, "exposed memory withdrawn");

void staged_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<buffer<std::byte>>> arguments(message);
  const buffer<std::byte>& data = std::get<0>(arguments.values());
  incoming_memory* const transfer = pe_objects::of(here).exposed().take(message.element);
  if (transfer == nullptr) return;
  method_scope scope(pe_objects::of(here));
  transfer->arrived_in(data.data(), data.size());
}
const std::uint32_t staged_handler =
    register_handler_of<std::tuple<buffer<std::byte>>>(&staged_deliver, "exposed memory staged");

// What the wire has put somewhere else was not expected any more.
bool is_in_place(const sched::pe& here, const sched::envelope& message) {
  const bool in_place = wire_of(here)->posted().take(message.element, message.block().block);
  if (!in_place) arena::release(message.block().block);
  return in_place;
}
void data_deliver(sched::pe& here, sched::envelope& message) {
  const std::uint64_t bytes = message.block().bytes;
  const bool in_place = is_in_place(here, message);
  if (hears_from_receiver(here)) post_exposure_end(here, message.source, message.collection, exposure_end::received);
  incoming_memory* const transfer = pe_objects::of(here).exposed().take(message.element);
  if (transfer == nullptr || transfer->is_unwanted()) return;
  if (!in_place)
    refuse_arguments(message, fmt::format("{} bytes came, {} were requested", bytes, transfer->bytes()).c_str());
  here.counters().zero_copy_bytes_received.add(bytes);
  method_scope scope(pe_objects::of(here));
  transfer->arrived();
}
void data_drop(sched::pe& here, sched::envelope& message) { is_in_place(here, message); }
const std::uint32_t data_handler =
    sched::with_posted_memory(sched::register_handler(&data_deliver, "exposed memory", nullptr, &data_drop));

void post_number(sched::pe& here, int pe, std::uint32_t handler, std::uint64_t element, std::uint32_t value) {
  post_packed(here, pe, handler, 0, element, pack_arguments<std::tuple<std::uint32_t>>(here, true, false, value));
}
// A send between hosts, until the wire has read the memory.
struct outgoing_memory {
  sched::wire_link* wire;  // null: there is no notification
  exposed_memory* memory;
  sched::envelope notification;  // for the sender
};
void was_read(void* which) {
  auto* const one = static_cast<outgoing_memory*>(which);
  one->memory->use.end_use();
  if (one->wire != nullptr) one->wire->deliver_here(static_cast<int>(one->memory->pe), one->notification);
  delete one;
}

}  // namespace

void post_exposure_end(sched::pe& here, std::uint32_t pe, std::uint64_t number, exposure_end how) {
  post_number(here, static_cast<int>(pe), ended_handler, number, static_cast<std::uint32_t>(how));
}

void post_request(sched::pe& here, std::uint32_t pe, std::uint64_t number, std::uint64_t key) {
  const request asked{key, static_cast<std::uint32_t>(here.number()), 0};
  post_packed(here, static_cast<int>(pe), request_handler, 0, number,
              pack_arguments<std::tuple<request>>(here, true, false, asked));
}

// ---- the sender

exposed_memories::~exposed_memories() {
  for (auto& [number, each] : exposed_)
    if (each.memory->use.withdraw()) arena::release(each.memory);  // otherwise the wire has not let go of it
}

exposed_memory& exposed_memories::expose(const void* data, std::size_t bytes) {
  auto* const made =
      new (arena::allocate(sizeof(exposed_memory))) exposed_memory{.use = {},
                                                                   .pe = static_cast<std::uint32_t>(here_.number()),
                                                                   .data = static_cast<const std::byte*>(data),
                                                                   .bytes = bytes,
                                                                   .number = next_number_++,
                                                                   .process = getpid(),
                                                                   .is_in_arena = arena::in_arena(data)};
  try {
    exposed_.emplace(made->number, exposure{made, nullptr});
  } catch (...) {
    arena::release(made);
    throw;
  }
  return *made;
}

void exposed_memories::withdraw(std::uint64_t number) noexcept {
  const auto found = exposed_.find(number);
  if (found == exposed_.end()) return;
  found->second.waiting = nullptr;
  while (!found->second.memory->use.withdraw()) progress_or_yield(here_);
}

exposed_memories::exposure& exposed_memories::find(const sched::envelope& message) {
  const auto found = exposed_.find(message.element);
  if (found == exposed_.end())
    refuse_arguments(
        message, fmt::format("PE {} has exposed nothing with the number {}", here_.number(), message.element).c_str());
  return found->second;
}

// The record goes. The future stays, wherever it is.
void exposed_memories::forget(const exposure& over) {
  if (over.waiting != nullptr) over.waiting->detach_memory();
  exposed_.erase(over.memory->number);
  arena::release(over.memory);
}

void exposed_memories::ended(const sched::envelope& message, exposure_end how) {
  const exposure over = find(message);
  while (!over.memory->use.withdraw()) {
    if (!hears_from_receiver(here_)) refuse_arguments(message, "the memory is still being read");
    progress_or_yield(here_);  // for the wire
  }
  const std::uint64_t bytes = over.memory->bytes;
  forget(over);
  if (over.waiting == nullptr) return;
  method_scope scope(pe_objects::of(here_));
  over.waiting->exposure_ended(
      how == exposure_end::received
          ? nullptr
          : std::make_exception_ptr(zero_copy_error(text_of(how, bytes, static_cast<std::uint32_t>(here_.number())))));
}

void exposed_memories::requested(const sched::envelope& message, std::uint64_t key, int receiver) {
  const exposure which = find(message);
  if (!which.memory->use.begin_use()) {
    forget(which);
    return post_number(here_, receiver, refusal_handler, key, static_cast<std::uint32_t>(here_.number()));
  }
  if (here_.job().is_on_own_host(receiver))
    send_staged(which, key, receiver);
  else
    send_to_host(which, key, receiver);
}

// The data counts as sent, and so does the notification that it has left, before either can count as processed.
void exposed_memories::send_to_host(const exposure& which, std::uint64_t key, int receiver) {
  exposed_memory& memory = *which.memory;
  const bool is_silent = hears_from_receiver(here_);
  auto* const one = new outgoing_memory{is_silent ? nullptr : wire_of(here_), &memory, {}};
  one->notification.element = memory.number;
  one->notification.handler = ended_handler;
  one->notification.source = static_cast<std::uint32_t>(here_.number());
  pack_arguments<std::tuple<std::uint32_t>>(here_, true, false, static_cast<std::uint32_t>(exposure_end::received))
      .store(one->notification);
  sched::envelope data{};
  data.element = key;
  data.handler = data_handler;
  data.kind = sched::payload_kind::block;
  new (data.payload) sched::block_payload{const_cast<std::byte*>(memory.data), memory.bytes, {}};
  data.collection = static_cast<std::uint32_t>(memory.number);
  here_.counters().sent.add(is_silent ? 1 : 2);
  here_.counters().zero_copy_bytes_sent.add(memory.bytes);
  wire_of(here_)->send_exposed(here_, receiver, data, {.release = &was_read, .argument = one});
}

void exposed_memories::send_staged(const exposure& which, std::uint64_t key, int receiver) {
  exposed_memory& memory = *which.memory;
  buffer<std::byte> copy = buffer<std::byte>::copy_of(std::span(memory.data, memory.bytes));
  here_.counters().zero_copy_bytes_staged.add(memory.bytes);
  memory.use.end_use();
  post_packed(
      here_, receiver, staged_handler, 0, key,
      pack_arguments<std::tuple<buffer<std::byte>>>(here_, here_.is_in_this_process(receiver), false, std::move(copy)));
  post_exposure_end(here_, memory.pe, memory.number, exposure_end::received);
}

exposed expose_memory(const void* data, std::size_t bytes) {
  sched::pe& here = sched::this_pe();
  exposed_memories& table = pe_objects::of(here).exposed();
  exposed_memory& memory = table.expose(data, bytes);
  zero_copy_reference reference;  // from here on the exposure ends with it
  reference.memory_ = &memory;
  reference.number_ = memory.number;
  reference.bytes_ = bytes;
  reference.pe_ = memory.pe;
  reference.run_ = static_cast<std::uint32_t>(here.job().number());
  auto state = std::make_shared<exposure_state>(table, memory);
  table.awaited_by(memory, state.get());
  future<void> reusable(std::move(state));
  static_cast<void>(reusable.get_promise());  // its element stays in this process until it has ended
  return {std::move(reference), std::move(reusable)};
}

}  // namespace tri::objects
