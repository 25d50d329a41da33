#include "trireme/detail/loops/loop_call.hpp"

#include <sched.h>

#include <cstring>

#include "board/board_pe.hpp"
#include "board/operation_table.hpp"
#include "loops/loop_participant.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/task_clock.hpp"
#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"

namespace tri::loops {

// The arguments of the task, as stored in the slot. They are copied there as words, hence may_alias.
struct [[gnu::may_alias]] loop_arguments {
  loop_call* call;
  loop_body body;
  std::uint32_t first_pe;      // of the team
  std::uint32_t participants;  // of the team
  std::uint32_t failure;       // a body has thrown
  bool in_call;                // the context is at the call's address, not below
  bool unusual;  // the call itself is needed: measured, or claim numbers must be looked up, or help counted
  alignas(16) std::byte context[travelling_bytes];

  int number_of(int pe) const {
    const std::uint32_t place = static_cast<std::uint32_t>(pe) - first_pe;  // wraps for PEs below
    return place < participants ? static_cast<int>(place) : 0;
  }
  void run(std::uint64_t first, std::uint64_t last, int number) const {
    const void* const own_context = in_call ? call->context_ : context;
    if (!unusual) [[likely]]
      body(own_context, first, last, number);
    else
      call->run_unusual(own_context, first, last, number);
  }

  // Runs a participant's chunks: iterations, or claim numbers when there is a table. After an exception the rest is
  // skipped. The flag is here, on a line that every participant reads anyway, and is written at most once.
  static void run_chunks(const board::task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept {
    const auto& self = *reinterpret_cast<const loop_arguments*>(task.arguments);
    try {
      if (self.failed().load(std::memory_order_relaxed) != 0) [[unlikely]]  // relaxed: only saves work
        return;
      self.run(first, last, self.number_of(pe));
    } catch (...) {
      self.failed().store(1, std::memory_order_relaxed);  // relaxed: as above
      self.call->keep(std::current_exception());
    }
  }
  std::atomic_ref<std::uint32_t> failed() const { return std::atomic_ref(const_cast<std::uint32_t&>(failure)); }
};
static_assert(sizeof(loop_arguments) == board::argument_words * sizeof(std::uint64_t));

namespace {
const board::operation_id loop_operation =
    board::operation_table::of_process().chunks.add("loop", &loop_arguments::run_chunks);
}  // namespace

void loop_call::keep(std::exception_ptr error) noexcept {
  // Only the first one is kept; later ones must not write. relaxed: the poster reads it after the end.
  if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::move(error);
}

void loop_call::run_measured(const void* context, std::uint64_t first, std::uint64_t last, int number) {
  if (times == nullptr) {
    body_(context, first, last, number);
    return;
  }
  times->start(number);
  body_(context, first, last, number);
  times->stop(number, first, last);
}

void loop_call::run_claims(const void* context, std::uint64_t first, std::uint64_t last, int number) {
  if (layout_ == nullptr) {
    run_measured(context, first, last, number);
    return;
  }
  const board::chunk_span claims{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
  layout_->for_each_block(claims,
                          [&](std::uint64_t begin, std::uint64_t end) { run_measured(context, begin, end, number); });
  if (tasklet_owners == nullptr) return;
  for (std::uint32_t claim = claims.first; claim < claims.last; ++claim) {
    const std::uint32_t tasklet = layout_->chunk_of(claim) - layout_->first_tasklet;  // wraps for chunks before
    if (tasklet < layout_->tasklets) tasklet_owners[tasklet] = static_cast<std::uint32_t>(number);
  }
}

void loop_call::run_unusual(const void* context, std::uint64_t first, std::uint64_t last, int number) {
  if (poster_ < 0 || number == poster_) {
    run_claims(context, first, last, number);
    return;
  }
  os::task_clock& clock = os::task_clock::of_this_thread();
  const std::uint64_t before = clock.read();
  run_claims(context, first, last, number);
  // relaxed: the poster reads it when it has seen the end of these chunks
  help_ticks_.fetch_add(clock.read() - before, std::memory_order_relaxed);
}

void loop_call::run_here(std::uint64_t items, int number) noexcept {
  try {
    run_measured(context_, 0, items, number);
  } catch (...) {
    keep(std::current_exception());
  }
}

board::task_handle post_loop(loop_participant& me, loop_call& call, const schedules::loop_layout& layout,
                             bool strict_owners) {
  board::task_spec spec = task_of(layout);
  const bool table = !layout.bounds.empty() || !layout.in_order();
  call.layout_ = table ? &layout : nullptr;
  spec.operation = loop_operation;
  spec.first_participant = me.first();
  spec.process = static_cast<std::int32_t>(me.board().process());
  spec.owners_come = strict_owners && me.others_always_come();
  loop_arguments arguments;
  arguments.call = &call;
  arguments.body = call.body_;
  arguments.first_pe = me.first();
  arguments.participants = me.participants();
  arguments.in_call = call.bytes_ == 0;
  if (me.counts_help) call.poster_ = me.number();
  arguments.unusual = table || call.times != nullptr || me.counts_help;
  arguments.failure = 0;
  if (call.bytes_ > 0) std::memcpy(arguments.context, call.context_, call.bytes_);
  std::memcpy(spec.arguments.data(), &arguments, sizeof arguments);
  const board::post_result posted = me.board().post(spec);
  // Chunks reserved for owners need every one of them, not just any helper.
  const std::uint32_t wanted = spec.owners_come ? me.participants() - 1 : posted.useful_helpers;
  if (posted.handle && wanted > 0) me.wake(wanted);
  return posted.handle;
}

void finish_loop(loop_participant& me, board::task_handle posted) {
  // Owners that are sure to come have come long before, unless they are held up in a body of another thread's loop,
  // which may be waiting for a lock that this thread holds.
  constexpr double timeout_ns = 10e6;
  ++me.depth;
  std::uint32_t looks = 0;
  std::uint64_t began = 0;
  me.board().finish(posted, [&] {
    // Others are in their last chunks. If one of them has lost its core, it may be waiting for this one.
    if (++looks % 1024 != 0) {
      os::cpu_relax();
      return;
    }
    sched_yield();
    const std::uint64_t now = os::ticks();
    if (began == 0) began = now;
    if (now - began > os::ns_to_ticks(timeout_ns)) {
      me.board().run_reserved_chunks(posted);
      began = now;
    }
  });
  --me.depth;
}

}  // namespace tri::loops
