// Copies of matched messages: this rank makes them, or puts them on the board, where waiting ranks take chunks of them.
#include <sched.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "mpi/engine/engine.hpp"
#include "mpi/engine/rank_trace.hpp"
#include "mpi/internode/incoming_message.hpp"

namespace tri::mpi {
namespace {

void copy_entry(const board::task_view& task, std::uint64_t first, std::uint64_t last, int by) noexcept {
  engine::of_pe(by)->run_part(task, first, last);  // every participant of the board has an engine
}
const board::operation_id copy_operation =
    board::operation_table::of_process().chunks.add("mpi: copy the bytes of a message", &copy_entry);

constexpr int polls_before_yielding = 1000;
// The time in which a copy takes this many bytes is longer than the time in which a sleeping rank comes.
constexpr std::size_t bytes_to_wake_for = std::size_t{1} << 20;
// The chunks as far from the end as these are from the beginning; chunks begin at the same places.
std::pair<std::uint64_t, std::uint64_t> counted_from_the_end(std::uint64_t first, std::uint64_t last,
                                                             const board::task_view& task) {
  const std::uint64_t chunks = board::chunk_count(task.total, task.chunk);
  return {(chunks - board::chunk_count(last, task.chunk)) * task.chunk,
          std::min(task.total, (chunks - first / task.chunk) * task.chunk)};
}

}  // namespace

void engine::run(copy_list& list) {
  if (list.count == 0) return;
  publish_activity(activity::busy);
  const std::uint64_t size_class = class_to_time(list);
  const bool shares = size_class == 0 || timing_.shares(size_class);
  const std::uint64_t began = size_class == 0 ? 0 : os::ticks();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < list.count; ++i) {
    total += list.list[i].bytes();  // before it is run: then the records may be gone
    run(list.list[i], shares);
  }
  list.count = 0;
  if (size_class == 0) return;
  if (!shares)
    timing_.took(size_class, total, false, os::ticks() - began);
  else if (open_copies_ > 0)                      // otherwise there was no room on the board
    shared_copies_ = {size_class, total, began};  // finish_copies knows when they end
}

// The size class of copies that take about the same time and whose end this rank can observe: it waits, and all that it
// has on the board is from this list. 0: nothing can be learned.
std::uint64_t engine::class_to_time(const copy_list& list) const {
  // With several threads a wait need not be this call's, and a copy may end before this thread sees it.
  if (!options_.learns_sharing || api_mutex_ != nullptr || waits_ == 0 || open_copies_ > 0) return 0;
  const std::uint64_t bytes = list.list[0].bytes();
  for (std::size_t i = 0; i < list.count; ++i) {
    const matched_copy& each = list.list[i];
    if (each.from->is_of_other_host || each.to->owner != &own_ || each.bytes() < options_.sharing.from ||
        std::bit_width(each.bytes()) != std::bit_width(bytes))
      return 0;
  }
  return bytes;
}

void engine::run(const matched_copy& one, bool shares) {
  send_record& from = *one.from;
  receive_record& to = *one.to;
  if (from.is_of_other_host) return static_cast<incoming_message&>(from).match(to);
  if (&own_ != to.owner && !to.buffer.is_for_everybody(options_.kernel_copies)) return stage_copy(to, from);
  to.copied_from = &from;
  const std::size_t bytes = std::min(from.buffer.bytes, to.buffer.bytes);
  // Some memory can be written only by its own process: then no other rank can help.
  const bool everybody =
      from.buffer.is_for_everybody(options_.kernel_copies) && to.buffer.is_for_everybody(options_.kernel_copies);
  if (shares && bytes >= options_.sharing.from && everybody && endpoints_.size() > 1 && post_copy(to, bytes)) return;
  const std::uint64_t began = rank_trace::current == nullptr ? 0 : os::ticks();
  if (!copy_data(to.buffer, from.buffer, 0, bytes, process_)) to.failed = 1;
  count_copied(to, bytes);
  if (rank_trace::current != nullptr) rank_trace::current->copied(*from.owner, *to.owner, bytes, began);
  complete(from);
  complete(to);
}

// False, with nothing done, when there is no room on the board.
bool engine::post_copy(receive_record& to, std::size_t bytes) {
  if (open_copies_ == copies_on_board_.size()) return false;
  to.bytes_left.store(bytes, std::memory_order_relaxed);  // relaxed: published with the task
  endpoint* const sender = to.copied_from->owner;
  board::task_spec task = shared_task(copy_operation, {reinterpret_cast<std::uint64_t>(&to)}, bytes);
  // Where the order matters, every participant takes the next chunk; otherwise the receiver starts at one end and
  // helpers at the other.
  const std::array<board::participant_range, 1> nothing_of_its_own{};
  if (to.touched != touch_order::unknown) {
    task.ranges = nothing_of_its_own;
    task.pool = {0, static_cast<std::uint32_t>(board::chunk_count(bytes, task.chunk))};
  }
  const board::post_result posted = board_.post(task);
  if (!posted.handle) return false;
  endpoint_counters::add(own_.counters.chunks_shared, board::chunk_count(bytes, task.chunk));
  copies_on_board_[open_copies_++] = {posted.handle, sender};  // the records may be gone already
  wake_helpers(bytes, posted.useful_helpers);
  return true;
}

