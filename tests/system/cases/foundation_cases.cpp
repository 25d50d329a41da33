// What everything else stands on: messages run on the PE that they are sent to (M07), those inside a process leave the
// network alone (M09), PEs stay on their cores (M23), and processes of a host talk without a socket (M25).
#include <dirent.h>
#include <sched.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "os/cpu/cpu_list.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct addressee : group_member<addressee> {
  int arrived = 0;
  void arrive(int meant_for) {
    check_equal(this_pe(), meant_for);
    ++arrived;
  }
  // To all PEs in random order, so that each gets some from everywhere.
  void send_to_random_pes(int messages, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < messages; ++i) {
      const int to = static_cast<int>(random() % static_cast<unsigned>(pe_count()));
      this_array()(to).send<&addressee::arrive>(to);
    }
  }
  int count() { return arrived; }
};

void messages_run_on_their_pe() {
  constexpr int messages = 10'000;
  auto group = make_group<addressee>();
  const int each = messages / pe_count() + 1;
  for (int pe = 0; pe < pe_count(); ++pe)
    group(pe).send<&addressee::send_to_random_pes>(each, static_cast<unsigned>(pe));
  quiescence().get();
  check_equal(group.reduce<&addressee::count>(sum).get(), each * pe_count());
}
const case_entry messages_run_on_their_pe_case{"messages_run_on_their_pe", &messages_run_on_their_pe};

sched::wire_link* wire() { return static_cast<sched::process_runtime&>(*sched::current_runtime()).wire(); }

struct local_sender : group_member<local_sender> {
  int taken = 0;
  // How often the process has polled the network while this PE sent.
  std::uint64_t send(int messages) {
    const int first = this_process() * pes_per_process();
    const std::uint64_t before = wire() == nullptr ? 0 : wire()->counters().polls;
    for (int i = 0; i < messages; ++i) this_array()(first + i % pes_per_process()).send<&local_sender::take>();
    return (wire() == nullptr ? 0 : wire()->counters().polls) - before;
  }
  void take() { ++taken; }
  int count() { return taken; }
};

void local_messages_leave_the_wire_alone() {
  constexpr int messages = 100'000;
  check(wire() == nullptr || sched::current_runtime()->hosts() > 1, "a job on one host has no wire");
  auto group = make_group<local_sender>();
  const std::uint64_t polls = group(0).call<&local_sender::send>(messages).get();
  // Where this PE is not alone in its process, others poll while they have nothing to do.
  const bool is_alone =
      pes_per_process() == 1 && sched::current_runtime()->values().comm_thread == config::communication_thread::off;
  if (wire() == nullptr) check_equal(polls, std::uint64_t{0});
  if (is_alone) check(polls < messages / 100, "sends inside a process poll the network");
  quiescence().get();
  check_equal(group.reduce<&local_sender::count>(sum).get(), messages);
}
const case_entry local_messages_case{"local_messages_leave_the_wire_alone", &local_messages_leave_the_wire_alone};

struct located : group_member<located> {
  // The CPU that the PE was seen on, if it was one only; -1: several.
  int watch(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    const int first = sched_getcpu();
    bool is_still = true;
    while (std::chrono::steady_clock::now() < end) is_still = is_still && sched_getcpu() == first;
    return is_still ? first : -1;
  }
};

void pes_stay_on_their_cores() {
  const config::placement& placed = sched::current_runtime()->placement();
  const std::string& affinity = sched::current_runtime()->values().affinity;
  if (!placed.pinned) {
    check(affinity == "auto" || affinity == "none", "PEs with a list of CPUs are bound to them");
    return;
  }
  auto group = make_group<located>();
  const std::vector<int> seen = group.reduce<&located::watch>(gather, 200).get();
  for (int pe = 0; pe < pe_count(); ++pe)
    check_equal(seen[static_cast<std::size_t>(pe)], placed.all_cpus[static_cast<std::size_t>(pe)]);
  if (affinity == "auto") return;
  const std::vector<int> listed = os::parse_cpu_list(affinity);
  for (int pe = 0; pe < pe_count(); ++pe)
    check_equal(seen[static_cast<std::size_t>(pe)], listed[static_cast<std::size_t>(pe)]);
}
const case_entry pes_stay_case{"pes_stay_on_their_cores", &pes_stay_on_their_cores};

struct descriptor_owner : group_member<descriptor_owner> {
  // Sockets of the internet protocols that this process has open.
  int internet_sockets() {
    int found = 0;
    DIR* const folder = opendir("/proc/self/fd");
    check(folder != nullptr, "/proc/self/fd cannot be read");
    while (const dirent* const entry = readdir(folder)) {
      int domain = 0;
      socklen_t bytes = sizeof domain;
      if (getsockopt(std::atoi(entry->d_name), SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0) continue;
      found += domain == AF_INET || domain == AF_INET6 ? 1 : 0;
    }
    closedir(folder);
    return found;
  }
};

void messages_of_a_host_need_no_socket() {
  if (std::getenv("TRIREME_JOB") == nullptr || sched::current_runtime()->hosts() > 1) return;  // launchers have some
  auto group = make_group<descriptor_owner>();
  check_equal(group.reduce<&descriptor_owner::internet_sockets>(sum).get(), 0);
}
const case_entry no_socket_case{"messages_of_a_host_need_no_socket", &messages_of_a_host_need_no_socket};

}  // namespace
}  // namespace tri::testing
