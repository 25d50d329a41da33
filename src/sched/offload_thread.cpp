#include "sched/offload_thread.hpp"

#include <mutex>
#include <thread>
#include <utility>

#include "os/cpu/pinning.hpp"
#include "sched/inbox.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::sched {
namespace {

offload_request& request_of(envelope& answer) {
  return reinterpret_cast<offload_request&>(answer);
}  // its first member

void finished_deliver(pe& here, envelope& message) {
  offload_request& request = request_of(message);
  request.work->finish(here);
  request.work->~offloaded_work();
}
void finished_drop(pe&, envelope& message) { request_of(message).work->~offloaded_work(); }
const std::uint32_t finished_handler =
    register_handler(&finished_deliver, "offloaded work has ended", nullptr, &finished_drop);

}  // namespace

bool offload(pe& here, offload_request* request) {
  request->answer.element = 0;
  request->answer.collection = 0;
  request->answer.handler = finished_handler;
  request->answer.source = static_cast<std::uint32_t>(here.number());
  request->answer.bytes = 0;
  request->answer.kind = payload_kind::direct;
  request->answer.flags = envelope::is_immediate;
  request->home = here.record().inbox;
  // First: once pushed, the answer may have been counted as processed. Until it is, quiescence errs on the safe side.
  here.counters().sent.add();
  try {
    if (here.job().offloads().push(request)) {
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

struct offload_thread::worker {
  std::once_flag started;
  std::thread thread;
};

offload_thread::offload_thread(std::vector<int> cpus) : cpus_(std::move(cpus)), worker_(std::make_unique<worker>()) {}

offload_thread::~offload_thread() { end(); }

bool offload_thread::push(offload_request* request) {
  // relaxed: set when the PEs have met (process_runtime::run_pe), so those that push afterwards see it
  if (ending_.load(std::memory_order_relaxed)) return false;
  std::call_once(worker_->started, [this] { worker_->thread = std::thread([this] { serve(); }); });
  put(request);
  return true;
}

void offload_thread::put(offload_request* request) {
  request->next = newest_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  // seq_cst: after the push comes the look for the sleeper's mark (arena/sleeper.hpp). As a release it also hands the
  // request over. pairs: sleeper.mark, offload.take
  while (!newest_.compare_exchange_weak(request->next, request, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  sleep_.wake();
}

// Oldest first.
offload_request* offload_thread::take() {
  offload_request* newest = newest_.exchange(nullptr, std::memory_order_acquire);  // pairs: offload.take
  offload_request* oldest = nullptr;
  while (newest != nullptr) {
    offload_request* const older = std::exchange(newest->next, oldest);
    oldest = newest;
    newest = older;
  }
  return oldest;
}

// Never empty.
offload_request* offload_thread::sleep_until_some() {
  for (;;) {
    if (offload_request* const some = take(); some != nullptr) return some;
    sleep_.prepare_sleep();
    if (newest_.load(std::memory_order_seq_cst) == nullptr) sleep_.sleep();  // pairs: sleeper.mark
    sleep_.awake();
  }
}

void offload_thread::serve() {
  try {
    os::pin_this_thread(cpus_);
  } catch (const std::exception&) {  // the CPUs were taken away meanwhile: then it stays where it is
  }
  for (;;) {
    for (offload_request* request = sleep_until_some(); request != nullptr;) {
      if (request == &last_) return;  // nothing is pushed after it
      offload_request* const next = request->next;
      // relaxed: those that run although the job is ending just make it end later
      if (!ending_.load(std::memory_order_relaxed)) request->work->run();
      push_urgent(*request->home, &request->answer);  // hands the request over
      request = next;
    }
  }
}

void offload_thread::end() {
  ending_.store(true, std::memory_order_relaxed);  // relaxed: see push
  if (!worker_->thread.joinable()) return;
  put(&last_);
  worker_->thread.join();
}

}  // namespace tri::sched
