#include "loops/team.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>

#include "arena/wait_policy.hpp"
#include "board/board_layout.hpp"
#include "board/board_pe.hpp"
#include "loops/loop_reporter.hpp"
#include "loops/loop_tuning.hpp"
#include "os/cgroup.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "sched/idle_limits.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/loops/loop_record.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::loops {
namespace {

thread_local loop_participant* this_worker = nullptr;

std::uint32_t participants_of(const team_options& options) {
  constexpr std::uint32_t most = board::most_pes - team::most_guests;  // the board has no more slots
  if (options.participants > 0) return std::min(most, static_cast<std::uint32_t>(options.participants));
  const auto cpus = static_cast<double>(os::cpus_of_this_thread().size());
  const double wanted = std::max(1.0, std::min(cpus, std::ceil(os::cpu_quota().value_or(cpus))));
  return std::min(most, static_cast<std::uint32_t>(wanted));
}

board::board_shape shape_of(std::uint32_t participants) {
  board::board_shape shape;
  shape.process_of_pe.assign(participants + team::most_guests, 0);
  return shape;
}

// By trial: the mask of the calling thread may be narrower than that of the process.
void check_cpus(const std::string& list, const std::vector<int>& cpus) {
  const std::vector<int> own = os::cpus_of_this_thread();
  const auto may_run_on = [](int cpu) {
    try {
      os::pin_this_thread(cpu);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  const auto wrong = std::ranges::find_if_not(cpus, may_run_on);
  os::pin_this_thread(own);
  if (wrong != cpus.end())
    throw config::configuration_error(
        fmt::format("affinity '{}' has CPU {}, which this process may not use", list, *wrong));
}

}  // namespace

team_options team_options_of_environment() {
  int argc = 0;
  char* none[] = {nullptr};
  const config::configuration values = config::configuration::from(argc, none);
  set_loop_report(values.loops_report, values.loops_report_file);
  set_loop_tuning(values.loops_schedule, values.loops_tune);
  team_options options;
  options.participants = values.pes;
  options.idle = values.idle;
  options.idle_spin_us = values.idle_spin_us;
  if (values.affinity != "auto" && values.affinity != "none") {
    try {
      options.cpus = os::parse_cpu_list(values.affinity);
    } catch (const std::invalid_argument& problem) {
      throw config::configuration_error(fmt::format("affinity: {}; or write auto or none", problem.what()));
    }
    check_cpus(values.affinity, options.cpus);
    if (options.participants == 0) options.participants = static_cast<int>(options.cpus.size());
  }
  return options;
}

class team::worker : public loop_participant {
 public:
  worker(team& owner, board::board_pe board, std::uint32_t participants)
      : loop_participant(board_, 0, participants, true), owner_(owner), board_(std::move(board)) {}
  void wake(std::uint32_t count) override { owner_.wake(count); }
  bool any_idle() const override { return owner_.any_idle(); }

  alignas(64) arena::sleeper sleep;
  std::atomic<bool> busy{false};

 private:
  team& owner_;
  board::board_pe board_;
};

class team::guest : public loop_participant {
 public:
  guest(team& owner, board::board_pe board, std::uint32_t slot)
      : loop_participant(board_, 0, owner.participants(), true), owner_(owner), board_(std::move(board)), slot_(slot) {}
  // release: the next one in this slot uses the slots after us. pairs: team.join
  ~guest() override { owner_.guests_.fetch_and(~(1u << slot_), std::memory_order_release); }
  void wake(std::uint32_t count) override { owner_.wake(count); }
  bool any_idle() const override { return owner_.any_idle(); }

 private:
  team& owner_;
  board::board_pe board_;
  std::uint32_t slot_;
};

team::mapping::mapping(std::size_t size) : bytes(size) {
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
}
team::mapping::~mapping() { munmap(memory, bytes); }

team::team(const team_options& options)
    : options_(options),
      participants_(participants_of(options)),
      memory_(board::board::required_bytes(shape_of(participants_))),
      board_(
          board::board::initialise({static_cast<std::byte*>(memory_.memory), memory_.bytes}, shape_of(participants_))) {
  for (std::uint32_t number = 1; number < participants_; ++number)
    workers_.push_back(std::make_unique<worker>(*this, board_.join(number), participants_));
  try {
    for (std::uint32_t number = 1; number < participants_; ++number)
      threads_.emplace_back([this, number] { work(number); });
  } catch (...) {
    stop();
    throw;
  }
}

team::~team() { stop(); }

void team::stop() {
  // seq_cst with the load in sleep(): a worker that fell asleep before is rung below. pairs: team.stop
  stopping_.store(true, std::memory_order_seq_cst);
  for (auto& each : workers_) each->sleep.ring();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<loop_participant> team::join() {
  std::uint32_t taken = guests_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  for (;;) {
    const auto slot = static_cast<std::uint32_t>(std::countr_one(taken));
    if (slot >= most_guests) return nullptr;
    // acquire: pairs with the release of the slot's previous owner (team.join)
    if (guests_.compare_exchange_weak(taken, taken | (1u << slot), std::memory_order_acquire,
                                      std::memory_order_relaxed))
      return std::make_unique<guest>(*this, board_.join(participants_ + slot), slot);
  }
}

void team::wake(std::uint32_t count) {
  // The poster set its bit on the board before this look, the sleeper counts itself before its look at the board; both
  // pairs are seq_cst. Its mark is older than its count. pairs: team.sleep
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  for (auto& each : workers_) {
    if (count == 0) return;
    if (each->sleep.wake()) --count;
  }
}

bool team::any_idle() const {
  // relaxed: a snapshot, old when it is returned
  return std::ranges::any_of(workers_, [](const auto& each) { return !each->busy.load(std::memory_order_relaxed); });
}

void team::sleep(worker& self) {
  self.sleep.prepare_sleep();
  sleepers_.fetch_add(1, std::memory_order_seq_cst);  // pairs: team.sleep
  if (self.board().has_work_before_sleep())
    sched_yield();                                      // work that only others may do: they may need this core
  else if (!stopping_.load(std::memory_order_seq_cst))  // pairs: team.sleep, team.stop
    self.sleep.sleep();
  sleepers_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a late look only rings once more
  self.sleep.awake();
}

void team::work(std::uint32_t number) {
  worker& self = *workers_[number - 1];
  this_worker = &self;
  if (!options_.cpus.empty()) os::pin_this_thread(options_.cpus[number % options_.cpus.size()]);
  const bool oversubscribed = participants_ > os::cpus_of_this_thread().size() && options_.cpus.empty();
  arena::wait_policy waiting(
      sched::idle_limits(options_.idle, oversubscribed, os::ns_to_ticks(1000.0 * options_.idle_spin_us)));
  // relaxed: only the end of waiting; a sleeper looks again, seq_cst
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (self.board().has_work()) {
      self.busy.store(true, std::memory_order_relaxed);  // relaxed: a hint for any_idle()
      self.depth = 1;
      const bool worked = self.board().help() > 0;
      self.depth = 0;
      self.busy.store(false, std::memory_order_relaxed);  // relaxed: as above
      if (worked) {
        waiting.busy();
        continue;
      }
    }
    switch (waiting.next(os::ticks())) {
      case arena::wait_step::poll:
        os::cpu_relax();
        break;
      case arena::wait_step::yield:
        sched_yield();
        break;
      case arena::wait_step::sleep:
        sleep(self);
        break;
    }
  }
}

namespace {

// The team and the slots of threads in it. A child of fork() has no workers: it drops both and starts afresh. The team
// is never destroyed: other threads may be in a loop while the process ends, and sleeping workers block nothing.
struct process_team {
  std::mutex starting;
  team* running = nullptr;
  std::atomic<team*> ready{nullptr};
  std::atomic<std::uint32_t> generation{0};  // of the process, counts forks
};
process_team& shared_team() {
  static process_team* const only = new process_team;  // nor is this
  return *only;
}

void forget_team_in_child() {
  process_team& shared = shared_team();
  new (&shared.starting) std::mutex;                       // may have been held by a thread that does not exist here
  shared.running = nullptr;                                // its threads do not exist here either
  shared.ready.store(nullptr, std::memory_order_relaxed);  // relaxed: one thread
  shared.generation.fetch_add(1, std::memory_order_relaxed);
}

// A PE shares with the PEs of its process.
class pe_member : public loop_participant {
 public:
  explicit pe_member(sched::pe& here)
      : loop_participant(here.board(), first_of(here), static_cast<std::uint32_t>(here.job().pes_per_process()), false),
        here_(here) {}
  void wake(std::uint32_t count) override { here_.job().process_record_of(here_.job().process())->wake(count); }
  bool any_idle() const override {
    const sched::process_record& own = *here_.job().process_record_of(here_.job().process());
    // relaxed: a snapshot, old when it is returned
    return std::ranges::any_of(own.idle_pes,
                               [](const auto& word) { return word.load(std::memory_order_relaxed) != 0; });
  }
  const sched::pe& where() const { return here_; }

 private:
  static std::uint32_t first_of(sched::pe& here) {
    return here.board().pe() - static_cast<std::uint32_t>(here.local_number());
  }
  sched::pe& here_;
};

// Destructors of static objects and of other thread-local ones may run loops after the slot has gone.
thread_local bool slot_is_gone = false;

// A thread's state between its loops.
struct thread_slot {
  std::unique_ptr<pe_member> on_pe;
  std::shared_ptr<loop_participant> in_team;  // started loops keep it as well
  std::uint64_t job = 0;                      // of on_pe
  std::uint32_t generation = 0;
  ~thread_slot() {
    slot_is_gone = true;
    // A slot in the team of the parent of a fork is none.
    if (generation != shared_team().generation.load(std::memory_order_relaxed)) leave_to_parent(in_team);
  }
};
thread_local thread_slot own_slot;

}  // namespace

namespace {

// A plain program does not catch an exception of its first loop, and no later loop would succeed. Not by exit():
// destructors of static objects may run loops, and other threads may be in them.
team_options options_or_end() {
  try {
    return team_options_of_environment();
  } catch (const std::exception& problem) {
    std::fflush(stdout);
    fmt::print(stderr, "trireme: {}\n", problem.what());
    _exit(2);
  }
}

}  // namespace

team& team_of_process() {
  process_team& shared = shared_team();
  if (team* const running = shared.ready.load(std::memory_order_acquire)) return *running;  // pairs: team.ready
  const std::lock_guard guard(shared.starting);
  if (shared.running == nullptr) {
    static const bool registered = [] { return pthread_atfork(nullptr, nullptr, forget_team_in_child) == 0; }();
    (void)registered;
    shared.running = new team(options_or_end());
    shared.ready.store(shared.running, std::memory_order_release);  // pairs: team.ready
  }
  return *shared.running;
}

loop_participant* this_participant() {
  if (this_worker != nullptr) return this_worker;
  if (slot_is_gone) [[unlikely]]
    return nullptr;
  thread_slot& slot = own_slot;
  if (sched::detail::this_pe != nullptr) {
    sched::pe& here = *sched::detail::this_pe;
    // The PE of a later job may be at the same address.
    if (slot.on_pe == nullptr || &slot.on_pe->where() != &here || slot.job != here.job().number()) {
      slot.on_pe = std::make_unique<pe_member>(here);
      slot.job = here.job().number();
    }
    return slot.on_pe.get();
  }
  process_team& shared = shared_team();
  const std::uint32_t generation = shared.generation.load(std::memory_order_relaxed);  // relaxed: changed by fork only
  if (slot.in_team != nullptr) {
    if (slot.generation == generation) return slot.in_team.get();
    leave_to_parent(slot.in_team);
  }
  slot.in_team = team_of_process().join();
  slot.generation = generation;
  return slot.in_team.get();
}

std::uint32_t participant_bound() {
  if (const loop_participant* const me = this_participant()) return me->participants();
  // Without a slot a thread runs its loops alone. But slots are released: the next loop may find one.
  return slot_is_gone ? 1 : team_of_process().participants();
}

bool any_participant_is_idle() {
  const loop_participant* const me = this_participant();
  return me != nullptr && me->any_idle();
}

std::shared_ptr<loop_participant> share_slot(const loop_participant& me) {
  return own_slot.in_team.get() == &me ? own_slot.in_team : nullptr;
}

void leave_to_parent(std::shared_ptr<loop_participant>& slot) {
  static_cast<void>(new std::shared_ptr<loop_participant>(std::move(slot)));
}

std::uint32_t process_generation() {
  return shared_team().generation.load(std::memory_order_relaxed);  // relaxed: changed by fork only
}

}  // namespace tri::loops
