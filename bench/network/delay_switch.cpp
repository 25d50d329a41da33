// The network between hosts that are network namespaces of this machine, with a delay that the kernel need not have
// (netem): makes a device `eth0` in each of them and is the switch between them until SIGTERM or SIGINT, or until its
// parent ends. Says `ready` on standard output when the devices are there; the caller gives them addresses.
//   trireme-delay-switch --delay-us 50 [--counters FILE] NAMESPACE NAMESPACE ...
// It runs with a real-time priority, where that is permitted: ranks that spin on all cores do not hold up a cable.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "network/ethernet_switch.hpp"
#include "network/tap_device.hpp"
#include "os/clock.hpp"
#include "os/output_file.hpp"
#include "os/unique_fd.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t most_held_bytes = std::size_t{256} << 20;
constexpr std::int64_t longest_sleep_ns = 1'000'000'000;
constexpr int frames_of_a_turn = 16;  // read from one host before frames of others are looked at

os::unique_fd ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return os::unique_fd(signalfd(-1, &set, SFD_CLOEXEC));
}

// Sleeps end when they are to end. Without the priority the switch is as good as the load of the machine lets it be.
void run_as_hardware() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param lowest{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0)
    fmt::print(stderr, "trireme-delay-switch: no real-time priority here; delays are longer on a busy machine\n");
}

bool send_frame(int tap, std::span<const std::byte> frame) {
  ssize_t written = 0;
  do written = write(tap, frame.data(), frame.size());
  while (written < 0 && errno == EINTR);
  const bool is_down = written < 0 && errno == EIO;  // its host has not brought the device up yet: not our loss
  return written == static_cast<ssize_t>(frame.size()) || is_down;
}

// How long to sleep for something that is due at a time. A virtual machine wakes up tens of microseconds late when it
// was idle, and at once when it was not: so sleeps are shorter by as much as the last ones were too long, and what is
// left is polled for.
class alarm_clock {
 public:
  // 0: poll.
  std::int64_t sleep_until(std::int64_t due_ns, std::int64_t now_ns) {
    if (due_ns - late_ns_ <= now_ns) return 0;
    const std::int64_t sleep_ns = std::min(due_ns - late_ns_ - now_ns, longest_sleep_ns);
    wanted_ns_ = now_ns + sleep_ns;
    return sleep_ns;
  }
  void woke(std::int64_t now_ns) {
    if (now_ns < wanted_ns_) return;  // polled
    late_ns_ += (std::min(now_ns - wanted_ns_, most_late_ns) - late_ns_) / 8;
    wanted_ns_ = std::numeric_limits<std::int64_t>::max();
  }

 private:
  static constexpr std::int64_t most_late_ns = 100'000;
  std::int64_t late_ns_ = 0;
  std::int64_t wanted_ns_ = std::numeric_limits<std::int64_t>::max();
};

void forward(const std::vector<os::unique_fd>& taps, const os::unique_fd& signals, ethernet_switch& frames) {
  std::vector<pollfd> ready(taps.size() + 1);
  for (std::size_t port = 0; port < taps.size(); ++port) ready[port] = {taps[port].get(), POLLIN, 0};
  ready.back() = {signals.get(), POLLIN, 0};
  std::vector<std::byte> buffer(most_tap_frame_bytes);
  const auto send = [&](std::size_t port, std::span<const std::byte> frame) {
    return send_frame(taps[port].get(), frame);
  };
  alarm_clock alarm;
  for (;;) {
    const std::int64_t sleep_ns = alarm.sleep_until(frames.next_ns(), os::now_ns());
    const timespec limit{sleep_ns / 1'000'000'000, sleep_ns % 1'000'000'000};
    const int count = ppoll(ready.data(), ready.size(), &limit, nullptr);
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "ppoll");
    if (count == 0) alarm.woke(os::now_ns());
    if ((ready.back().revents & POLLIN) != 0) return;
    frames.leave(os::now_ns, send);
    for (std::size_t port = 0; port < taps.size(); ++port) {
      if ((ready[port].revents & POLLIN) == 0) continue;
      for (int turn = 0; turn < frames_of_a_turn; ++turn) {
        const ssize_t size = read(taps[port].get(), buffer.data(), buffer.size());
        if (size <= 0) break;
        frames.arrive(port, {buffer.data(), static_cast<std::size_t>(size)}, os::now_ns());
      }
      frames.leave(os::now_ns, send);
    }
  }
}

void write_counters(const std::string& file, std::int64_t delay_ns, const switch_counters& counted) {
  const bool any = counted.left > 0;
  const nlohmann::json all{{"delay_ns", delay_ns},
                           {"frames", counted.frames},
                           {"bytes", counted.bytes},
                           {"dropped", counted.dropped},
                           {"least_held_ns", any ? counted.least_held_ns : 0},
                           {"mean_held_ns", any ? counted.all_held_ns / static_cast<std::int64_t>(counted.left) : 0},
                           {"most_held_ns", counted.most_held_ns}};
  os::write_output_file(file, all.dump(1) + '\n');
}

int run(int argc, char** argv) {
  CLI::App program("The switch between network namespaces, with a delay.", "trireme-delay-switch");
  double delay_us = 0;
  std::string counters;
  std::vector<std::string> namespaces;
  program.add_option("--delay-us", delay_us, "added to the way of each frame")->check(CLI::Range(0.0, 1e6));
  program.add_option("--counters", counters, "written at the end, as JSON");
  program.add_option("namespaces", namespaces, "names of `ip netns`")->required();
  CLI11_PARSE(program, argc, argv);
  const os::unique_fd signals = ending_signals();
  std::vector<os::unique_fd> taps;
  for (const std::string& each : namespaces) taps.push_back(open_tap(each));
  run_as_hardware();
  const auto delay_ns = static_cast<std::int64_t>(delay_us * 1e3);
  ethernet_switch frames(taps.size(), delay_ns, tap_header_bytes, most_held_bytes);
  fmt::print("ready\n");
  std::fflush(stdout);
  forward(taps, signals, frames);
  if (!counters.empty()) write_counters(counters, delay_ns, frames.counters());
  return 0;
}

}  // namespace
}  // namespace tri::bench

int main(int argc, char** argv) {
  try {
    return tri::bench::run(argc, argv);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme-delay-switch: {}\n", problem.what());
    return 1;
  }
}
