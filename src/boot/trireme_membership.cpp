#include "boot/trireme_membership.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "boot/peer_table.hpp"
#include "config/configuration.hpp"

namespace tri::boot {
namespace {

int launcher_number(const char* variable, int lowest, int highest) {
  const char* const text = std::getenv(variable);
  const std::string_view word = text != nullptr ? text : "";
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < lowest || number > highest) {
    throw job_error(fmt::format("{} is '{}', but with {} set it must be {} .. {}: start the program with `trireme run`",
                                variable, word, config::job_variable, lowest, highest));
  }
  return number;
}

constexpr int most_processes = 1 << 20;

// The next message; a closed socket means that the launcher is gone or ends the job, and then this process ends too.
os::packet receive_or_exit(const os::packet_socket& socket) {
  os::packet received = socket.receive();
  if (received.what == os::packet::state::closed) {
    std::fputs("trireme: the launcher is gone; this process ends\n", stderr);
    _exit(1);
  }
  return received;
}

}  // namespace

trireme_membership::trireme_membership(const std::string& job_name) {
  const int processes = launcher_number(config::processes_variable, 1, most_processes);
  process_ = launcher_number(config::process_variable, 0, processes - 1);
  machines_ = layout::even(processes, launcher_number(config::machines_variable, 1, processes));
  // Even with a wrapper script between the launcher and us, we must end with the launcher.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    socket_ = os::packet_socket::connect(job_name);
    if (socket_.peer_user() != geteuid())  // the launcher is gone, and another user has taken its name
      throw std::runtime_error(fmt::format("the socket @{} belongs to user {}", job_name, socket_.peer_user()));
  } catch (const std::exception& problem) {
    throw job_error(fmt::format("process {} cannot join the job: {}", process_, problem.what()));
  }
}

std::string trireme_membership::name_of_machine(int machine) const {
  const char* const names = std::getenv(config::machine_names_variable);
  std::istringstream all(names == nullptr ? "" : names);
  std::string name;
  for (int i = 0; i <= machine; ++i)
    if (!std::getline(all, name, ',')) return {};
  return name;
}

roster trireme_membership::bootstrap_exchange(const own_facts& own, const layout& hosts) {
  greet(own);
  roster table;
  table.peers.resize(static_cast<std::size_t>(processes()));
  take_table([this] { return receive_or_exit(socket_); }, 0, processes(), table);
  table.peers[static_cast<std::size_t>(process_)].arena_fd = own.arena_fd;
  check_table(table, hosts, process_);
  socket_.send(encode(peers_taken_message{}));
  expect<start_message>(decode(receive_or_exit(socket_).bytes));
  return table;
}

void trireme_membership::greet(const own_facts& own) {
  const hello_message hello = hello_of(process_, own);
  socket_.send(encode(hello), std::span(&own.arena_fd, hello.has_arena));
}

template <class Arrived>
void trireme_membership::wait_until(std::unique_lock<std::mutex>& locked, const Arrived& arrived) {
  reader_.wait_until(
      locked, arrived, [this] { return decode(receive_or_exit(socket_).bytes); },
      [this](const bootstrap_message& message) { file(message); });
}

void trireme_membership::file(const bootstrap_message& message) {
  if (const auto* address = std::get_if<address_message>(&message)) {
    answers_[address->about.question] = *address;
    return;
  }
  const auto released = expect<released_message>(message);
  if (released.epoch != epoch_ || released_ == epoch_)
    throw protocol_error(fmt::format("barrier {} was released instead of {}", released.epoch, epoch_));
  released_ = released.epoch;
}

void trireme_membership::barrier() {
  std::unique_lock locked(lock_);
  const std::uint64_t epoch = ++epoch_;
  socket_.send(encode(barrier_message{epoch}));
  wait_until(locked, [&] { return released_ == epoch; });
}

void trireme_membership::publish_endpoint_address(std::span<const std::byte> address) {
  socket_.send(encode(published_address_message{{address.begin(), address.end()}}));
}

std::optional<std::vector<std::byte>> trireme_membership::endpoint_address_of(int process) {
  std::unique_lock locked(lock_);
  const std::uint32_t question = ++questions_;
  socket_.send(encode(wanted_address_message{process, question}));
  wait_until(locked, [&] { return answers_.contains(question); });
  address_message answer = std::move(answers_.extract(question).mapped());
  if (answer.about.process != process)
    throw protocol_error(
        fmt::format("the network address of process {} came instead of {}", answer.about.process, process));
  if (answer.about.published == 0) return std::nullopt;
  return std::move(answer.address);
}

void trireme_membership::leave(int exit_status) { socket_.send(encode(left_message{exit_status})); }

bool trireme_membership::fail(const std::string& message) {
  try {
    socket_.send(encode(failed_message{message}));
  } catch (const std::exception&) {  // the launcher is gone
    return false;
  }
  return true;
}

}  // namespace tri::boot
