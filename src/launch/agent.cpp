#include "launch/agent.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "config/variable_names.hpp"
#include "launch/host_link.hpp"
#include "launch/host_memory.hpp"
#include "launch/launcher_mode.hpp"
#include "launch/local_processes.hpp"
#include "launch/peer_timeouts.hpp"
#include "os/clock.hpp"
#include "os/standard_output.hpp"

namespace tri::launch {
namespace {

// The most output in flight to the launcher; beyond it the processes block on their pipes, as with any reader.
constexpr std::int64_t most_output_on_its_way = std::int64_t{1} << 20;

constexpr int the_launcher = -1;  // its number among the monitored peers

std::string bytes_of(const boot::bootstrap_message& message) {
  const std::vector<std::byte> bytes = encode(message);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int number_of(const link_message& message, std::size_t word) {
  int number = 0;
  if (word < message.words.size()) {
    const std::string& text = message.words[word];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  throw boot::protocol_error("a number is missing in the description of the job");
}

class agent final : public process_events {
 public:
  explicit agent(figures_source figures)
      : figures_(std::move(figures)),
        link_(os::unique_fd(dup_of(STDIN_FILENO)), os::unique_fd(dup_of(STDOUT_FILENO))) {}

  int run() {
    while (phase_ != phase::over) {
      std::vector<pollfd> watched{{mode_.signals(), POLLIN, 0}};
      link_.watch(watched);
      if (here_ && phase_ == phase::serving) here_->watch(watched);
      if (poll(watched.data(), watched.size(), wait_ms()) < 0 && errno != EINTR)
        throw std::system_error(errno, std::generic_category(), "cannot wait for the processes of the job");
      const bool open = link_.receive();
      if (phase_ == phase::serving) read_link();
      take_signals();  // after the launcher's last request, which may have come with the end of the remote shell
      if (!open && (phase_ == phase::serving || link_.waiting())) stop("the launcher is gone");
      if (here_ && phase_ == phase::serving) {
        here_->collect();
        here_->read_output();
      }
      link_.flush();
      keep_time();
    }
    return status_;
  }

 private:
  // Serving: executes the launcher's requests. Flushing: the processes have ended, and the launcher reads the rest of
  // their output. Over: finished.
  enum class phase { serving, flushing, over };

  static int dup_of(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

  void started(int process, pid_t pid) override { link_.send({link_kind::started, process, pid, "", {}}); }
  void said(int process, pid_t pid, const boot::bootstrap_message& message) override {
    link_.send({link_kind::said, process, pid, bytes_of(message), {}});
  }
  void disconnected(int process) override { link_.send({link_kind::disconnected, process, 0, "", {}}); }
  void broke_protocol(int process, const std::string& text) override {
    link_.send({link_kind::broke, process, 0, text, {}});
  }
  void exited(int process, int wait_status) override { link_.send({link_kind::exited, process, wait_status, "", {}}); }
  void stopped(int process, bool stopped) override {
    link_.send({link_kind::stopped, process, stopped ? 1 : 0, "", {}});
  }
  void printed(int process, bool error, std::string_view text) override {
    output_on_its_way_ += static_cast<std::int64_t>(text.size());
    link_.send({link_kind::printed, process, error ? 1 : 0, std::string(text), {}});
  }
  bool wants_output(bool) override { return phase_ != phase::serving || output_on_its_way_ < most_output_on_its_way; }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(mode_.signals(), &info, sizeof info) == sizeof info)
      if (static_cast<int>(info.ssi_signo) != SIGCHLD) stop("the agent was ended by a signal");
  }

  void read_link() {
    if (!greeted_) {
      const std::size_t end = link_.received().find('\n');
      if (end == std::string::npos) return;
      link_.send_raw(greeting_of_agent(token_of_greeting(std::string_view(link_.received()).substr(0, end))));
      link_.received().erase(0, end + 1);
      greeted_ = true;
    }
    while (phase_ == phase::serving) {
      const std::optional<link_message> message = take_frame(link_.received());
      if (!message) return;
      if (timeouts_) timeouts_->begins(the_launcher, os::now_ns());
      handle(*message);
    }
  }

  void handle(const link_message& message) {
    switch (message.kind) {
      case link_kind::heartbeat:
        return;
      case link_kind::place:
        job_.first = message.process;
        job_.count = static_cast<int>(message.number);
        job_.processes = number_of(message, 0);
        job_.machines = number_of(message, 1);
        peer_timeout_ms_ = number_of(message, 2);
        timeouts_.emplace(peer_timeout_ms_ * ns_of_ms);
        timeouts_->begins(the_launcher, os::now_ns());
        return;
      case link_kind::folder:
        if (chdir(message.text.c_str()) != 0)
          cannot_start(
              fmt::format("cannot work in the folder '{}': {}", message.text, std::generic_category().message(errno)));
        return;
      case link_kind::environment:
        job_.environment = config::environment_of_this_process();
        job_.environment.insert(job_.environment.end(), message.words.begin(), message.words.end());
        return make_memory(message.words);
      case link_kind::start:
        return start(message.words);
      case link_kind::deliver:
        return running().send(message.process, boot::decode(std::as_bytes(std::span(message.text))));
      case link_kind::refuse:
        return running().refuse(message.process, message.text);
      case link_kind::signal:
        if (here_) here_->signal(static_cast<int>(message.number), message.process);
        return;
      case link_kind::output_taken:
        output_on_its_way_ -= message.number;
        return;
      case link_kind::figures:
        return link_.send({.kind = link_kind::figures,
                           .process = message.process,
                           .number = message.number,
                           .text = figures_(message.process, message.text)});
      case link_kind::end:
        return finish();
      default:
        throw boot::protocol_error(
            fmt::format("the launcher sent a message of kind {}", static_cast<int>(message.kind)));
    }
  }

  local_processes& running() {
    if (!here_) throw boot::protocol_error("the launcher speaks to processes that are not started");
    return *here_;
  }

  void start(const std::vector<std::string>& command) {
    job_.command = command;
    job_.capture_output = true;
    here_.emplace(job_, mode_, *this);
    try {
      here_->start();
    } catch (const std::exception& problem) {
      cannot_start(problem.what());
    }
  }

  void cannot_start(const std::string& text) {
    link_.send({.kind = link_kind::cannot_start, .text = text});
    finish();
  }

  void make_memory(const std::vector<std::string>& environment) {
    constexpr std::string_view variable = "TRIREME_SURVIVE=";
    for (const std::string& each : environment) {
      const std::string path = each.starts_with(variable) ? each.substr(variable.size()) : "";
      if (!host_memory::is_one(path)) continue;
      try {
        memory_.emplace(path);
      } catch (const std::exception& problem) {
        cannot_start(problem.what());
      }
    }
  }

  void end_processes() {
    if (!here_ || phase_ != phase::serving) return;
    phase_ = phase::flushing;
    here_->end();
    while (here_->read_output()) {
    }
  }

  // The launcher has no more requests: it gets the remaining output. If it does not read that in time, it or its
  // connection is gone.
  void finish() {
    end_processes();
    phase_ = phase::flushing;
    if (memory_) memory_->is_left();
    link_.send(
        {.kind = link_kind::ended, .number = memory_ ? static_cast<std::int64_t>(memory_->last_checkpoint()) : 0});
    constexpr int usual_patience_ms = 30'000;
    flush_until_ns_ = os::now_ns() + (peer_timeout_ms_ > 0 ? peer_timeout_ms_ : usual_patience_ms) * ns_of_ms;
  }

  // Without a launcher nothing reads the rest. One that has ended this start of the job may start it again, though it
  // has lost us then: the memory of the host is its to remove.
  void stop(const std::string& problem) {
    if (phase_ == phase::over) return;
    const bool is_left_to_launcher = phase_ == phase::flushing;
    os::print_error_line(
        fmt::format("trireme agent: {}; {}", problem,
                    phase_ == phase::serving ? "the processes of this host end" : "the rest of their output is lost"));
    end_processes();
    if (memory_ && !is_left_to_launcher) memory_->remove();
    phase_ = phase::over;
    status_ = 1;
  }

  int wait_ms() const {
    if (phase_ == phase::flushing)
      return static_cast<int>(std::clamp<std::int64_t>((flush_until_ns_ - os::now_ns()) / ns_of_ms + 1, 0, 60'000));
    if (!timeouts_ || peer_timeout_ms_ == 0) return -1;
    return std::clamp(peer_timeout_ms_ / 4, 1, 60'000);
  }

  // Heartbeats in both directions, often enough to stay below the launcher's timeout and ours.
  void keep_time() {
    const std::int64_t now = os::now_ns();
    if (phase_ == phase::flushing) {
      link_.received().clear();
      if (!link_.waiting()) phase_ = phase::over;
      if (now >= flush_until_ns_) stop("the launcher does not read");
    }
    if (!timeouts_ || peer_timeout_ms_ == 0 || phase_ != phase::serving) return;
    if (now - last_report_ns_ >= peer_timeout_ms_ / 4 * ns_of_ms) {
      last_report_ns_ = now;
      link_.send({.kind = link_kind::heartbeat});
    }
    if (timeouts_->overdue(now))
      stop(fmt::format("nothing was heard of the launcher for {} s (--peer-timeout)", peer_timeout_ms_ / 1000));
  }

  static constexpr std::int64_t ns_of_ms = 1'000'000;
  figures_source figures_;
  launcher_mode mode_;
  host_link link_;
  local_job job_;
  std::optional<host_memory> memory_;  // of a job that survives
  std::optional<peer_timeouts> timeouts_;
  int peer_timeout_ms_ = 0;
  std::int64_t last_report_ns_ = 0;
  std::int64_t output_on_its_way_ = 0;
  int status_ = 0;
  bool greeted_ = false;
  phase phase_ = phase::serving;
  std::int64_t flush_until_ns_ = 0;
  std::optional<local_processes> here_;  // last: ends the remaining processes
};

}  // namespace

int run_agent(figures_source figures) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // of the remote shell's other half
  return agent(std::move(figures)).run();
}

}  // namespace tri::launch
