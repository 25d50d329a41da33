// Membership through a foreign launcher (PMIx, PMI-1): the processes publish their locations themselves, arenas go from
// process to process, and the launcher provides values, fences and the end. Processes are renumbered, so that those of
// a host are contiguous.
#pragma once

#include <memory>
#include <vector>

#include "boot/arena_exchange.hpp"
#include "boot/kvs/key_value_space.hpp"
#include "boot/local_peer_monitor.hpp"
#include "boot/membership.hpp"
#include "boot/node_record.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {

class pmi_membership final : public membership {
 public:
  // Collective: learns the locations of all processes. Errors here and in bootstrap_exchange() are reported to the user
  // at once and end the job: before an exception could reach the user, the launcher would have killed this process for
  // closing its connection. No process waits longer than the timeout for another one of this host, once connected to
  // the launcher; 0: for ever.
  pmi_membership(std::unique_ptr<key_value_space> space, double start_timeout_s);
  ~pmi_membership() override = default;

  int process() const override { return process_; }
  const layout& machines() const override { return numbers_.machines; }
  std::string name_of_machine(int machine) const override;
  roster bootstrap_exchange(const own_facts& own, const layout& hosts) override;
  void barrier() override { space_->fence(false); }
  void publish_endpoint_address(std::span<const std::byte> address) override { space_->put("address", address); }
  std::optional<std::vector<std::byte>> endpoint_address_of(int process) override;
  void leave(int exit_status) override;
  bool fail(const std::string& message) override;

 private:
  int rank_of(int process) const { return numbers_.rank_of_process[static_cast<std::size_t>(process)]; }
  const node_record& record_of(int process) const { return records_[static_cast<std::size_t>(rank_of(process))]; }
  std::string name_of(int process) const;
  void start_monitor();
  void exchange_arenas(const own_facts& own, const layout& hosts, roster& table);
  void compare_machines(const own_facts& own);
  void report_failure(int process, bool ended);
  void find_places();
  void end_job(const std::string& text);
  [[noreturn]] void refuse(const std::exception& problem);

  std::unique_ptr<key_value_space> space_;
  time_limit limit_;
  os::packet_socket listener_;
  std::vector<node_record> records_;  // by rank of the launcher
  numbering numbers_;
  int process_ = 0;
  machine_members members_;
  std::unique_ptr<local_peer_monitor> monitor_;  // last: its thread uses the above
};

}  // namespace tri::boot
