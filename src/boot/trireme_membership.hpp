// Membership through our own launcher, `trireme run`: the process's side of the bootstrap protocol (README.md). The
// launcher answers barriers and questions for addresses over one socket, in any order.
#pragma once

#include <map>
#include <mutex>

#include "boot/bootstrap_messages.hpp"
#include "boot/membership.hpp"
#include "boot/shared_reader.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {

class trireme_membership final : public membership {
 public:
  // From the variables that the launcher sets; `job_name` is the value of TRIREME_JOB. Throws job_error.
  explicit trireme_membership(const std::string& job_name);

  int process() const override { return process_; }
  const layout& machines() const override { return machines_; }
  std::string name_of_machine(int machine) const override;
  roster bootstrap_exchange(const own_facts& own, const layout& hosts) override;
  void barrier() override;
  void publish_endpoint_address(std::span<const std::byte> address) override;
  std::optional<std::vector<std::byte>> endpoint_address_of(int process) override;
  void leave(int exit_status) override;
  bool fail(const std::string& message) override;

 private:
  void greet(const own_facts& own);
  template <class Arrived>
  void wait_until(std::unique_lock<std::mutex>& locked, const Arrived& arrived);
  void file(const bootstrap_message& message);

  os::packet_socket socket_;
  int process_ = 0;
  layout machines_;
  std::uint64_t epoch_ = 0;  // barriers so far

  std::mutex lock_;  // guards what follows
  shared_reader reader_;
  std::uint64_t released_ = 0;
  std::uint32_t questions_ = 0;
  std::map<std::uint32_t, address_message> answers_;  // by question
};

}  // namespace tri::boot
