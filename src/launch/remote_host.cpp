#include "launch/remote_host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <random>

#include "launch/exit_status.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"

namespace tri::launch {
namespace {

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string bytes_of(const boot::bootstrap_message& message) {
  const std::vector<std::byte> bytes = encode(message);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string last_line_of(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return {};
  const std::size_t begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

remote_host::remote_host(const remote_job& job, const launcher_mode& mode, process_events& events,
                         std::function<void(const std::string&)> failed)
    : job_(job), events_(events), failed_(std::move(failed)), token_(new_token()), heard_ns_(os::now_ns()) {
  os::pipe_ends to_agent = os::open_pipe();
  os::pipe_ends from_agent = os::open_pipe();
  os::pipe_ends errors = os::open_pipe();
  os::start_request request;
  request.arguments = job_.shell;
  request.arguments.push_back(job_.host);
  request.arguments.push_back(fmt::format("exec {} agent", os::shell_quoted(job_.agent)));
  request.input = to_agent.read.get();
  request.output = from_agent.write.get();
  request.error = errors.write.get();
  request.signal_mask = mode.mask_of_children();
  request.open_files = mode.files_before();
  request.own_group = true;  // Ctrl-C goes to us, and we notify the agents
  shell_ = start_program(request);
  errors_ = std::move(errors.read);
  fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  link_.emplace(std::move(from_agent.read), std::move(to_agent.write));
  link_->send_raw(greeting_of_launcher(token_));
}

void remote_host::say(const link_message& message) {
  if (!gone_) link_->send(message);
}

void remote_host::watch(std::vector<pollfd>& watched) const {
  if (gone_) return;
  if (!shell_until_ns_) link_->watch(watched);
  if (errors_) watched.push_back({errors_.get(), POLLIN, 0});
}

// Before the agent answers, the shell's errors are kept for our own message; afterwards they are the user's.
void remote_host::read_errors() {
  std::array<char, 4096> buffer;
  while (errors_) {
    const ssize_t length = read(errors_.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) return errors_.reset();
    const std::string_view text(buffer.data(), static_cast<std::size_t>(length));
    if (greeted_)
      events_.printed(-1, true, text);
    else
      error_text_.append(text.substr(0, std::min<std::size_t>(text.size(), 65536 - error_text_.size())));
  }
}

void remote_host::collect() {
  if (gone_) return;
  int status = 0;
  if (!shell_status_ && waitpid(shell_, &status, WNOHANG) == shell_) shell_status_ = status;
  read_errors();
  link_->flush();
  const bool open = link_->receive();
  try {
    if (!greeted_ && take_agent_greeting(link_->received(), token_)) greeted();
    while (greeted_ && !gone_) {
      const std::optional<link_message> message = take_frame(link_->received());
      if (!message) break;
      heard_ns_ = os::now_ns();
      handle(*message);
    }
  } catch (const boot::protocol_error& problem) {
    if (!greeted_) throw os::start_error(fmt::format("cannot start on host {}: {}", job_.host, problem.what()));
    give_up(fmt::format("its agent broke the protocol: {}", problem.what()));
  }
  if (!open && !gone_) connection_is_closed();
  acknowledge_output();
}

// While our own reader does not read, the agent stops after a limited number of bytes, and the processes wait.
void remote_host::acknowledge_output() {
  for (const bool error : {false, true}) {
    std::int64_t& bytes = unacknowledged_[error ? 1 : 0];
    if (bytes == 0 || !events_.wants_output(error)) continue;
    say({.kind = link_kind::output_taken, .number = bytes});
    bytes = 0;
  }
}

void remote_host::greeted() {
  greeted_ = true;
  if (!error_text_.empty()) events_.printed(-1, true, error_text_);  // warnings of the shell
  say({link_kind::place,
       job_.first,
       job_.count,
       "",
       {std::to_string(job_.processes), std::to_string(job_.machines),
        std::to_string(static_cast<std::int64_t>(job_.peer_timeout_s * 1e3))}});
  say({.kind = link_kind::folder, .text = job_.folder});
  say({.kind = link_kind::environment, .words = job_.environment});
  say({.kind = link_kind::start, .words = job_.command});
}

// The shell ends soon after its connection, with the reason. One that lives on, such as a script around it, is killed
// with its children; its end is then a signal as for any child. One that does not even die is not waited for.
void remote_host::connection_is_closed() {
  if (shell_status_) return shell_has_ended();
  const std::int64_t now = os::now_ns();
  if (shell_until_ns_ && now < *shell_until_ns_) return;
  if (shell_killed_) return shell_has_ended();
  if (!shell_until_ns_) {
    shell_until_ns_ = now + job_.shell_timeout_ns;
    return;
  }
  constexpr std::int64_t dying_timeout_ns = 5'000'000'000;
  kill(-shell_, SIGKILL);
  shell_killed_ = true;
  shell_until_ns_ = now + dying_timeout_ns;
}

void remote_host::shell_has_ended() {
  const std::string how = shell_status_ ? describe_exit(*shell_status_) : "ended";
  if (!greeted_) {
    std::string why = last_line_of(error_text_);
    if (shell_status_ && WIFEXITED(*shell_status_) && WEXITSTATUS(*shell_status_) == 127)
      why += fmt::format("{}is {} there?", why.empty() ? "" : "; ", job_.agent);
    const std::string text = fmt::format("{} {}{}", job_.shell[0], how, why.empty() ? "" : ": " + why);
    if (job_.may_be_lost) return give_up("cannot be reached: " + text);
    throw os::start_error(fmt::format("cannot start on host {}: {}", job_.host, text));
  }
  give_up(fmt::format("the connection to its agent was lost ({} {})", job_.shell[0], how));
}

void remote_host::give_up(const std::string& text) {
  if (gone_) return;
  gone_ = true;
  link_.reset();  // its end ends the agent, when it can be reached
  if (!ending_) failed_(text);
}

int remote_host::checked_process(const link_message& message) const {
  if (message.process < job_.first || message.process >= job_.first + job_.count)
    throw boot::protocol_error(fmt::format("it speaks of process {}, which is not there", message.process));
  return message.process;
}

void remote_host::handle(const link_message& message) {
  switch (message.kind) {
    case link_kind::heartbeat:
      return;
    case link_kind::started:
      return events_.started(checked_process(message), static_cast<pid_t>(message.number));
    case link_kind::cannot_start:
      throw os::start_error(fmt::format("host {}: {}", job_.host, message.text));
    case link_kind::said:
      return events_.said(checked_process(message), static_cast<pid_t>(message.number),
                          boot::decode(std::as_bytes(std::span(message.text))));
    case link_kind::disconnected:
      return events_.disconnected(checked_process(message));
    case link_kind::broke:
      return events_.broke_protocol(checked_process(message), message.text);
    case link_kind::exited:
      return events_.exited(checked_process(message), static_cast<int>(message.number));
    case link_kind::stopped:
      return events_.stopped(checked_process(message), message.number != 0);
    case link_kind::printed:
      unacknowledged_[message.number != 0 ? 1 : 0] += static_cast<std::int64_t>(message.text.size());
      return events_.printed(checked_process(message), message.number != 0, message.text);
    case link_kind::figures:
      if (take_figures_) take_figures_(message);
      return;
    case link_kind::ended:
      ending_ = true;
      last_checkpoint_ = static_cast<std::uint64_t>(message.number);
      return give_up("");
    default:
      throw boot::protocol_error(fmt::format("it sent a message of kind {}", static_cast<int>(message.kind)));
  }
}

void remote_host::send(int process, const boot::bootstrap_message& message) {
  say({.kind = link_kind::deliver, .process = process, .text = bytes_of(message)});
}

void remote_host::refuse(int process, const std::string& text) {
  say({.kind = link_kind::refuse, .process = process, .text = text});
}

// The job ends. Where no agent has answered yet nothing runs, and nothing may be started later.
void remote_host::signal(int signal, int except) {
  if (!greeted_ && !gone_) {
    gone_ = ending_ = true;
    link_.reset();
    kill(-shell_, SIGKILL);
    for (int process = job_.first; process < job_.first + job_.count; ++process) events_.exited(process, 0);
    return;
  }
  say({.kind = link_kind::signal, .process = except, .number = signal});
}

void remote_host::end() {
  if (ending_ || gone_) return;
  ending_ = true;
  say({.kind = link_kind::end});
}

}  // namespace tri::launch
