// A competitor of the suite `wire`: forks, pins leader and follower to a core each, lets them exchange addresses, and
// prints the leader's measurements. For the place `veth` each of the two gets a network namespace of its own, which
// ends with it, so nothing is left behind.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "boot/launcher_detection.hpp"
#include "boot/mpi/mpi_library.hpp"
#include "config/variable_names.hpp"
#include "framework/batches.hpp"
#include "framework/cacheline.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "wire/backend.hpp"
#include "wire/cache_backend.hpp"

namespace tri::bench {

std::string written(const wire_task& task) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", task.who, task.what, task.place, task.bytes,
                     task.coalesced ? 1 : 0, task.senders, task.memory, task.seconds, task.conduit, task.in_flight,
                     task.posted ? 1 : 0, task.division, task.credits);
}

wire_task read_wire_task(const std::string& text) {
  wire_task task;
  std::istringstream words(text);
  int coalesced = 0;
  if (!(words >> task.who >> task.what >> task.place >> task.bytes >> coalesced >> task.senders >> task.memory >>
        task.seconds))
    throw std::invalid_argument(fmt::format("'{}' is not a task of the suite wire", text));
  task.coalesced = coalesced != 0;
  if (int posted = 0; words >> task.conduit >> task.in_flight >> posted >> task.division >> task.credits)
    task.posted = posted != 0;
  const auto one_of = [&](const std::string& word, std::initializer_list<const char*> known) {
    for (const char* each : known)
      if (word == each) return;
    throw std::invalid_argument(fmt::format("'{}' in the task '{}' of the suite wire", word, text));
  };
  one_of(task.who, {"port", "raw_ucx", "mailbox"});
  one_of(task.what, {"one_way", "stream", "wake", "multi", "unexpected_flood", "cache", "exchange"});
  one_of(task.conduit, {"ucx", "tcp", "mpi"});
  one_of(task.place, {"loopback", "veth"});
  one_of(task.division, {"receiving", "funnelled", "all", "spread", "mixed", "separated", "undisturbed"});
  return task;
}

namespace {

void call(const char* what, bool succeeded) {
  if (!succeeded) throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

void run(const std::string& command) {
  const int status = os::wait_for(os::start_program({.arguments = {"sh", "-c", command}}));
  if (status != 0) throw std::runtime_error(fmt::format("'{}' ended with status {}", command, status));
}

/// Between leader and follower, before there is a network.
class side_channel {
 public:
  explicit side_channel(int descriptor) : descriptor_(descriptor) {}
  void say(std::span<const std::byte> bytes) {
    call("send", ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void say() { say(std::as_bytes(std::span("!", 1))); }
  std::vector<std::byte> hear() {
    std::vector<std::byte> bytes(65536);
    const ssize_t came = recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (came <= 0) throw std::runtime_error("the other process of the measurement has ended");
    bytes.resize(static_cast<std::size_t>(came));
    return bytes;
  }

 private:
  const int descriptor_;
};

// With a /sys of its own, where UCX looks for devices.
void enter_own_network() {
  call("a network namespace", unshare(CLONE_NEWNET | CLONE_NEWNS) == 0);
  call("a private /", mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) == 0);
  call("/sys", mount("trireme", "/sys", "sysfs", 0, nullptr) == 0);
}

void make_up(const char* device, int last_byte) {
  run(fmt::format("ip addr add 10.213.77.{}/24 dev {} && ip link set {} up && ip link set lo up", last_byte, device,
                  device));
  // An address taken before the link is up cannot be used.
  for (int tries = 0; tries < 500; ++tries) {
    std::string state;
    if (std::ifstream(fmt::format("/sys/class/net/{}/operstate", device)) >> state; state == "up") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error(fmt::format("the link {} did not come up", device));
}

std::unique_ptr<backend> ready(const wire_task& task, unsigned number, const cpu_pair& cpus, side_channel& other) {
  os::pin_this_thread(number == 0 ? cpus.first : cpus.second);
  std::unique_ptr<backend> made = task.what == "cache" ? make_cache_backend(task, number, cpus)
                                  : task.who == "port" ? make_port_backend(task, number, cpus)
                                                       : make_raw_ucx_backend(task, number);
  other.say(made->address());
  made->connect(other.hear());
  return made;
}

/// The leader's end of a cable to the namespace of a process that has entered its own and said so.
void connect_networks(const wire_task& task, pid_t follower, side_channel& other) {
  enter_own_network();
  other.hear();
  run(fmt::format("ip link add trireme0 type veth peer name trireme1 netns {}", follower));
  other.say();
  make_up(device_of(task, 0), 1);
  other.hear();
}

/// The follower's end.
void connect_networks(const wire_task& task, side_channel& leader) {
  enter_own_network();
  leader.say();
  leader.hear();
  make_up(device_of(task, 1), 2);
  leader.say();
}

/// A second process, and our end of a channel to it. `body` is given the other end; what it throws is printed.
std::pair<pid_t, side_channel> start_second(const char* what, const std::function<void(side_channel&)>& body) {
  int ends[2] = {};
  call("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const pid_t second = os::start_function([&] {
    close(ends[0]);
    side_channel leader(ends[1]);
    try {
      body(leader);
    } catch (const std::exception& failure) {
      fmt::print(stderr, "trireme bench wire, the second {}: {}\n", what, failure.what());
    }
    return 1;
  });
  close(ends[1]);
  return {second, side_channel(ends[0])};
}

void follow(const wire_task& task, const cpu_pair& cpus, side_channel& leader) {
  if (task.place == "veth") connect_networks(task, leader);
  ready(task, 1, cpus, leader)->serve(task.what == "wake");
}

void print_batch(double ns) {
  fmt::print("{}\n", ns);
  std::fflush(stdout);
}

void measure(backend& leader, const wire_task& task) {
  leader.ping_pong(100);  // connections, both ways
  if (task.what == "cache") return print_cache_batches(dynamic_cast<cache_backend&>(leader), task);
  if (task.what == "wake") {
    const std::int64_t end_ns = os::now_ns() + static_cast<std::int64_t>(task.seconds * 1e9);
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));  // so that the follower sleeps
      const std::int64_t start_ns = os::now_ns();
      leader.ping_pong(1);
      print_batch(static_cast<double>(os::now_ns() - start_ns));
    } while (os::now_ns() < end_ns);
    return;
  }
  const bool one_way = task.what == "one_way";
  // Threads that share a core take turns in slices of milliseconds.
  const batch_runner runner({.batch_time_ms = task.senders > 1                                        ? 50.0
                                              : task.bytes > 65536 || task.what == "unexpected_flood" ? 10.0
                                                                                                      : 2.0,
                             .warm_up_ms = 20,
                             .repetitions = 5,
                             .min_time_s = task.seconds,
                             .max_time_s = 2 * task.seconds});
  // For a stream of small messages the final answer must not dominate the measurement.
  const bool unexpected_flood = task.what == "unexpected_flood";
  const std::uint64_t unit = (task.what == "stream" || unexpected_flood) && task.bytes <= 4096 ? 1000
                             : unexpected_flood                                                ? 64
                                                                                               : 1;
  const samples measured = runner.time([&](std::uint64_t units) {
    if (one_way)
      leader.ping_pong(units);
    else if (task.what == "multi")
      leader.multi_ping_pong(units, static_cast<std::uint64_t>(task.in_flight));
    else
      leader.stream(units * unit);
  });
  for (const double ns : measured.operation_ns) print_batch(one_way ? ns / 2 : ns / static_cast<double>(unit));
}