// The records stay until their last byte is copied, and the range copied here is not copied yet.
void engine::run_part(const board::task_view& task, std::uint64_t first, std::uint64_t last) {
  auto& to = *reinterpret_cast<receive_record*>(task.arguments[0]);
  if (to.touched == touch_order::low_first) std::tie(first, last) = counted_from_the_end(first, last, task);
  const std::uint64_t bytes = last - first;
  const std::uint64_t began = rank_trace::current == nullptr ? 0 : os::ticks();
  if (!copy_data(to.buffer, to.copied_from->buffer, first, bytes, process_)) {
    // relaxed: read after `bytes_left` has reached 0
    std::atomic_ref(to.failed).store(1, std::memory_order_relaxed);
  }
  count_copied(to, bytes);
  if (rank_trace::current != nullptr) rank_trace::current->copied(*to.copied_from->owner, *to.owner, bytes, began);
  const std::uint64_t chunks = board::chunk_count(bytes, task.chunk);
  endpoint_counters::add(to.owner == &own_ ? own_.counters.chunks_copied : own_.counters.chunks_helped, chunks);
  if (is_far(to.owner->domain, own_.domain)) endpoint_counters::add(own_.counters.chunks_far, chunks);
  // acq_rel: the last participant sees all parts copied when it completes the records. pairs: record.bytes_left
  if (to.bytes_left.fetch_sub(bytes, std::memory_order_acq_rel) != bytes) return;
  complete(*to.copied_from);
  complete(to);
}

template <class Yield>
void engine::finish(const board::task_handle& task, Yield&& yield) {
  board_.finish(task, [&, polls = 0]() mutable {
    if (options_.oversubscribed || ++polls > polls_before_yielding)
      yield();
    else
      os::cpu_relax();
  });
}

// Finishes the rest of our copies ourselves. True if there was any.
bool engine::finish_copies() {
  const bool any = open_copies_ > 0;
  if (any) publish_activity(activity::busy);
  while (open_copies_ > 0) {
    const board::task_handle task = copies_on_board_[--open_copies_].task;  // another thread of ours takes the next
    finish(task, [this] { yield(); });
  }
  if (shared_copies_.size_class != 0) {
    timing_.took(shared_copies_.size_class, shared_copies_.bytes, true, os::ticks() - shared_copies_.began);
    shared_copies_ = {};
  }
  return any;
}

board::task_spec engine::shared_task(board::operation_id operation, const task_arguments& arguments,
                                     std::size_t bytes) const {
  board::task_spec task;
  task.operation = operation;
  task.arguments = arguments;
  task.total = bytes;
  task.chunk = sharing_sizes::chunk_of(bytes);
  task.first_participant = number_;
  return task;
}

bool engine::run_together(board::operation_id operation, const task_arguments& arguments, std::size_t bytes) {
  if (endpoints_.size() == 1) return false;
  const board::post_result posted = board_.post(shared_task(operation, arguments, bytes));
  if (!posted.handle) return false;
  wake_helpers(bytes, posted.useful_helpers);
  finish(posted.handle, [] { sched_yield(); });
  return true;
}

// Ranks that have waited for long sleep, and posting on the board wakes none. With more ranks than cores the core of a
// sleeper may have other work.
void engine::wake_helpers(std::size_t bytes, std::uint32_t useful) {
  if (options_.oversubscribed) return;
  std::uint64_t wanted = std::min<std::uint64_t>(useful, bytes / bytes_to_wake_for);
  for (std::size_t step = 1; wanted > 0 && step < endpoints_.size(); ++step) {
    endpoint& other = *endpoints_[(number_ + step) % endpoints_.size()];
    if (!other.inbox.is_asleep() || (has_domains_ && is_far(other.domain, own_.domain))) continue;
    other.inbox.wake();
    endpoint_counters::add(own_.counters.woken_helpers);
    --wanted;
  }
}

// We return to computing: a sender that waits for its message to leave copies it. It may sleep, and posting on the
// board wakes few or none.
void engine::leave_copies_to_senders() {
  for (std::size_t i = 0; i < open_copies_;) {
    if (board_.finished(copies_on_board_[i].task)) {
      board_.finish(copies_on_board_[i].task);
      copies_on_board_[i] = copies_on_board_[--open_copies_];
    } else {
      copies_on_board_[i++].sender->inbox.wake();
    }
  }
}

}  // namespace tri::mpi
