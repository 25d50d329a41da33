#include "boot/pmi_membership.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "boot/bootstrap_messages.hpp"
#include "boot/peer_table.hpp"
#include "os/standard_output.hpp"

namespace tri::boot {
namespace {

// A launcher that notices a death itself ends the job within this time, and reports the signal.
constexpr int launcher_timeout_ms = 500;
// When the first process of a host is lost, the second one reports it; the others end without a word after this time.
constexpr int reporter_timeout_ms = 1500;

// Random, because any process of the machine can see and use the names of abstract sockets.
std::string new_socket_name() { return fmt::format("trireme-{}-{}", getpid(), os::random_text()); }

}  // namespace

pmi_membership::pmi_membership(std::unique_ptr<key_value_space> space, double start_timeout_s)
    : space_(std::move(space)), limit_(start_timeout_s) {
  try {
    find_places();
    start_monitor();
  } catch (const std::exception& problem) {
    refuse(problem);
  }
}

void pmi_membership::find_places() {
  const std::string socket_name = new_socket_name();
  listener_ = os::packet_socket::listen(socket_name);
  space_->put("node", bytes_of(this_node(socket_name)));
  space_->fence(true);
  for (int rank = 0; rank < space_->size(); ++rank) {
    const auto bytes = space_->get(rank, "node");
    if (!bytes) throw protocol_error(fmt::format("rank {} of the launcher has not published its node record", rank));
    records_.push_back(read_node_record(*bytes));
  }
  numbers_ = number_processes(records_);
  process_ = numbers_.process_of_rank[static_cast<std::size_t>(space_->rank())];
  const int machine = machines().host_of(process_);
  members_.first = machines().first_process_of(machine);
  for (int i = 0; i < machines().processes_of(machine); ++i) {
    members_.pids.push_back(record_of(members_.first + i).pid);
    members_.names.push_back(name_of(members_.first + i));
  }
}

std::string pmi_membership::name_of(int process) const {
  const node_record& record = record_of(process);
  return fmt::format("process {} (rank {} of the launcher, pid {}) on {}", process, rank_of(process), record.pid,
                     record.host_name.data());
}

std::string pmi_membership::name_of_machine(int machine) const {
  return record_of(machines().first_process_of(machine)).host_name.data();
}

void pmi_membership::start_monitor() {
  std::vector<local_peer_monitor::local_peer> local_peers;
  const bool leads = process_ == members_.first;
  for (int i = 0; i < members_.count(); ++i)
    if (leads ? i > 0 : i == 0) local_peers.push_back({members_.first + i, members_.pids[static_cast<std::size_t>(i)]});
  monitor_ = std::make_unique<local_peer_monitor>(
      local_peers, space_->launcher_fd(), process_ <= members_.first + 1 ? launcher_timeout_ms : reporter_timeout_ms,
      [this](int process, bool ended) { report_failure(process, ended); });
}

void pmi_membership::report_failure(int process, bool ended) {
  if (process_ > members_.first + 1) _exit(1);
  end_job(fmt::format("{} {} without leaving the job; the job is ended", name_of(process),
                      ended ? "ended" : "closed its connection"));
  _exit(1);
}

void pmi_membership::refuse(const std::exception& problem) {
  end_job(fmt::format("{}; the job is ended", problem.what()));
  // The launcher ends all processes. Those waiting for this one must not mistake its end for the cause.
  std::this_thread::sleep_for(std::chrono::seconds(5));
  _exit(1);
}

roster pmi_membership::bootstrap_exchange(const own_facts& own, const layout& hosts) {
  roster table;
  for (int i = 0; i < processes(); ++i)
    table.peers.push_back({i, record_of(i).pid, hosts.host_of(i), hosts.local_rank_of(i), -1});
  try {
    exchange_arenas(own, hosts, table);
    table.peers[static_cast<std::size_t>(process_)].arena_fd = own.arena_fd;
    check_table(table, hosts, process_);
    compare_machines(own);
  } catch (const std::exception& problem) {
    refuse(problem);
  }
  return table;
}

void pmi_membership::exchange_arenas(const own_facts& own, const layout& hosts, roster& table) {
  if (members_.count() > 1 && process_ == members_.first) {
    auto sockets = lead_exchange(listener_, members_, hosts, own, limit_, table);
    for (std::size_t i = 0; i < sockets.size(); ++i)
      monitor_->connect(members_.first + 1 + static_cast<int>(i), std::move(sockets[i]));
  } else if (members_.count() > 1) {
    const std::string leader = record_of(members_.first).socket_name.data();
    auto sockets = follow_exchange(leader, process_, members_, own, limit_, table);
    monitor_->connect(members_.first, std::move(sockets.front()));
  }
  listener_.close();
}

// The processes of a machine were compared with their first; now the first ones with each other.
void pmi_membership::compare_machines(const own_facts& own) {
  if (machines().hosts() == 1) return;
  const bool leads = process_ == members_.first;
  if (leads) space_->put("facts", encode(hello_of(process_, own)));
  space_->fence(false);
  if (leads && process_ != 0) {
    const auto bytes = space_->get(rank_of(0), "facts");
    if (!bytes)
      throw protocol_error("the first process of the job has not published its fingerprint and number of PEs");
    const auto first = expect<hello_message>(decode(*bytes));
    const std::string difference = difference_between(hello_of(process_, own), first, name_of(0));
    if (!difference.empty()) throw job_error(fmt::format("{} {}", name_of(process_), difference));
  }
}

std::optional<std::vector<std::byte>> pmi_membership::endpoint_address_of(int process) {
  return space_->get(rank_of(process), "address");
}

// The fence keeps processes from ending while others still work: launchers end the job at the first status that is
// not 0.
void pmi_membership::leave(int exit_status) {
  monitor_->say_left(exit_status);
  space_->fence(false);
  monitor_->stop();
  space_->finalize();
}

bool pmi_membership::fail(const std::string& message) {
  end_job(fmt::format("{}: {}", name_of(process_), message));
  return true;
}

void pmi_membership::end_job(const std::string& text) {
  os::print_error_line("trireme: " + text);
  if (monitor_) monitor_->say_failed();
  os::write_out_standard_output();
  os::wait_until_output_is_read();  // the launcher may kill this process at once
  try {
    space_->abort(1, text);
  } catch (const std::exception&) {  // it is gone; the caller ends this process
  }
}

}  // namespace tri::boot