// Becomes hydra, which starts this program in two network namespaces: its processes keep their connection to it in a
// namespace of their own, where those of Open MPI would not reach their daemon.
[[noreturn]] void become_launcher(const wire_task& task) {
  // Asked before / changes: in a changed root the system would name the file from outside afterwards.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  auto [second_network, other] = start_second("network", [&](side_channel& leader) {
    connect_networks(task, leader);
    leader.hear();
    for (;;) pause();  // keeps the namespace until hydra ends
  });
  connect_networks(task, second_network, other);
  other.say();
  // Device names differ, so both are allowed; NOLOCAL: MPICH must not find that both share a machine.
  for (const auto& [name, value] : {std::pair{"UCX_TLS", "tcp"}, std::pair{"UCX_NET_DEVICES", "trireme0,trireme1"},
                                    std::pair{"UCX_WARN_INVALID_CONFIG", "n"}, std::pair{"MPIR_CVAR_NOLOCAL", "1"}})
    setenv(name, value, 1);
  const std::string second = std::to_string(second_network), text = written(task);
  execlp("mpirun.mpich", "mpirun.mpich", "-n", "1", self.c_str(), "bench", "--wire-competitor", text.c_str(), ":", "-n",
         "1", "nsenter", "-t", second.c_str(), "-n", "-m", "-r", self.c_str(), "bench", "--wire-competitor",
         text.c_str(), nullptr);
  throw std::runtime_error(fmt::format("cannot start mpirun.mpich: {}", std::strerror(errno)));
}

// Both processes are started by mpirun or mpiexec, and end as MPI requires.
int serve_over_mpi(const wire_task& task) {
  const auto launcher = boot::detect_launcher(config::environment_of_this_process()).kind;
  if (launcher == boot::launcher_kind::none && task.place == "veth") become_launcher(task);
  boot::mpi_calls& mpi = boot::start_mpi("auto", launcher);
  if (mpi.size() != 2) throw std::runtime_error(fmt::format("{} processes; the measurement needs 2", mpi.size()));
  const cpu_pair cpus = two_cpus();
  os::pin_this_thread(mpi.rank() == 0 ? cpus.first : cpus.second);
  std::unique_ptr<backend> own = make_port_backend(task, static_cast<unsigned>(mpi.rank()), cpus);
  own->connect(mpi.exchange(own->address())[static_cast<std::size_t>(1 - mpi.rank())]);
  if (mpi.rank() == 0) {
    measure(*own, task);
    own->stop();
    // MPI_Finalize of MPICH 4.0 over TCP of UCX may never return on a busy machine, also in programs without us: one
    // rank waits in it for progress of another one that is beyond that.
    fmt::print("{}\n", end_of_measurement);
    std::fflush(stdout);
  } else {
    own->serve(task.what == "wake");
  }
  own.reset();
  mpi.finalize();
  return 0;
}

}  // namespace

int serve_as_wire_competitor(const std::string& text) {
  pid_t follower = -1;
  try {
    const wire_task task = read_wire_task(text);
    if (task.conduit == "mpi") return serve_over_mpi(task);
    if (task.who == "mailbox") return serve_over_mailboxes(task);
    const cpu_pair cpus = two_cpus();
    auto [second, other] = start_second("process", [&](side_channel& leader) { follow(task, cpus, leader); });
    follower = second;
    if (task.place == "veth") connect_networks(task, follower, other);
    const std::unique_ptr<backend> leader = ready(task, 0, cpus, other);
    measure(*leader, task);
    std::fflush(stdout);
    os::kill_and_wait(follower);
    _exit(0);  // the other side is gone, so there is nothing to end cleanly
  } catch (const std::exception& failure) {
    fmt::print(stderr, "trireme bench wire: {}\n", failure.what());
    if (follower > 0) os::kill_and_wait(follower);
    return 1;
  }
}

}  // namespace tri::bench
