#include "top/job_watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <stdexcept>
#include <utility>

#include "boot/bootstrap_messages.hpp"
#include "fmt/format.h"
#include "launch/watchers.hpp"
#include "os/clock.hpp"
#include "os/process_tree.hpp"
#include "os/text_file.hpp"
#include "top/job_text.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;

// A host that takes longer has no figures this time. Agents answer within milliseconds, and a network within less.
constexpr std::int64_t answer_timeout_ns = 2'000'000'000;

// A launcher that ends must not end us: while this lives, a write without a reader is an error only.
class without_pipe_signals {
 public:
  without_pipe_signals() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~without_pipe_signals() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  without_pipe_signals(const without_pipe_signals&) = delete;
  without_pipe_signals& operator=(const without_pipe_signals&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

job_figures local_watch::next() {
  for (const std::size_t place : find_more(job_))
    if (before_) before_->add_unknown(place);
  job_reading now = job_reading::take(job_, before_ ? &*before_ : nullptr);
  job_figures figures = figures_between(job_, before_ ? *before_ : now, now);
  before_ = std::move(now);
  ended_ = figures.ended_processes == static_cast<int>(figures.processes.size());
  return figures;
}

/// The answers to one question.
struct launched_watch::round {
  std::int64_t question = 0;
  std::map<int, host_figures> hosts;
  std::map<int, json> answers;  // of hosts
  std::string problem;          // of one of them

  bool is_complete() const {
    return !hosts.empty() && std::all_of(hosts.begin(), hosts.end(), [this](const auto& each) {
      return each.second.is_lost || answers.contains(each.first);
    });
  }
};

launched_watch::launched_watch(pid_t launcher, launch::host_link link, std::string kind)
    : launcher_(launcher), link_(std::move(link)), kind_(std::move(kind)) {}

// False: nothing more has come.
bool launched_watch::take(round& of) {
  const std::optional<launch::link_message> message = launch::take_frame(link_.received());
  if (!message) return false;
  if (message->kind == launch::link_kind::host_state && message->words.size() == 2) {
    host_figures& host = of.hosts[message->process];
    host.name = message->text;
    host.is_lost = message->number < 0;
    host.silent_s = message->number < 0 ? 0 : static_cast<double>(message->number) / 1000;
    host.first_process = std::atoi(message->words[0].c_str());
    host.processes = std::atoi(message->words[1].c_str());
  } else if (message->kind == launch::link_kind::figures && message->number == of.question) {
    json answer = json::parse(message->text, nullptr, false);
    if (answer.is_object() && answer.contains("problem"))
      of.problem = answer["problem"].is_string() ? answer["problem"].get<std::string>() : "";
    of.answers[message->process] = std::move(answer);
  }
  return true;
}

void launched_watch::wait(std::int64_t until_ns) {
  std::vector<pollfd> watched;
  link_.watch(watched);
  const auto left_ms = static_cast<int>(std::max<std::int64_t>(0, (until_ns - os::now_ns()) / 1'000'000 + 1));
  poll(watched.data(), watched.size(), left_ms);
  link_.flush();
  if (!link_.receive()) ended_ = true;
}

// Agents find their processes a moment after these have started; one that answers with a problem has none yet, or its
// processes have ended. Then the launcher ends a moment later, so what was seen once is no problem any more.
job_figures launched_watch::next() try {
  const without_pipe_signals no_signals;
  round now{.question = ++questions_, .hosts = {}, .answers = {}, .problem = {}};
  link_.send({.kind = launch::link_kind::figures, .number = now.question, .text = kind_});
  link_.flush();
  const std::int64_t until_ns = os::now_ns() + answer_timeout_ns;
  do {
    wait(until_ns);
    while (take(now)) {
    }
  } while (!ended_ && !now.is_complete() && os::now_ns() < until_ns);
  job_figures all;
  all.facts.number = launcher_;
  for (auto& [number, host] : now.hosts) {
    const auto answer = now.answers.find(number);
    const bool has_figures = answer != now.answers.end() && add_json(answer->second, all);
    host.answers = answer != now.answers.end();
    if (!has_figures)
      for (int i = 0; i < host.processes; ++i)
        all.processes.push_back({.process = host.first_process + i, .host = number, .is_lost = !host.answers});
    all.hosts.push_back(host);
  }
  if (all.rows.empty() && !now.problem.empty() && !known_ && !ended_) throw std::runtime_error(now.problem);
  if (!all.rows.empty())
    known_ = all.facts;
  else if (known_)
    all.facts = *known_;
  finish_added(all);
  return all;
} catch (const boot::protocol_error& problem) {
  throw std::runtime_error(fmt::format("launcher {}: {}", launcher_, problem.what()));
}

std::vector<pid_t> find_launchers() {
  std::vector<pid_t> found;
  const std::string begin = "@" + launch::watch_socket_name(0);
  const std::string_view prefix(begin.data(), begin.size() - 1);  // without the number
  os::text_file sockets("/proc/net/unix");
  for (std::string line; sockets.next_line(line);) {
    const std::size_t at = line.rfind(prefix);
    if (at == std::string::npos) continue;
    pid_t pid = 0;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + at + prefix.size(), end, pid).ptr != end) continue;
    struct stat facts {};
    if (stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0 && facts.st_uid == geteuid() &&
        std::find(found.begin(), found.end(), pid) == found.end())
      found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::unique_ptr<job_watch> watch_launched(pid_t process, const std::string& kind) {
  for (pid_t at = process; at > 1; at = os::parent_of(at))
    if (std::optional<launch::host_link> link = launch::connect_to_launcher(at))
      return std::make_unique<launched_watch>(at, std::move(*link), kind);
  return nullptr;
}

}  // namespace tri::tools
