#include "boot/job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "boot/kvs/pmi1_client.hpp"
#include "boot/kvs/pmix_client.hpp"
#include "boot/launcher_detection.hpp"
#include "boot/mpi/mpi_library.hpp"
#include "boot/mpi/mpi_space.hpp"
#include "boot/pmi_membership.hpp"
#include "boot/trireme_membership.hpp"
#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "config/variable_names.hpp"
#include "os/standard_output.hpp"

namespace tri::boot {
namespace {

// Where a program has initialized MPI, any launcher will do that its library can live with.
detected_launcher launcher_of(bool is_in_mpi) {
  try {
    return detect_launcher(config::environment_of_this_process());
  } catch (const job_error&) {
    if (!is_in_mpi) throw;
    return {};
  }
}

// The library is then the launcher's client, and a second one would interfere.
std::unique_ptr<membership> membership_over_mpi(const config::configuration& values, const detected_launcher& found) {
  mpi_calls& mpi = start_mpi(values.wire_mpi, found.kind, values.wire == config::wire_library::mpi);
  return std::make_unique<pmi_membership>(std::make_unique<mpi_space>(mpi, found.fd), values.start_timeout_s);
}

std::unique_ptr<membership> membership_of(const config::configuration& values, const detected_launcher& found,
                                          bool is_in_mpi) {
  const bool by_mpi = found.kind == launcher_kind::pmi1 || found.kind == launcher_kind::pmix;
  if (is_in_mpi || (by_mpi && values.wire == config::wire_library::mpi)) return membership_over_mpi(values, found);
  switch (found.kind) {
    case launcher_kind::trireme:
      return std::make_unique<trireme_membership>(found.job_name);
    case launcher_kind::pmi1:
      return std::make_unique<pmi_membership>(std::make_unique<pmi1_client>(found.fd, found.rank, found.size),
                                              values.start_timeout_s);
    case launcher_kind::pmix:
      return std::make_unique<pmi_membership>(connect_to_pmix(), values.start_timeout_s);
    case launcher_kind::none:
      break;
  }
  return nullptr;
}

// Emulated hosts divide one machine; real ones are as they are.
layout hosts_of(const config::configuration& values, const layout& machines) {
  if (values.hosts == 1 || values.hosts == machines.hosts()) return machines;
  if (machines.hosts() > 1) {
    throw config::configuration_error(
        fmt::format("hosts is {}, but the job runs on {} machines; hosts can only be emulated on one", values.hosts,
                    machines.hosts()));
  }
  const int processes = machines.processes();
  if (values.hosts > processes) {
    throw config::configuration_error(fmt::format("hosts is {}, but the job has only {} process{}; each host needs one",
                                                  values.hosts, processes, processes == 1 ? "" : "es"));
  }
  return layout::even(processes, values.hosts);
}

}  // namespace

int first_process_of(int host, int processes, int hosts) {
  return static_cast<int>(static_cast<std::int64_t>(host) * processes / hosts);
}

int host_of(int process, int processes, int hosts) {
  int host = static_cast<int>(static_cast<std::int64_t>(process) * hosts / processes);
  while (first_process_of(host + 1, processes, hosts) <= process) ++host;  // rounding leaves us at most one short
  return host;
}

job job::join(const config::configuration& values, int own_arena_fd, std::uint64_t fingerprint) {
  job joined;
  bool is_in_mpi = program_has_initialized_mpi();
  const detected_launcher found = launcher_of(is_in_mpi);
  is_in_mpi = is_in_mpi && found.kind != launcher_kind::trireme;  // its processes are no job of MPI
  static std::atomic<bool> joined_before{false};
  // relaxed, here and below: the flag alone matters
  if (found.kind != launcher_kind::none && joined_before.load(std::memory_order_relaxed))
    throw job_error(
        "this process was in a job before: with a launcher (trireme run, mpirun, ...) tri::run may be called once, as "
        "the job ends with it; call it once for all the work, or start the program without a launcher");
  try {
    joined.membership_ = membership_of(values, found, is_in_mpi);
    if (joined.launched()) {
      joined_before.store(true, std::memory_order_relaxed);
      joined.process_ = joined.membership_->process();
      joined.machines_ = joined.membership_->machines();
    }
    joined.hosts_ = hosts_of(values, joined.machines_);
    if (is_in_mpi && joined.hosts() > 1) check_usable_between_hosts(*started_mpi());
    joined.pes_ = config::resolve_pes(values, joined.machine_processes());
    if (!joined.launched()) {
      joined.peers_.push_back({0, getpid(), 0, 0, own_arena_fd});
      return joined;
    }
    roster met =
        joined.membership_->bootstrap_exchange({own_arena_fd, fingerprint, joined.pes_, values.hosts}, joined.hosts_);
    joined.peers_ = std::move(met.peers);
    joined.fds_ = std::move(met.fds);
  } catch (const job_error&) {
    throw;
  } catch (const config::configuration_error&) {
    throw;
  } catch (const std::exception& problem) {
    throw job_error(fmt::format("process {} cannot join the job: {}", joined.process_, problem.what()));
  }
  return joined;
}

std::string job::name_of_host(int host) const {
  std::string name;
  if (launched() && hosts() == machines_.hosts()) name = membership_->name_of_machine(host);
  return name.empty() ? fmt::format("host {}", host) : name;
}

void job::barrier() {
  if (launched()) membership_->barrier();
}

void job::publish_endpoint_address(std::span<const std::byte> address) {
  if (published_) throw std::logic_error("trireme: a process publishes its network address only once");
  if (address.size() > most_endpoint_address_bytes)
    throw std::length_error(fmt::format("trireme: a network address of {} bytes; at most {} are possible",
                                        address.size(), most_endpoint_address_bytes));
  published_ = true;
  own_endpoint_address_.assign(address.begin(), address.end());
  if (launched()) membership_->publish_endpoint_address(address);
}

std::vector<std::byte> job::endpoint_address_of(int process) const {
  if (process < 0 || process >= processes())
    throw std::out_of_range(fmt::format("trireme: no process {} in a job of {}", process, processes()));
  std::optional<std::vector<std::byte>> address;
  if (process != process_)
    address = membership_->endpoint_address_of(process);
  else if (published_)
    address = own_endpoint_address_;
  if (!address) throw job_error(fmt::format("process {} has not published its network address", process));
  return std::move(*address);
}

void job::leave(int exit_status) {
  if (left_) return;
  left_ = true;
  if (launched()) membership_->leave(exit_status);
}

void job::fail(const std::string& message) const {
  const bool reported = launched() && membership_->fail(message);
  if (!reported) std::fputs(fmt::format("trireme: {}\n", message).c_str(), stderr);
  os::write_out_standard_output();
  _exit(1);
}

}  // namespace tri::boot
