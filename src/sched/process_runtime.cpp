#include "sched/process_runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "arena/footprint.hpp"
#include "board/board_layout.hpp"
#include "boot/mpi/mpi_library.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"
#include "sched/live_figures.hpp"
#include "sched/offload_thread.hpp"
#include "sched/order/process_order.hpp"
#include "sched/remote/wire_link.hpp"
#include "sched/scheduler.hpp"
#include "sched/wanted_queue_policy.hpp"
#include "trace/process_trace.hpp"

namespace tri::sched {
namespace {

process_runtime* the_runtime = nullptr;
std::uint64_t jobs_begun = 0;  // of this process, one after the other

process_runtime& of(const pe& here) { return static_cast<process_runtime&>(here.job()); }

void stop_handler(pe& here, envelope& message) { of(here).stop_here(static_cast<int>(message.element)); }
const std::uint32_t stop_message = register_handler(&stop_handler, "scheduler: stop");

void stop_request_handler(pe& here, envelope& message) { of(here).stop_all(here, static_cast<int>(message.element)); }
const std::uint32_t stop_request = register_handler(&stop_request_handler, "scheduler: stop request");

arena::arena_options arena_options_of(const config::configuration& values) {
  arena::arena_options options{values.arena_window_bytes, values.arena_limit_bytes, values.allocator};
  // The drop-in has the first windows.
  if (boot::is_under_mpi_drop_in()) options.first_window = arena::most_windows(options.window_bytes) / 2;
  return options;
}

// How often configuration::peer_timeout_s messages at the end of a job may lie still before it fails: a peer that is
// stopped is judged by its heartbeats first.
constexpr int most_peer_timeouts_at_end = 4;

}  // namespace

runtime* current_runtime() { return the_runtime; }

int exit_status_of(const runtime& stopped) { return static_cast<const process_runtime&>(stopped).exit_status(); }

struct process_runtime::pe_barriers {
  explicit pe_barriers(std::ptrdiff_t pes) : all(pes) {}
  std::barrier<> all;
};

struct process_runtime::stall_watch {
  std::mutex lock;     // for what follows
  bool found = false;  // several hosts
  std::int64_t asked_hosts_ns = 0;
  std::uint64_t progress = 0;
  std::int64_t since_ns = 0;
};

process_runtime::process_runtime(config::configuration values)
    : values_(std::move(values)),
      own_file_(arena::create_window_file(values_.arena_window_bytes)),
      job_(boot::job::join(values_, own_file_, handler_fingerprint())),
      placement_(config::assign_cpus(values_, job_.machine_rank(), job_.machine_processes(), job_.pes_per_process())),
      stall_(std::make_unique<stall_watch>()) {
  number_ = jobs_begun++;
  pes_per_process_ = job_.pes_per_process();
  process_ = job_.process();
  hosts_ = job_.hosts();
  for (const boot::peer& other : job_.peers()) host_of_process_.push_back(other.host);
  if (the_runtime != nullptr) throw std::logic_error("trireme: tri::run is already active in this process");
  if (job_.pes_per_process() > arena::most_local_pes)
    throw std::runtime_error(fmt::format("trireme: {} PEs asked for in one process; at most {} are possible",
                                         job_.pes_per_process(), arena::most_local_pes));
  if (pes_of_host() > static_cast<int>(board::most_pes))
    throw std::runtime_error(fmt::format(
        "trireme: {} PEs on this host; at most {} are possible: start fewer processes, or fewer PEs in each "
        "(--pes)",
        pes_of_host(), board::most_pes));
  std::vector<int> files;
  for (const boot::peer& other : job_.peers())
    if (other.host == job_.host()) files.push_back(other.process == job_.process() ? own_file_ : other.arena_fd);
  arena_ = std::make_unique<arena::arena_space>(arena_options_of(values_), files, job_.self().local_rank,
                                                [this] { job_.barrier(); });
  os::ns_per_tick();  // calibrate before any thread needs it
  lay_out_records();
  if (!values_.trace.empty() && job_.self().local_rank == 0) trace::remove_old_traces(values_.trace);
  const std::optional<queue_policy> queues = wanted_queue_policy(values_);
  scheduler::order_methods(queues ? &*queues : nullptr);
  if (process_order::is_wanted(values_)) order_ = std::make_unique<process_order>(*this);
  if (!values_.record.empty() && job_.self().local_rank == 0) remove_old_orders(values_.record);
  if (hosts() > 1) {
    wire_wakeup_.emplace();
    root_->process->wire_wakeup = wire_wakeup_->name();
  }
  // Before any process can leave the barrier: a program that runs is seen with all processes of its job.
  publish_live_page(arena_->heap(), *root_->process, *this, job_.peers().front().pid);
  job_.barrier();
  find_peers();
  if (!values_.trace.empty()) open_traces();
  if (hosts() > 1) {
    wire_ = std::make_unique<wire_link>(*this);
    job_.publish_endpoint_address(wire_->address());
    job_.barrier();
  }
  the_runtime = this;
}

process_runtime::~process_runtime() {
  the_runtime = nullptr;
  pes_.clear();
  wire_.reset();
  arena_.reset();
  close(own_file_);
}

void process_runtime::open_traces() {
  trace::process_facts facts{.process = process(),
                             .processes = processes(),
                             .host = host(),
                             .hosts = hosts(),
                             .pes_per_process = pes_per_process(),
                             .comm_thread = values_.text_of("comm_thread"),
                             .handlers = {}};
  for (const handler_row& row : handler_table()) facts.handlers.push_back(row.name);
  traces_ = trace::process_trace::open({.folder = values_.trace,
                                        .pes = values_.trace_pes,
                                        .events = static_cast<std::size_t>(values_.trace_events),
                                        .slow_us = values_.trace_slow_us},
                                       facts);
}

std::uint32_t process_runtime::new_collection_number() const {
  // relaxed: only uniqueness matters; 0 is for single objects. The hosts draw in turns.
  const std::uint32_t drawn = host_->next_collection.fetch_add(1, std::memory_order_relaxed);
  return 1 + drawn * static_cast<std::uint32_t>(hosts()) + static_cast<std::uint32_t>(host());
}
bool process_runtime::may_exist(std::uint32_t collection) const {
  if (collection == 0 || host_of_collection(collection) != host()) return true;
  if (order_ != nullptr && order_->replays()) return true;  // numbers come from the record
  // relaxed: a message that speaks of it comes after the draw
  return (collection - 1) / static_cast<std::uint32_t>(hosts()) <
         host_->next_collection.load(std::memory_order_relaxed);
}

void process_runtime::lay_out_records() {
  arena::heap& heap = arena_->heap();
  root_ = static_cast<window_root*>(heap.reserve(sizeof(window_root)));
  root_->process = new (heap.reserve(sizeof(process_record))) process_record{};
  process_record& own = *root_->process;
  own.version = process_record::expected_version;
  own.pes = static_cast<std::uint32_t>(pes_per_process());
  own.has_checked_blocks = values_.allocator == config::allocator_kind::checked ? 1 : 0;
  // The last are the wires of the host's processes.
  const auto producers = static_cast<std::uint32_t>(pes_of_host() + (hosts() > 1 ? job_.processes_of(host()) : 0));
  const auto cells = static_cast<std::uint64_t>(values_.inbox_cells);
  for (int i = 0; i < pes_per_process(); ++i) {
    auto* const record = new (heap.reserve(sizeof(pe_record))) pe_record{};
    record->inbox =
        inbox_shared::initialise(heap.reserve(inbox_shared::required_bytes(producers, cells)), producers, cells);
    own.pe[i] = record;
  }
  const auto node_cells = static_cast<std::uint64_t>(values_.node_queue_cells);
  own.nodes = node_queue::initialise(heap.reserve(node_queue::required_bytes(node_cells)), node_cells);
  if (job_.self().local_rank == 0) {
    host_record& shared = *(root_->host = new (heap.reserve(sizeof(host_record))) host_record{});
    shared.board_bytes = board::board::required_bytes(shape_of_host());
    shared.board_memory = static_cast<std::byte*>(heap.reserve(shared.board_bytes));
    board_ = board::board::initialise({shared.board_memory, shared.board_bytes}, shape_of_host());
    if (hosts() > 1) {
      const std::size_t choices = static_cast<std::size_t>(pes()) + static_cast<std::size_t>(hosts());
      shared.chosen = static_cast<std::atomic<std::uint64_t>*>(heap.reserve(choices * sizeof(*shared.chosen)));
      for (std::size_t i = 0; i < choices; ++i) new (shared.chosen + i) std::atomic<std::uint64_t>(0);
      const auto makers = static_cast<std::size_t>(hosts());
      shared.creations_in_inboxes =
          static_cast<std::atomic<std::uint32_t>*>(heap.reserve(makers * sizeof(*shared.creations_in_inboxes)));
      for (std::size_t i = 0; i < makers; ++i) new (shared.creations_in_inboxes + i) std::atomic<std::uint32_t>(0);
    }
  }
  arena_->publish(root_);
}

void process_runtime::find_peers() {
  for (const boot::peer& other : job_.peers()) {
    process_record* record = nullptr;
    if (other.host == job_.host()) {
      auto* const root = static_cast<window_root*>(arena_->root_of(other.local_rank));
      record = root->process;
      if (record->version != process_record::expected_version ||
          record->pes != static_cast<std::uint32_t>(pes_per_process()))
        throw std::runtime_error(fmt::format(
            "trireme: process {} has version {} with {} PEs; this one has version {} with {}: different builds or "
            "options",
            other.process, record->version, record->pes, process_record::expected_version, pes_per_process()));
      if (record->has_checked_blocks != root_->process->has_checked_blocks)
        throw std::runtime_error(
            fmt::format("trireme: of processes {} and {} one has --tri-allocator=checked: all processes of a host must "
                        "have it, or none",
                        process(), other.process));
      if (other.local_rank == 0) host_ = root->host;
    }
    process_records_.push_back(record);
    for (int i = 0; i < pes_per_process(); ++i)
      peers_.push_back({record == nullptr ? nullptr : record->pe[i]->inbox, other.process});
  }
  if (!board_.has_value()) board_ = board::board::attach({host_->board_memory, host_->board_bytes});
}

board::board_shape process_runtime::shape_of_host() const {
  board::board_shape shape;
  for (int i = 0; i < pes_of_host(); ++i)
    shape.process_of_pe.push_back(static_cast<std::uint32_t>(i / pes_per_process()));
  return shape;
}

board::board_pe process_runtime::join_board(int number) const {
  const std::uint32_t own = host_pe_number(number);
  // Order by distance on the machine; the PEs of this host are a contiguous part of all PEs of the machine.
  const auto first = static_cast<std::size_t>(first_pe_of_host() - job_.first_process_of_machine() * pes_per_process());
  const auto cpus = std::span(placement_.all_cpus).subspan(first, static_cast<std::size_t>(pes_of_host()));
  const std::vector<int> order =
      config::victim_order(os::topology::shared(values_.topology), cpus, static_cast<int>(own));
  return board_->join(own, std::vector<std::uint32_t>(order.begin(), order.end()));
}

void process_runtime::wake_helpers(std::uint32_t count, std::int32_t only_process) const {
  for (const boot::peer& other : job_.peers()) {
    if (other.host != job_.host() || (only_process >= 0 && other.local_rank != only_process)) continue;
    count -= process_record_of(other.process)->wake(count);
    if (count == 0) return;
  }
}

process_record* process_runtime::process_record_of(int process) const {
  return process_records_[static_cast<std::size_t>(process)];
}

pe_record* process_runtime::record_of(int number) const {
  process_record* const process = process_record_of(process_of(number));
  return process == nullptr ? nullptr : process->pe[number % pes_per_process()];
}

void process_runtime::enter_pe(scheduler& which, const program& steps) {
  if (placement_.pinned) os::pin_this_thread(placement_.cpus[static_cast<std::size_t>(which.local_number())]);
  detail::this_pe = &which;
  steps.prepare(which);
  phase_->all.arrive_and_wait();
  if (steps.everywhere) {  // all main programs count before the first one begins
    if (which.local_number() == 0) job_.barrier();
    phase_->all.arrive_and_wait();
  }
  if (values_.trace_start) which.switch_trace(true);
}

void process_runtime::run_pe(scheduler& which, const program& steps) {
  enter_pe(which, steps);
  if (which.number() == 0 || steps.everywhere) {
    if (which.trace() != nullptr) which.trace()->mark(trace::event::begin, os::ticks(), trace::main_program);
    try {
      const int status = steps.main_program();
      if (arena::in_forked_child()) std::exit(status);  // made by fork in the program; the job is its parent's
      if (which.number() == 0) request_stop(status);
    } catch (const stop_unwinding&) {  // stopped already, by another PE or process
    } catch (const std::exception& error) {
      fail(steps.everywhere && pes() > 1
               ? fmt::format("an exception left the main program of PE {}: {}", which.number(), error.what())
               : fmt::format("an exception left the main program: {}", error.what()));
    }
    if (which.trace() != nullptr) which.trace()->mark(trace::event::end, os::ticks(), trace::main_program);
  }
  leave_pe(which, steps);
}

void process_runtime::leave_pe(scheduler& which, const program& steps) {
  which.run_until([this] { return stopping(); });
  which.switch_trace(false);
  if (wire_ != nullptr) wire_->expect_ends();
  wait_for_job(which);  // no process sends to us any more
  end_offloads(which);
  drop_messages(which, steps);
  phase_->all.arrive_and_wait();  // what was on its way to us may have belonged to another PE of the process
  if (steps.finish) steps.finish(which);
  phase_->all.arrive_and_wait();
  if (which.local_number() == 0 && steps.finish_process) steps.finish_process(which);
  wait_for_job(which);
  drop_messages(which, steps);  // what destructors sent
  if (steps.leave) steps.leave(which);
  detail::this_pe = nullptr;
}

// What has not begun comes back to its PE, which drops it.
void process_runtime::end_offloads(const pe& which) {
  if (which.local_number() == 0) offloads_->end();
  phase_->all.arrive_and_wait();
}

/// All PEs of the job meet.
void process_runtime::wait_for_job(const pe& which) {
  phase_->all.arrive_and_wait();
  if (which.local_number() == 0) {
    if (wire_ == nullptr)
      job_.barrier();
    else
      meet_with_wire();
  }
  phase_->all.arrive_and_wait();
}

// Nobody sends any more when all have met, but what was sent may be under way, and may need both sides to arrive. So
// once more, when all that this process sent is out. What has arrived then lies in the inboxes. A process that takes
// nothing, though it lives and answers heartbeats, must not keep the others for ever.
void process_runtime::meet_with_wire() {
  const bool is_alone = values_.comm_thread == config::communication_thread::funnelled;
  const auto poll = [&] {  // funnelled: the communication thread is alone at the wire
    if (is_alone || !wire_->progress()) std::this_thread::yield();
  };
  const auto meet = [&] {
    std::atomic<bool> met{false};
    std::thread waiter([&] {
      try {
        job_.barrier();
      } catch (const std::exception& error) {
        fail(error.what());
      }
      met.store(true, std::memory_order_release);  // pairs: itself
    });
    try {
      while (!met.load(std::memory_order_acquire)) poll();  // pairs: itself
    } catch (const std::exception& error) {
      fail(error.what());
    }
    waiter.join();
  };
  meet();
  wire_->drop_waiting();
  std::uint64_t moves = wire_->counters().moves;
  const double limit_s = values_.peer_timeout_s * most_peer_timeouts_at_end;
  constexpr double stopped_s = 1;  // between two polls: the process itself was stopped, and no peer is to blame
  std::uint64_t last_movement = os::ticks();
  std::uint64_t last_poll = last_movement;
  while (!wire_->is_idle()) {
    poll();
    const double since_last_poll_s = static_cast<double>(os::ticks() - last_poll) * os::ns_per_tick() * 1e-9;
    last_poll = os::ticks();
    if (since_last_poll_s > stopped_s) last_movement = last_poll;
    // The holder of the progress lock counts them, parts of a body included. A heartbeat does not count as movement.
    const std::uint64_t before = std::exchange(moves, wire_->counters().moves);
    if (moves != before) last_movement = os::ticks();
    const double still_s = static_cast<double>(os::ticks() - last_movement) * os::ns_per_tick() * 1e-9;
    if (limit_s != 0 && still_s > limit_s)
      fail(
          fmt::format("process {} ends, but its messages to other hosts are still in flight, without progress for "
                      "{:.1f} s ({:.0f} times --tri-peer-timeout-s)",
                      process(), still_s, limit_s / values_.peer_timeout_s));
  }
  meet();
}

void process_runtime::drop_messages(scheduler& which, const program& steps) {
  which.drop_messages();
  if (!steps.drop_held) return;
  steps.drop_held(which);
  which.drop_messages();  // what their destructors sent
}

// The communication thread: no PE, owns nothing but its time on the wire.
void process_runtime::communicate() {
  const auto spin_ticks = os::ns_to_ticks(static_cast<double>(values_.idle_spin_us) * 1000.0);
  std::uint64_t last_work = os::ticks();
  trace::wire_row* const row = traces_ == nullptr ? nullptr : traces_->wire();
  while (!communication_ends_.load(std::memory_order_acquire)) {  // pairs: runtime.communication_ends
    const std::uint64_t before = row == nullptr ? 0 : os::ticks();
    const bool worked = wire_->progress();
    if (row != nullptr) row->thread_worked(worked, before);
    if (worked) {
      last_work = os::ticks();
    } else if (!placement_.oversubscribed && os::ticks() - last_work < spin_ticks) {
      os::cpu_relax();
    } else if (wire_->prepare_sleep()) {
      wire_wakeup_->sleep(wire_->wake_descriptor(), wire_->sleep_at_most(-1));
    } else {
      std::this_thread::yield();
    }
  }
}

void process_runtime::start() {
  const int local_pes = pes_per_process();
  try {
    for (int i = 0; i < local_pes; ++i)
      pes_.push_back(std::make_unique<scheduler>(*this, process() * local_pes + i, i));
  } catch (const std::exception& error) {  // a record that cannot be written, or is none of this job
    fail(error.what());
  }
  // Every PE has its record before any program can fail: one without would not be the record of a job.
  if (order_ != nullptr && order_->records()) job_.barrier();
  phase_ = std::make_unique<pe_barriers>(local_pes);
  cpus_before_ = os::cpus_of_this_thread();
  offloads_ = std::make_unique<offload_thread>(cpus_before_);
  if (wire_ == nullptr) return;
  wire_->start_heartbeat();
  if (values_.comm_thread != config::communication_thread::off)
    communication_ = std::thread([this] {
      try {
        communicate();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    });
}

int process_runtime::run(const program& steps) {
  start();
  const auto body = [&](int i) {
    arena::cache_guard cache(i);
    try {
      run_pe(*pes_[static_cast<std::size_t>(i)], steps);
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("an exception that is not a std::exception left the program");
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < pes_per_process(); ++i) threads.emplace_back(body, i);
  body(0);
  for (auto& thread : threads) thread.join();
  return finish();
}

void process_runtime::begin(const program& steps) {
  if (pes_per_process() != 1) throw std::logic_error("trireme: a process that begins and ends a job has one PE");
  start();
  own_cache_ = std::make_unique<arena::cache_guard>(0);
  enter_pe(*pes_.front(), steps);
}

int process_runtime::end(const program& steps) {
  try {
    leave_pe(*pes_.front(), steps);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  own_cache_.reset();
  return finish();
}

// When the PEs have ended.
int process_runtime::finish() {
  if (communication_.joinable()) {
    communication_ends_.store(true, std::memory_order_release);  // pairs: runtime.communication_ends
    wakeup_socket::ring(wire_wakeup_->name());                   // kept by the kernel if it is not asleep yet
    communication_.join();
  }
  os::pin_this_thread(cpus_before_);
  job_.barrier();  // no process unmaps what others still read, and the reports below come after all output of the PEs
  if (values_.counters) print_counters();
  if (values_.footprint) print_footprint();
  wire_.reset();  // before the job: what carries it may be the launcher's, and end with the job
  job_.leave(exit_status_);
  return exit_status_;
}

namespace {
void send_status(pe& here, int destination, std::uint32_t handler, int exit_status) {
  here.send(destination, [&](envelope& message) {
    message.element = static_cast<std::uint64_t>(static_cast<std::uint32_t>(exit_status));
    message.handler = handler;
    message.kind = payload_kind::direct;
    message.flags = 0;
    message.bytes = 0;
  });
}
}  // namespace

void process_runtime::request_stop(int exit_status) { send_status(this_pe(), 0, stop_request, exit_status); }

void process_runtime::stop_all(pe& here, int exit_status) {
  if (std::exchange(stop_sent_, true)) return;
  for (int other = 0; other < processes(); ++other)
    send_status(here, other * pes_per_process(), stop_message, exit_status);
}

void process_runtime::stop_here(int exit_status) {
  exit_status_ = exit_status;
  // release: a PE that sees it also sees the status; a sleeping PE looks after it marked itself asleep. pairs:
  // runtime.stop
  stopping_.store(true, std::memory_order_release);
  for (const auto& other : pes_) other->record().inbox->wake_if_asleep();
}

// Mattern's double count, from memory instead of messages: all "processed" counts first, all "sent" counts afterwards.
// Each counted processing happened after its own sends were counted (counter::add releases, read acquires), so equal
// sums mean that nothing was on its way or running when the second sweep began. README.md has the proof.
message_counts process_runtime::counts_of_host() const {
  const int first = first_pe_of_host();
  const int last = first + pes_of_host();
  message_counts sums;
  // All processes of this host have records.
  const auto counters_of = [&](int pe) -> const counter_block& {
    return process_record_of(process_of(pe))->pe[pe % pes_per_process()]->counters;
  };
  for (int i = first; i < last; ++i) {
    sums.released += counters_of(i).released.read();
    sums.processed += counters_of(i).processed.read();
  }
  for (int i = first; i < last; ++i) {
    sums.sent += counters_of(i).sent.read();
    sums.held += counters_of(i).held.read();
  }
  return sums;
}

void runtime::fail(const std::string& message) const { static_cast<const process_runtime*>(this)->end_job(message); }

void process_runtime::end_job(const std::string& message) const {
  std::fflush(stdout);
  if (arena::in_forked_child()) {  // the job goes on
    std::fputs(fmt::format("trireme: a forked child of process {} ends: {}\n", process(), message).c_str(), stderr);
    _exit(1);
  }
  job_.fail(message);
}

// Messages that are kept back do not count as under way: if nothing else is, they will stay. Two sweeps that find the
// same long after each other leave no room for a message between them.
bool process_runtime::is_stalled(const message_counts& counts) {
  const std::int64_t now = os::now_ns();
  if (counts.processed != stall_->progress || stall_->since_ns == 0 || !counts.only_held_left()) {
    stall_->progress = counts.processed;
    stall_->since_ns = now;
    return false;
  }
  return static_cast<double>(now - stall_->since_ns) * 1e-9 >= values_.stall_report_s;
}

void process_runtime::check_for_stall(pe& here) {
  // Loop bodies may wait for results on several PEs at once; one of them looks after all.
  std::unique_lock looking(stall_->lock, std::try_to_lock);
  if (!looking.owns_lock()) return;
  if (values_.stall_report_s <= 0) return;
  if (hosts() == 1) {
    if (!is_stalled(counts_of_host())) return;
  } else if (!stall_->found) {
    constexpr std::int64_t between_questions_ns = 500'000'000;
    const std::int64_t now = os::now_ns();
    if (here.global_counts().is_running() || now - stall_->asked_hosts_ns < between_questions_ns) return;
    stall_->asked_hosts_ns = now;
    looking.unlock();
    // The report runs messages, which a handler cannot do: it is left to the next look.
    here.global_counts().begin(here, [this](const message_counts& counts) {
      std::lock_guard guard(stall_->lock);
      stall_->found = is_stalled(counts);
    });
    return;
  }
  std::string text =
      fmt::format("the program waits for a result that cannot come: for {} s no message has been in flight",
                  values_.stall_report_s);
  for (const auto& reporter : stall_reporters_) text += reporter();
  fail(text);
}

void process_runtime::print_counters() const {
  std::string text;
  for (int i = 0; i < pes_per_process(); ++i) {
    const int number = process() * pes_per_process() + i;
    text += fmt::format("counters of PE {}:", number);
    for_each_counter(record_of(number)->counters, [&](const char* name, const char*, std::uint64_t value) {
      text += fmt::format(" {}={}", name, value);
    });
    text += '\n';
  }
  if (wire_ != nullptr) text += wire_->report() + '\n';
  for (const auto& reporter : counter_reporters_) text += reporter() + '\n';
  std::fputs(text.c_str(), stderr);
}

void process_runtime::print_footprint() const {
  const arena::memory_footprint found = arena::measure_footprint(arena_->heap());
  std::fputs(fmt::format("memory of process {}: resident {} KiB, of it arena {} KiB ({} KiB allocated, limit {} KiB) "
                         "and private {} KiB; per PE {} KiB\n",
                         process(), found.resident_bytes >> 10, found.arena_resident_bytes >> 10,
                         found.arena_in_use_bytes >> 10, arena_->heap().limit_bytes() >> 10, found.private_bytes >> 10,
                         (found.resident_bytes >> 10) / static_cast<std::size_t>(pes_per_process()))
                 .append(footprint_by_pe())
                 .c_str(),
             stderr);
}

// What each PE has taken from the arena for blocks; those may be with others.
std::string process_runtime::footprint_by_pe() const {
  std::string line = fmt::format("arena of process {}, most at a time:", process());
  for (int i = 0; i < pes_per_process(); ++i)
    line += fmt::format(" PE {} {} KiB,", process() * pes_per_process() + i,
                        arena_->heap().most_bytes_of(static_cast<std::uint16_t>(i)) >> 10);
  return line + fmt::format(" other threads {} KiB, queues and records {} KiB\n",
                            arena_->heap().most_bytes_of(arena::guest_cache) >> 10,
                            arena_->heap().reserved_bytes() >> 10);
}

}  // namespace tri::sched
