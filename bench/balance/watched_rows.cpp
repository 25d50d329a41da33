// What `trireme top` costs the job that it watches: the same work in batches, watched and not watched in turns. The
// watcher is stopped while it is not to watch, so that it is always the same one.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "balance/rows.hpp"
#include "messages/pes.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/unique_fd.hpp"
#include "trireme/objects.hpp"

namespace tri::bench {
namespace {

class watcher {
 public:
  watcher(const std::string& program, const std::string& interval_s) {
    const os::unique_fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    os::start_request request;
    request.arguments = {program, "top", std::to_string(getpid()), "--json", "--interval", interval_s};
    request.output = nowhere.get();
    process_ = os::start_program(request);
  }
  ~watcher() { os::kill_and_wait(process_); }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  void watch(bool on) const { kill(process_, on ? SIGCONT : SIGSTOP); }
  /// It cannot be said of one that has ended that it watches.
  void check_alive() const {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)
      throw std::runtime_error("`trireme top` has ended, so it does not watch");
  }

 private:
  pid_t process_;
};

void compute_steps(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t step = 0; step < steps; ++step) {
    value = value * 3 + step;
    asm volatile("" : "+r"(value));
  }
}

struct worker : tri::group_member<worker> {
  void nothing() {}
  void compute(std::uint64_t steps) { compute_steps(steps); }
  // Each PE sends to the next one.
  void send_messages(std::uint64_t count) {
    const auto next = this_array()[(tri::this_pe() + 1) % tri::pe_count()];
    for (std::uint64_t i = 0; i < count; ++i) next.send<&worker::nothing>();
  }
  void send_methods(std::uint64_t count, std::uint64_t steps) {
    const auto self = this_array()[tri::this_pe()];
    for (std::uint64_t i = 0; i < count; ++i) self.send<&worker::compute>(steps);
  }
};

double time_of(const std::function<void()>& work) {
  const std::int64_t before = os::now_ns();
  work();
  tri::quiescence().get();
  return static_cast<double>(os::now_ns() - before);
}

// How often `work` is done in about so long.
std::uint64_t times_in(double ns, const std::function<void()>& work) {
  double best = time_of(work);
  for (int i = 0; i < 4; ++i) best = std::min(best, time_of(work));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(ns / best));
}

// A batch lasts as long as the watcher's interval, so each has one look.
measurement in_turns(context& tools, const std::string& program, int operations, const std::function<void()>& work) {
  const bool in_a_hurry = tools.runner().options().max_time_s <= 2;
  const std::uint64_t times = times_in(in_a_hurry ? 50e6 : 1e9, work);
  const watcher top(program, in_a_hurry ? "0.05" : "1");
  const auto batch = [&] {
    return time_of([&] {
             for (std::uint64_t i = 0; i < times; ++i) {
               work();
               if (i % 8 == 7) tri::quiescence().get();
             }
           }) /
           static_cast<double>(times) / operations;
  };
  measurement made;
  std::vector<double> ratios;
  for (int pair = -1, pairs = in_a_hurry ? 4 : 11; pair < pairs; ++pair) {
    double watched = 0, alone = 0;
    for (const bool on : {pair % 2 == 0, pair % 2 != 0}) {
      top.watch(on);
      (on ? watched : alone) = batch();
    }
    if (pair < 0) continue;  // it looks for the job
    made.samples.operation_ns.push_back(watched);
    ratios.push_back(watched / alone);
  }
  top.watch(true);
  top.check_alive();
  made.reference = comparison{"not watched", std::move(ratios)};
  return made;
}

// Steps of compute_steps that take about so long.
std::uint64_t steps_for(double ns) {
  constexpr std::uint64_t trial = 1 << 16;
  double best = 1e18;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = os::now_ns();
    compute_steps(trial);
    best = std::min(best, static_cast<double>(os::now_ns() - before));
  }
  return static_cast<std::uint64_t>(ns * trial / best);
}

measurement watch_messages(context& tools, const std::string& program) {
  constexpr int messages = 500;  // fewer than an inbox holds
  const auto all = tri::make_group<worker>();
  return in_turns(tools, program, messages, [&] { all.broadcast<&worker::send_messages>(messages); });
}
measurement watch_methods(context& tools, const std::string& program) {
  constexpr int methods = 100;
  const auto all = tri::make_group<worker>();
  const std::uint64_t steps = steps_for(10'000);
  return in_turns(tools, program, methods, [&] { all.broadcast<&worker::send_methods>(methods, steps); });
}

}  // namespace

std::vector<row_definition> watched_rows(const std::string& program) {
  constexpr double at_most_half_a_hundredth = 1.005;
  const auto row = [&](const char* name, const char* text, auto measure) {
    row_definition made{.name = name, .unit = "ns", .handoffs = 0, .description = text};
    made.measure = [program, measure](context& tools) { return measure(tools, program); };
    made.launch = two_threads;
    made.target_ratio = at_most_half_a_hundredth;
    return made;
  };
  return {row("watched/message", "a message to the other thread while `trireme top` watches, by one while it does not",
              watch_messages),
          row("watched/method_10us", "the same of methods of 10 us on both threads", watch_methods)};
}

}  // namespace tri::bench
