// The program of the job tests: joins a job and then does what its first argument says. Lines that tests look for are
// written with one write() each, so lines of several processes do not mix.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "boot/bootstrap_messages.hpp"
#include "boot/job.hpp"
#include "config/configuration.hpp"
#include "os/packet_socket.hpp"
#include "os/unique_fd.hpp"

namespace {

using namespace tri::boot;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(99);
}

int own_rank() {
  for (const char* variable : {tri::config::process_variable, "PMIX_RANK", "PMI_RANK"})
    if (const char* const text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

tri::os::unique_fd arena_with(const std::string& text) {
  tri::os::unique_fd memory(memfd_create("probe", MFD_CLOEXEC));
  if (write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(98);
  return memory;
}

std::string content_of(int fd) {
  char text[64] = {};
  const ssize_t length = pread(fd, text, sizeof text, 0);
  return length < 0 ? std::strerror(errno) : std::string(text, static_cast<std::size_t>(length));
}

// Every process writes into its arena and says what it reads in those of the others.
int exchange(const tri::config::configuration& values) {
  const tri::os::unique_fd arena = arena_with(fmt::format("memory-{}", own_rank()));
  job own = job::join(values, arena.get(), 7);
  own.barrier();
  std::string line = fmt::format("process {} of {} on host {} of {}, pes {}:", own.process(), own.processes(),
                                 own.host(), own.hosts(), own.pes_per_process());
  for (const peer& each : own.peers()) {
    line +=
        fmt::format(" {}.{}={}", each.host, each.local_rank, each.arena_fd < 0 ? "none" : content_of(each.arena_fd));
  }
  own.barrier();
  if (own.self().pid != getpid()) line += " wrong pid";
  say(line);
  own.barrier();
  own.leave(0);
  return 0;
}

// As a program that calls tri::run twice.
int join_twice(const tri::config::configuration& values) {
  for (int time = 1; time <= 2; ++time) {
    job own = job::join(values, -1, 7);
    own.barrier();
    say(fmt::format("joined {}", time));
    own.leave(0);
  }
  return 0;
}

std::vector<std::byte> address_for(int process) {
  return std::vector<std::byte>(static_cast<std::size_t>(process) * most_endpoint_address_bytes / 32,
                                static_cast<std::byte>(process));
}

// Every process but `silent` publishes an address, and some threads of each ask for all addresses, again and again,
// while another thread goes through barriers.
int show_addresses(const tri::config::configuration& values, int silent) {
  job own = job::join(values, -1, 7);
  if (own.process() != silent) own.publish_endpoint_address(address_for(own.process()));
  own.barrier();
  std::atomic<int> wrong = 0;
  const auto ask = [&] {
    for (int i = 0; i < 50 * own.processes(); ++i) {
      const int process = i % own.processes();
      if (process == silent && i >= own.processes()) continue;  // PMIx takes two seconds to say that there is none
      try {
        if (own.endpoint_address_of(process) != address_for(process) || process == silent) ++wrong;
      } catch (const job_error& problem) {
        if (process != silent ||
            problem.what() != fmt::format("process {} has not published its network address", silent))
          ++wrong;
      }
    }
  };
  std::thread first(ask), second(ask), third(ask);
  for (int i = 0; i < 100; ++i) own.barrier();
  for (std::thread* each : {&first, &second, &third}) each->join();
  own.barrier();
  say(fmt::format("process {}: {} wrong addresses", own.process(), wrong.load()));
  own.leave(0);
  return 0;
}

// The others wait for ever; only the launcher can end them.
[[noreturn]] void wait_for_ever() {
  while (true) pause();
}

void start_daemon() {
  if (fork() != 0) return;
  setsid();
  signal(SIGTERM, SIG_IGN);
  wait_for_ever();
}

// Sends garbage over a connection of its own before the process joins.
void send_garbage() {
  const tri::os::packet_socket untrusted = tri::os::packet_socket::connect(std::getenv(tri::config::job_variable));
  const char text[] = "this is no bootstrap message";
  untrusted.send(std::as_bytes(std::span(text)));
  const tri::os::packet answer = untrusted.receive();
  say("garbage: " + std::get<rejected_message>(decode(answer.bytes)).text);
}

// Runs this program again as a child that has our environment.
void run_nested(const char* program) {
  if (fork() == 0) {
    execl(program, program, "leave", "0", nullptr);
    _exit(97);
  }
  int status = 0;
  wait(&status);
  say(fmt::format("nested ended with status {}", WEXITSTATUS(status)));
}

int act(int argc, char** argv, tri::config::configuration values) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  const int status = argc > 3 ? std::atoi(argv[3]) : 0;
  const bool chosen = own_rank() == number;
  if (what == "exchange") return exchange(values);
  if (what == "twice") return join_twice(values);
  if (what == "addresses") return show_addresses(values, number);
  if (what == "exit_before_join" && chosen) _exit(status);
  if (what == "different_pes") values.pes = 1 + own_rank();
  if (what == "garbage" && chosen) send_garbage();

  job own = job::join(values, -1, what == "mismatch" && chosen ? 2 : 1);
  if (what == "leave") {
    own.leave(number);
    return number;
  }
  if (what == "barrier_after_leave" && chosen) {
    own.leave(0);
    wait_for_ever();
  }
  own.barrier();
  if (what == "garbage") {
    own.leave(0);
    return 0;
  }
  if (what == "nested" || what == "daemon") {
    if (chosen && what == "nested") run_nested(argv[0]);
    if (chosen && what == "daemon") start_daemon();
    own.barrier();
    own.leave(0);
    return 0;
  }
  // The chosen one says where it is, the others never stop. They say when they have written three times what a pipe
  // holds, so that the launcher must have what does not fit into the pipe behind it.
  if (what == "flood") {
    if (chosen) fmt::print(stderr, "pid {}\n", getpid());
    own.barrier();
    if (chosen) wait_for_ever();
    for (std::size_t lines = 0; true; ++lines) {
      say("a line");
      if (lines == 3 * 65536 / 7) fmt::print(stderr, "flooded\n");
    }
  }
  // The chosen one says where it is and waits for a signal, the others wait for it.
  if (what == "hang") {
    if (chosen) {
      signal(SIGUSR1, [](int) {});
      sigset_t usual, waiting;
      sigemptyset(&waiting);
      sigaddset(&waiting, SIGUSR1);
      sigprocmask(SIG_BLOCK, &waiting, &usual);
      fmt::print(stderr, "pid {}\n", getpid());
      sigsuspend(&usual);
    }
    own.barrier();
    own.leave(0);
    return 0;
  }
  if (what == "lines") {
    for (int i = 0; i < number; ++i) say(std::to_string(i));
    own.barrier();
    own.leave(0);
    return 0;
  }
  if (what == "ready") {
    say("ready");
    wait_for_ever();
  }
  if (what == "stubborn") {
    signal(SIGTERM, SIG_IGN);
    own.barrier();
    if (!chosen) wait_for_ever();
    kill(getpid(), SIGKILL);
  }
  if (what == "barrier_after_leave") own.barrier();
  if (!chosen) wait_for_ever();
  if (what == "crash") kill(getpid(), SIGKILL);
  if (what == "exit") _exit(status);
  if (what == "close") {
    {
      const job gone = std::move(own);
    }
    wait_for_ever();
  }
  if (what == "fail") {
    std::fputs("buffered output\n", stdout);
    own.fail("the disk is full");
  }
  fmt::print(stderr, "job_probe: unknown action '{}'\n", what);
  return 96;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const tri::config::configuration values = tri::config::configuration::from(argc, argv);
    return act(argc, argv, values);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "job_probe: {}\n", problem.what());
    return 95;
  }
}
