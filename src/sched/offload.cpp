#include "sched/offload.hpp"

#include <utility>

#include "os/pinning.hpp"
#include "sched/handler_table.hpp"
#include "sched/inbox.hpp"
#include "sched/pe.hpp"
#include "sched/runtime.hpp"

namespace tri::sched {
namespace {

offload_note& note_of(envelope& answer) { return reinterpret_cast<offload_note&>(answer); }  // its first member

void finished_deliver(pe& here, envelope& message) {
  offload_note& note = note_of(message);
  note.work->finish(here);
  note.work->~offloaded_work();
}
void finished_drop(pe&, envelope& message) { note_of(message).work->~offloaded_work(); }
const std::uint32_t finished_handler =
    register_handler(&finished_deliver, "offloaded work has ended", nullptr, &finished_drop);

}  // namespace

bool offload(pe& here, offload_note* note) {
  note->answer.element = 0;
  note->answer.collection = 0;
  note->answer.handler = finished_handler;
  note->answer.source = static_cast<std::uint32_t>(here.number());
  note->answer.bytes = 0;
  note->answer.kind = payload_kind::direct;
  note->answer.flags = envelope::is_immediate;
  note->home = here.record().inbox;
  // First: once pushed, the answer may have been counted as processed. Until it is, quiescence errs on the safe side.
  here.counters().sent.add();
  try {
    if (here.job().offloads().push(note)) {
      here.counters().offloaded.add();
      return true;
    }
  } catch (...) {
    here.counters().sent.add(~std::uint64_t{0});
    throw;
  }
  here.counters().sent.add(~std::uint64_t{0});
  return false;
}

bool offload_thread::push(offload_note* note) {
  // relaxed: set when the PEs have met (runtime::run_pe), so those that push afterwards see it
  if (ending_.load(std::memory_order_relaxed)) return false;
  std::call_once(started_, [this] { thread_ = std::thread([this] { serve(); }); });
  put(note);
  return true;
}

void offload_thread::put(offload_note* note) {
  note->next = newest_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  // seq_cst: after the push we look whether the thread sleeps; it marks itself asleep, then looks for notes. One of the
  // two sees the other. As a release it also hands the note over. pairs: offload.asleep, offload.take
  while (!newest_.compare_exchange_weak(note->next, note, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  if (asleep_.load(std::memory_order_seq_cst)) bell_.ring();  // pairs: offload.asleep
}

// Oldest first.
offload_note* offload_thread::take() {
  offload_note* newest = newest_.exchange(nullptr, std::memory_order_acquire);  // pairs: offload.take
  offload_note* oldest = nullptr;
  while (newest != nullptr) {
    offload_note* const older = std::exchange(newest->next, oldest);
    oldest = newest;
    newest = older;
  }
  return oldest;
}

// Never empty.
offload_note* offload_thread::sleep_until_some() {
  for (;;) {
    if (offload_note* const some = take(); some != nullptr) return some;
    const std::uint32_t heard = bell_.listen();  // before the look: a ring after it is not slept through
    asleep_.store(true, std::memory_order_seq_cst);
    if (newest_.load(std::memory_order_seq_cst) == nullptr) bell_.sleep(heard, -1);  // pairs: offload.asleep
    asleep_.store(false, std::memory_order_relaxed);  // relaxed: a stale mark costs one needless ring
  }
}

void offload_thread::serve() {
  try {
    host::pin_this_thread(cpus_);
  } catch (const std::exception&) {  // the CPUs were taken away meanwhile: then it stays where it is
  }
  for (;;) {
    for (offload_note* note = sleep_until_some(); note != nullptr;) {
      if (note == &last_) return;  // nothing is pushed after it
      offload_note* const next = note->next;
      // relaxed: those that run although the job is ending just make it end later
      if (!ending_.load(std::memory_order_relaxed)) note->work->run();
      push_urgent(*note->home, &note->answer);  // hands the note over
      note = next;
    }
  }
}

void offload_thread::end() {
  ending_.store(true, std::memory_order_relaxed);  // relaxed: see push
  if (!thread_.joinable()) return;
  put(&last_);
  thread_.join();
}

}  // namespace tri::sched
