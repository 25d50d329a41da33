#include "omp/fibers/virtual_mode.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "omp/fibers/unsupported_constructs.hpp"
#include "omp/fibers/virtual_count.hpp"
#include "omp/fibers/virtual_region.hpp"
#include "omp/fibers/virtual_watchdog.hpp"
#include "omp/native_runtime.hpp"
#include "omp/settings.hpp"
#include "schedules/worksharing_loop.hpp"

namespace tri::omp {

std::atomic<virtual_state> virtual_mode{virtual_state::undecided};

namespace {

constexpr int bad_setting_status = 2;

std::uint32_t asked_for = 0;  // k; 0: not requested
virtual_settings settings_now;
control_variables first_control;  // initial values of every thread of the program; written like settings_now

struct thread_control {
  control_variables variables;
  bool begun = false;  // with first_control, which is known when virtual threads are on
};
thread_local thread_control control_of_thread [[gnu::tls_model("initial-exec")]];

std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "?";
}

int ask_native(const char* name) {
  void* const parallel = find_native_function("GOMP_parallel");
  void* const found = parallel != nullptr ? find_beside(parallel, name) : nullptr;
  if (found == nullptr) report_missing(name);
  return reinterpret_cast<int (*)()>(found)();
}

int spins_for(std::uint32_t carriers) {
  constexpr int patient = 100;  // moments of rest; about 50 us
  constexpr int crowded = 1;
  const char* const policy = std::getenv("OMP_WAIT_POLICY");
  const std::string_view text = policy != nullptr ? policy : "";
  if (text == "passive" || text == "PASSIVE") return 0;
  // Asked of the runtime: when it binds threads, this one may already be bound to a single processor.
  if (static_cast<std::uint32_t>(std::max(1, ask_native("omp_get_num_procs"))) < carriers) return crowded;
  return text == "active" || text == "ACTIVE" ? 100 * patient : patient;
}

// Empty: they can be.
std::string prepare() {
  if (find_native_function("GOMP_parallel") == nullptr) return "its OpenMP runtime has no GOMP_parallel";
  const program_traits traits = look_at_program(reinterpret_cast<const void*>(&decide_virtual_mode));
  if (!traits.unsupported.empty()) return traits.unsupported;
  if (ask_native("omp_get_cancellation") != 0) return "cancellation is switched on (OMP_CANCELLATION)";
  const auto wanted = static_cast<std::uint32_t>(std::max(1, ask_native("omp_get_max_threads")));
  const auto limit = static_cast<std::uint32_t>(std::max(1, ask_native("omp_get_thread_limit")));
  settings_now.per_carrier = asked_for;
  settings_now.carriers = std::min(wanted, limit);
  if (std::uint64_t{settings_now.carriers} * asked_for > schedules::most_worksharing_threads) {
    return fmt::format("{} times {} threads are too many: at most {} are possible", asked_for, settings_now.carriers,
                       schedules::most_worksharing_threads);
  }
  settings_now.most_contexts = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(schedules::most_worksharing_threads, std::uint64_t{limit} * asked_for));
  settings_now.parallel = ask_native("omp_get_max_active_levels") > 0;
  settings_now.started_may_move = !traits.keeps_errno;
  settings_now.spins = spins_for(settings_now.carriers);
  first_control.threads = static_cast<int>(settings_now.carriers * asked_for);
  first_control.dynamic = ask_native("omp_get_dynamic") != 0;
  return "";
}

}  // namespace

const virtual_settings& the_virtual_settings() { return settings_now; }

control_variables& outer_control() {
  thread_control& own = control_of_thread;
  if (!own.begun && virtual_mode.load(std::memory_order_acquire) == virtual_state::on) {  // pairs: virtual_mode.decide
    own.begun = true;
    own.variables.threads = first_control.threads;
    own.variables.dynamic = first_control.dynamic;
  }
  return own.variables;
}

void read_virtual_request() {
  const char* const text = std::getenv(virtual_variable);
  if (text == nullptr || *text == '\0') {
    virtual_mode.store(virtual_state::off, std::memory_order_relaxed);  // relaxed: publishes no other data
    return;
  }
  try {
    if (text == virtual_automatic) {
      throw std::invalid_argument(
          fmt::format("{}: '{}' needs `trireme exec --omp`, which samples the cores before the program begins; without "
                      "that command it must be a whole number",
                      virtual_variable, text));
    }
    asked_for = parse_virtual_count(virtual_variable, text);
    if (!has_virtual_api_routines()) {
      throw std::invalid_argument(fmt::format(
          "{}: needs libtrireme-omp-virtual.so in LD_PRELOAD in the place of libtrireme-omp.so, as `trireme "
          "exec --omp --virtual {}` puts it there",
          virtual_variable, asked_for));
    }
    if (!the_settings().takes) throw native_schedule_problem(virtual_variable);
    settings_now.stall_s = stall_seconds(std::getenv(stall_variable));
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme omp: {}\n", problem.what());
    _exit(bad_setting_status);
  }
}

virtual_state decide_virtual_mode() {
  static std::mutex deciding;
  const std::lock_guard held(deciding);
  virtual_state state = virtual_mode.load(std::memory_order_relaxed);  // relaxed: under the lock
  if (state != virtual_state::undecided) return state;
  if (asked_for == 0) read_virtual_request();  // the program is ahead of our constructor
  state = virtual_state::off;
  if (asked_for != 0) {
    const std::string unsupported = prepare();
    if (unsupported.empty()) {
      state = virtual_state::on;
    } else {
      fmt::print(stderr, "trireme omp: no virtual threads for {} (process {}): {}\n", program_name(), getpid(),
                 unsupported);
    }
  }
  virtual_mode.store(state, std::memory_order_release);  // virtual_mode.decide
  return state;
}

void print_virtual_report() {
  if (virtual_mode.load(std::memory_order_acquire) != virtual_state::on) return;  // pairs: virtual_mode.decide
  const virtual_totals totals = counted_so_far();
  fmt::print(
      stderr,
      "trireme omp: {} (process {}), virtual threads: {} for each of {} threads{}: regions {} (of one thread {}), "
      "virtual threads run {}, stolen {}, suspended {}, tasks run at once {}\n",
      program_name(), getpid(), settings_now.per_carrier, settings_now.carriers,
      settings_now.started_may_move ? "" : " (errno is used: only those that have not begun move)", totals.regions,
      totals.of_one, totals.contexts, totals.stolen, totals.suspended, totals.tasks);
  const std::uint64_t of_many = totals.regions - totals.of_one;
  if (settings_now.per_carrier > 1 && of_many > 0 && totals.contexts <= of_many * settings_now.carriers) {
    fmt::print(stderr,
               "  the program asks for no more threads than there are itself (num_threads, omp_set_num_threads or an "
               "option of its own), so that no virtual thread can help another: let it ask for {}\n",
               settings_now.carriers * settings_now.per_carrier);
  }
}

void forget_virtual_counts() { forget_totals(); }

}  // namespace tri::omp
