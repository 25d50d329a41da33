#include "mpi/engine/engine.hpp"

#include "mpi/engine/rank_trace.hpp"
#include "mpi/internode/incoming_message.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <tuple>

namespace tri::mpi {
namespace {

std::array<engine*, 512> engines;  // of this process, by number; tests have several

bool progress_entry(const std::uint64_t* arguments, int, int by) noexcept {
  engine* const mine = engine::of_pe(by);
  return mine != nullptr && mine->progress_for(*reinterpret_cast<endpoint*>(arguments[0]));
}
const board::operation_id progress_operation =
    board::operation_table::of_process().progress.add("mpi: progress of a rank that computes", &progress_entry);

// Longer than a turn through many ranks that wait; a slice of the scheduler's is some milliseconds.
constexpr double expensive_yield_ns = 500'000;
// Shorter than the turn of one other rank.
constexpr double vain_yield_ns = 1'500;
// Unsuccessful polls farther apart than this belong to a program that computes in between.
constexpr double longest_between_polls_ns = 20'000;
// A bare loop of MPI_Test needs 50 to 150 ns per round. A yield that no rank uses costs 400.
polling_pace::limits usual_pace() {
  return {.own_work = os::ns_to_ticks(500),
          .shortest_offer = os::ns_to_ticks(8'000),
          .longest_offer = os::ns_to_ticks(32'000)};
}

arena::wait_policy::limits waiting_limits(bool oversubscribed) {
  if (oversubscribed)
    return {
        .polls = 4, .polls_between = 1, .yield_ticks = os::ns_to_ticks(5e6), .least_yields = 0, .most_vain_yields = 64};
  return {.polls = 1000, .polls_between = 16, .yield_ticks = os::ns_to_ticks(5e6), .least_yields = 100};
}

// What a program looks for may come without a ring (values of windows), so where each rank has a core it never sleeps.
arena::wait_policy::limits polling_limits(bool oversubscribed) {
  arena::wait_policy::limits limits = waiting_limits(oversubscribed);
  if (!oversubscribed) limits.yield_ticks = std::numeric_limits<std::uint64_t>::max();
  return limits;
}

// The lines of a buffer come from the other side's caches. They are prefetched together. The receiver does that before
// it knows whether it will copy them, and the hardware prefetcher sees lines that are read in order.
constexpr std::size_t most_bytes_prefetched_to_read = 2048;

// What a rank that computes may be sent in blocks before a sender drains its inbox and counts them.
constexpr std::uint64_t most_cells_of_blocks = 2048;

template <class Prefetch>
void for_lines_of(const void* block, std::size_t bytes, Prefetch&& prefetch) {
  const auto* const begin = static_cast<const std::byte*>(block);
  const std::size_t length = sizeof(unexpected_message) + bytes;
  for (std::size_t at = 0; at < length; at += 64) prefetch(begin + at);
}

// The cell has the address of its message: the lines are in flight while the receive is matched.
void expect_block(const inbox_cell& cell) {
  if (cell.kind == message_kind::in_block) for_lines_of(cell.node, cell.bytes, os::prefetch_to_read);
}

}  // namespace

engine* engine::of_pe(int pe) { return engines[static_cast<std::size_t>(pe)]; }

engine::engine(std::span<endpoint* const> endpoints, std::uint32_t number, board::board_pe& board,
               arena::block_cache& blocks, const engine_options& options)
    : endpoints_(endpoints),
      number_(number),
      own_(*endpoints[number]),
      board_(board),
      blocks_(blocks),
      eager_(blocks, endpoints.size(), options.most_eager_buffers),
      options_(options),
      process_(getpid()),
      waiting_(waiting_limits(options.oversubscribed)),
      idle_(own_.counters.idle, os::ns_to_ticks(live::long_idle_ns)),
      polling_(polling_limits(options.oversubscribed)),
      pace_(usual_pace()),
      polling_ticks_(os::ns_to_ticks(longest_between_polls_ns)),
      vain_yield_ticks_(os::ns_to_ticks(vain_yield_ns)),
      expensive_yield_ticks_(os::ns_to_ticks(expensive_yield_ns)) {
  if (options.oversubscribed) cores_.emplace(options.cores, os::now_ns(), used_by_all_ns());
  engines[number] = this;
  has_domains_ = std::any_of(endpoints.begin(), endpoints.end(),
                             [&](const endpoint* each) { return is_far(each->domain, endpoints[0]->domain); });
  if (has_domains_) open_sends_.resize(endpoints.size());
  board_.progress().register_entry(progress_operation, {reinterpret_cast<std::uint64_t>(&own_)});
}

engine::~engine() {
  finish_copies();
  withdraw_progress();
  board_.progress().unregister_entry();
  engines[number_] = nullptr;
}

// ---- sending

send_record* engine::send_of_any_size(std::uint32_t target, const message_key& key, const user_buffer& data,
                                      send_mode mode) {
  if (rank_trace::current != nullptr) [[unlikely]]
    rank_trace::current->sent(target, data.bytes);
  endpoint& to = *endpoints_[target];
  const std::size_t bytes = data.bytes;
  const bool held_back = mode == send_mode::synchronous ||
                         (mode == send_mode::standard &&
                          // relaxed: a hint
                          (bytes >= options_.rendezvous_from || to.is_full.load(std::memory_order_relaxed)));
  const user_buffer reached = held_back ? as_reached_by_all(data) : data;
  // The data travels with the message. For memory that no other process can access this is the only way.
  if (!held_back || (!reached.is_shared() && !options_.kernel_copies && mode == send_mode::standard)) {
    endpoint_counters::add(push_with_data(to, key, data) ? own_.counters.inlined : own_.counters.eager);
    return nullptr;
  }
  send_record& record = new_send(key, data, reached, !reached.is_for_everybody(options_.kernel_copies));
  record.target = target;
  if (has_domains_) ++open_sends_[target];
  push_node(to, message_kind::rendezvous, record);
  endpoint_counters::add(own_.counters.rendezvous);
  return &record;
}

// True: in cells.
bool engine::push_with_data(endpoint& target, const message_key& key, const user_buffer& data) {
  if (target.inbox.has_cells_for(data.bytes) && push_data(target, key, data)) return true;
  unexpected_message& message = new_eager_message(key, data.bytes);
  data.read(0, data.bytes, message.data());
  push_node(target, message_kind::in_block, message);
  return false;
}

send_record& engine::new_send(const message_key& key, const user_buffer& data, const user_buffer& reached,
                              bool copies) {
  const std::size_t bytes = data.bytes;
  auto* const record = new (blocks_.allocate(sizeof(send_record) + (copies ? bytes : 0))) send_record;
  record->key = key;
  record->bytes = bytes;
  record->kind = message_kind::rendezvous;
  record->owner = &own_;
  record->buffer = reached;
  if (copies) {
    record->buffer = {reinterpret_cast<std::byte*>(record + 1), bytes};
    data.read(0, bytes, record->buffer.address);
  }
  return *record;
}

send_record* engine::make_send(const message_key& key, const user_buffer& data, send_mode mode) {
  send_record& record = new_send(key, data, as_reached_by_all(data), mode == send_mode::buffered);
  record.target = on_another_host;
  record.is_buffered = mode == send_mode::buffered;
  return &record;
}

// With the lock: the receive that a message for this rank gets, if it waits already and no message is before this one.
receive_record* engine::take_waiting_receive(const message_key& key, std::uint64_t bytes) {
  // The inbox has been read so far, and with it what has come from the same sender.
  if (!own_.inbox.has_read(own_.inbox.tickets())) return nullptr;
  posted_receive* const found = own_.matching.match(key);
  if (found == nullptr) return nullptr;
  receive_record& to = receive_record::of(*found);
  count_received(own_);
  to.taken = key;
  to.bytes = bytes;
  return &to;
}

// Straight to a receive that waits; the inbox would cost a block and a copy.
void engine::arrived(const message_key& key, std::span<const std::byte> data) {
  own_.lock.lock();
  receive_record* const to = take_waiting_receive(key, data.size());
  own_.lock.unlock();
  if (to != nullptr) {
    to->buffer.write(0, std::min<std::uint64_t>(data.size(), to->buffer.bytes), data.data());
    return complete(*to);
  }
  keeps_api_mutex_ = true;
  push_with_data(own_, key, {const_cast<std::byte*>(data.data()), data.size()});
  keeps_api_mutex_ = false;
}

void engine::push_arrived(std::uint32_t target, incoming_message& message) {
  if (target == number_) {
    copy_list later;
    own_.lock.lock();
    if (receive_record* const to = take_waiting_receive(message.key, message.bytes)) copy_later(later, message, *to);
    own_.lock.unlock();
    if (later.count > 0) return run(later);
  }
  keeps_api_mutex_ = true;
  push_node(*endpoints_[target], message_kind::rendezvous, message);
  keeps_api_mutex_ = false;
}

// The data at an address valid in all processes of the host, or as memory of ours alone.
user_buffer engine::as_reached_by_all(user_buffer data) const {
  if (data.bytes == 0) return data;
  std::byte* const first = data.first_touched();
  std::byte* const shared = shared_address(first, data.bytes_touched());
  if (shared != nullptr)
    data.move_by(shared - first);
  else
    data.process = process_;
  return data;
}

// False, with nothing done, when the data would take more than two cells and the reader is behind.
bool engine::push_data(endpoint& target, const message_key& key, const user_buffer& data) {
  const std::size_t bytes = data.bytes;
  if (data.type == nullptr || bytes <= most_bytes_in_two_cells) {
    const auto read = [&](std::size_t offset, std::size_t length, std::byte* to) {
      if (data.type == nullptr)
        copy_within_line(to, data.address + offset, length);
      else
        data.read(offset, length, to);
    };
    while (!target.inbox.push_data(key, bytes, read)) {
      if (bytes > most_bytes_in_two_cells) return false;
      wait_for_space(target);
    }
    return true;
  }
  // Packed as a whole: restarting in each cell would cost more.
  std::array<std::byte, most_bytes_in_cells> packed;
  data.read(0, bytes, packed.data());
  return target.inbox.push_data(key, bytes, [&](std::size_t offset, std::size_t length, std::byte* to) {
    std::memcpy(to, packed.data() + offset, length);
  });
}

template <class Fill>
void engine::push(endpoint& target, const message_key& key, message_kind kind, Fill&& fill) {
  const std::uint64_t most = kind == message_kind::in_block ? most_cells_of_blocks : ~std::uint64_t{0};
  while (!target.inbox.push_if_fewer(most, [&](inbox_cell& cell) {
    cell.key = key;
    cell.kind = kind;
    fill(cell);
  }))
    wait_for_space(target);
}

void engine::push_node(endpoint& target, message_kind kind, unexpected_message& node) {
  arena::handed_over(&node);
  push(target, node.key, kind, [&](inbox_cell& cell) {
    cell.bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(node.bytes, most_bytes_prefetched_to_read));
    cell.node = &node;
  });
}

// A sender must not depend on the receiver calling us: it empties the inbox on the receiver's behalf.
void engine::wait_for_space(endpoint& target) {
  if (drain(target)) return;
  // It may be empty without the producers knowing.
  if (target.lock.try_lock()) {
    target.inbox.publish_read();
    target.lock.unlock();
  }
  yield();
}

// The record is in the target's inbox until that is drained so far, then among its unexpected messages until a receive
// matches it. So we first drain the inbox on the target's behalf: the target need not call.
bool engine::cancel(send_record& record, std::uint32_t target) {
  endpoint& to = *endpoints_[target];
  const std::uint64_t sent = to.inbox.tickets();
  while (!record.is_complete()) {
    to.lock.lock();
    const bool was_there = record.bin_link.is_linked();
    if (was_there) to.matching.take(record);
    const bool is_read = to.inbox.has_read(sent);
    to.lock.unlock();
    if (was_there) return true;
    if (is_read) return false;
    if (!drain(to)) yield();  // a message before ours is being written, or another rank reads
  }
  return false;
}

void engine::release(send_record* record) {
  if (has_domains_ && record->target != on_another_host) --open_sends_[record->target];
  record->~send_record();
  blocks_.release(record);
}

// ---- receiving

receive_record* engine::make_receive(const message_key& key, const user_buffer& buffer, touch_order touched) {
  auto* const record = new (blocks_.allocate(sizeof(receive_record))) receive_record;
  record->posting.key = key;
  record->buffer = as_reached_by_all(buffer);
  record->owner = &own_;
  record->touched = touched;
  return record;
}

void engine::release(receive_record* record) {
  if (record->is_awaited && --awaited_ == 0) withdraw_progress();
  record->~receive_record();
  blocks_.release(record);
}

// The inbox is drained before the receive is posted, in the order of arrival, so that receives posted earlier match
// first; a message for this one then needs no node. With the lock; `take` gets the message for this key.
template <class Take>
bool engine::look_for(const message_key& key, copy_list& later, Take&& take) {
  while (!later.is_full()) {
    inbox_cell* const cell = own_.inbox.front();
    if (cell == nullptr) return false;
    expect_block(*cell);
    posted_receive* const earlier = own_.matching.match(cell->key);
    const bool is_match = earlier == nullptr && key.takes(cell->key);
    if (is_match)
      take(*cell);
    else if (earlier != nullptr)
      deliver(receive_record::of(*earlier), *cell, later);
    else
      add_unexpected(own_, *cell);
    own_.inbox.pop();
    if (is_match) return true;
  }
  return false;
}

// With the lock.
void engine::wait_for_message(receive_record& record) {
  own_.matching.post(record.posting);
  // However small: its sender may wait for it (a synchronous send), and we for the sender in another library.
  record.is_awaited = true;
  ++awaited_;
}

void engine::post(receive_record& record) noexcept {
  copy_list later;
  own_.lock.lock();
  if (arrived_message* const found = own_.matching.match(record.posting))
    deliver(record, static_cast<unexpected_message&>(*found), later);
  else if (!look_for(record.posting.key, later, [&](const inbox_cell& cell) { deliver(record, cell, later); }))
    wait_for_message(record);
  own_.lock.unlock();
  run(later);
}

receive_record* engine::receive(const message_key& key, const user_buffer& buffer, touch_order touched,
                                found_message& found) noexcept {
  own_.lock.lock();
  // The common case of a stream: the next message has arrived, with nothing before it.
  if (own_.matching.posted() == 0 && own_.matching.arrived() == 0 && buffer.type == nullptr) {
    const inbox_cell* const cell = own_.inbox.front();
    if (cell != nullptr && cell->kind == message_kind::in_cells && key.takes(cell->key)) {
      take_at_once(buffer, *cell, found);
      own_.inbox.pop();
      own_.lock.unlock();
      return nullptr;
    }
  }
  return receive_with_lock(key, buffer, touched, found);
}

// A message that has arrived with its data needs no record: no other rank is involved. Releases the lock.
receive_record* engine::receive_with_lock(const message_key& key, const user_buffer& buffer, touch_order touched,
                                          found_message& found) noexcept {
  copy_list later;
  receive_record* record = nullptr;
  const auto make = [&]() -> receive_record& { return *(record = make_receive(key, buffer, touched)); };
  if (arrived_message* const early = own_.matching.find(key)) {
    own_.matching.take(*early);
    if (!take_at_once(buffer, *early, found)) deliver(make(), static_cast<unexpected_message&>(*early), later);
  } else if (!look_for(key, later, [&](const inbox_cell& cell) {
               if (!take_at_once(buffer, cell, found)) deliver(make(), cell, later);
             })) {
    wait_for_message(make());
  }
  own_.lock.unlock();
  run(later);
  return record;
}

void engine::post(receive_record& record, arrived_message& message) noexcept {
  copy_list later;
  own_.lock.lock();
  deliver(record, static_cast<unexpected_message&>(message), later);
  own_.lock.unlock();
  run(later);
}

bool engine::cancel(receive_record& record) {
  own_.lock.lock();
  const bool was_there = own_.matching.withdraw(record.posting);
  own_.lock.unlock();
  return was_there;
}

std::optional<found_message> engine::find(const message_key& key) {
  drain(own_);
  std::optional<found_message> found;
  own_.lock.lock();
  if (const arrived_message* const message = own_.matching.find(key)) found = {message->key, message->bytes};
  own_.lock.unlock();
  return found;
}

arrived_message* engine::take(const message_key& key) {
  drain(own_);
  own_.lock.lock();
  arrived_message* const found = own_.matching.find(key);
  if (found != nullptr) own_.matching.take(*found);
  own_.lock.unlock();
  return found;
}

// ---- with the lock of the receiver's endpoint

unexpected_message& engine::new_eager_message(const message_key& key, std::size_t bytes) {
  unexpected_message* const buffer = eager_.take(bytes);
  if (buffer == nullptr) return new_message(key, bytes);
  for_lines_of(buffer, bytes, os::prefetch_to_write);
  buffer->key = key;
  buffer->bytes = bytes;
  return *buffer;
}

void engine::release(unexpected_message& message) {
  if (!eager_buffers::give_back(message)) blocks_.release(&message);
}

unexpected_message& engine::new_message(const message_key& key, std::size_t bytes) {
  auto* const message = new (blocks_.allocate(sizeof(unexpected_message) + bytes)) unexpected_message;
  message->key = key;
  message->bytes = bytes;
  return *message;
}

// `cell` is at the front of `owner`'s inbox.
unexpected_message& engine::node_of(const endpoint& owner, const inbox_cell& cell) {
  if (cell.kind != message_kind::in_cells) return *static_cast<unexpected_message*>(cell.node);
  unexpected_message& message = new_message(cell.key, cell.bytes);
  owner.inbox.read_front(cell.bytes, message.data());
  return message;
}

void engine::account(endpoint& owner, std::int64_t bytes) {
  owner.unexpected_bytes += static_cast<std::uint64_t>(bytes);
  owner.is_full.store(owner.unexpected_bytes > options_.most_unexpected_bytes,
                      std::memory_order_relaxed);  // relaxed: a hint
}

void engine::count_received(endpoint& owner) {
  if (&owner == &own_) {
    endpoint_counters::add(own_.received.by_itself);
    return;
  }
  endpoint_counters::add(owner.received.by_others);
  endpoint_counters::add(own_.counters.received_for_others);
}

void engine::copy_later(copy_list& later, send_record& from, receive_record& to) {
  endpoint_counters::add(to.owner->received.rendezvous_bytes, std::min(from.bytes, to.buffer.bytes));
  later.add(from, to);
  // It does not wait for its message, but for pieces of it.
  if (from.is_of_other_host && to.owner == &own_ && !to.is_awaited) {
    to.is_awaited = true;
    ++awaited_;
  }
}

void engine::take_cell(endpoint& owner, const inbox_cell& cell, copy_list& later) {
  expect_block(cell);
  if (posted_receive* const receive = owner.matching.match(cell.key)) {
    deliver(receive_record::of(*receive), cell, later);
    return;
  }
  add_unexpected(owner, cell);
}

void engine::add_unexpected(endpoint& owner, const inbox_cell& cell) {
  unexpected_message& message = node_of(owner, cell);
  endpoint_counters::add(own_.counters.unexpected);
  owner.matching.add_unexpected(message);
  if (message.kind != message_kind::rendezvous)
    account(owner, static_cast<std::int64_t>(sizeof(unexpected_message) + message.bytes));
}

void engine::deliver(receive_record& to, const inbox_cell& cell, copy_list& later) {
  count_received(*to.owner);
  to.taken = cell.key;
  if (cell.kind == message_kind::in_cells) {
    to.bytes = cell.bytes;
    if (reaches(to))
      fill_from_front(to, cell.bytes);
    else
      stage(to, node_of(*to.owner, cell));
    return;
  }
  unexpected_message& message = node_of(*to.owner, cell);
  to.bytes = message.bytes;
  if (message.kind == message_kind::rendezvous) {
    copy_later(later, static_cast<send_record&>(message), to);
  } else if (reaches(to)) {
    fill(to, message);
  } else {
    stage(to, message);
  }
}

// An unexpected message; only its receiver does this.
void engine::deliver(receive_record& to, unexpected_message& message, copy_list& later) {
  count_received(own_);
  to.taken = message.key;
  to.bytes = message.bytes;
  if (message.kind == message_kind::rendezvous) {
    copy_later(later, static_cast<send_record&>(message), to);
    return;
  }
  account(own_, -static_cast<std::int64_t>(sizeof(unexpected_message) + message.bytes));
  fill(to, message);
}

// The rank's own receive, of a message at the front of its inbox. False, with nothing done, when its completion needs a
// record.
bool engine::take_at_once(const user_buffer& to, const inbox_cell& cell, found_message& found) {
  if (cell.kind == message_kind::rendezvous) return false;
  count_received(own_);
  found.key = cell.key;
  if (cell.kind == message_kind::in_cells) {
    found.bytes = cell.bytes;
    write_front(own_.inbox, cell.bytes, to);
    return true;
  }
  auto& message = *static_cast<unexpected_message*>(cell.node);
  found.bytes = message.bytes;
  to.write(0, std::min(message.bytes, to.bytes), message.data());
  release(message);
  return true;
}

// The same of an unexpected message, which is gone then.
bool engine::take_at_once(const user_buffer& to, arrived_message& arrived, found_message& found) {
  auto& message = static_cast<unexpected_message&>(arrived);
  if (message.kind == message_kind::rendezvous) return false;
  count_received(own_);
  found = {message.key, message.bytes};
  account(own_, -static_cast<std::int64_t>(sizeof(unexpected_message) + message.bytes));
  to.write(0, std::min(message.bytes, to.bytes), message.data());
  release(message);
  return true;
}

// The sender completes independently of when the receiver polls: the receiver may be in a call that depends on the
// sender (MPI 4.0, section 3.5, progress).
void engine::stage_copy(receive_record& to, send_record& from) {
  unexpected_message& message = new_message(from.key, from.bytes);
  if (!copy_data({message.data(), from.bytes}, from.buffer, 0, from.bytes, process_)) to.failed = 1;
  count_copied(to, std::min(from.buffer.bytes, to.buffer.bytes));
  complete(from);
  stage(to, message);
}

void engine::stage(receive_record& to, unexpected_message& message) {
  to.staged = &message;
  endpoint_counters::add(own_.counters.staged);
  endpoint& owner = *to.owner;
  arena::handed_over(&to);
  to.state.store(progress_state::staged, std::memory_order_release);  // pairs: record.complete
  owner.inbox.wake();
}

// ---- completing

// What does not fit is dropped; the receiver detects the truncation by `bytes`.
void engine::write_front(const rank_inbox& inbox, std::size_t bytes, const user_buffer& to) {
  const std::size_t wanted = std::min(bytes, static_cast<std::size_t>(to.bytes));
  if (to.type == nullptr) {
    if (wanted > 0) inbox.read_front(wanted, to.address);
    return;
  }
  std::array<std::byte, most_bytes_in_cells> packed;
  inbox.read_front(wanted, packed.data());
  to.write(0, wanted, packed.data());
}

void engine::fill_from_front(receive_record& to, std::size_t bytes) {
  write_front(to.owner->inbox, bytes, to.buffer);
  complete(to);
}

void engine::fill(receive_record& to, unexpected_message& message) {
  to.buffer.write(0, std::min(message.bytes, to.buffer.bytes), message.data());
  release(message);
  complete(to);
}

void engine::take_staged(receive_record& record) {
  arena::taken_over();
  fill(record, static_cast<unexpected_message&>(*record.staged));
}

// ---- progress

bool engine::drain(endpoint& owner) noexcept {
  if (!owner.inbox.has_message()) return false;
  if (&owner == &own_)
    owner.lock.lock();
  else if (!owner.lock.try_lock())
    return false;
  copy_list later;
  bool any = false;
  while (!later.is_full()) {
    inbox_cell* const cell = owner.inbox.front();
    if (cell == nullptr) break;
    if (any) owner.inbox.expect_more();
    take_cell(owner, *cell, later);
    owner.inbox.pop();
    any = true;
  }
  if (any && &owner != &own_) owner.inbox.publish_read();
  owner.lock.unlock();
  run(later);
  return any;
}

}  // namespace tri::mpi
