// The launcher's services to a job, behind one interface: our own launcher (trireme_membership) or another one
// (pmi_membership). Owned by the process's job. bootstrap_exchange(), publish_endpoint_address(), barrier() and leave()
// are called by one thread at a time; endpoint_address_of() and fail() by any thread at any moment, also while another
// waits in barrier().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "boot/job_layout.hpp"
#include "boot/job_peer.hpp"
#include "os/unique_fd.hpp"

namespace tri::boot {

// Joining failed; the text is for the user.
class job_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A process's contribution to the bootstrap exchange.
struct own_facts {
  int arena_fd = -1;  // -1 = none
  std::uint64_t fingerprint = 0;
  int pes = 1;
  int hosts = 1;  // emulated ones
};

// The result of the exchange.
struct roster {
  std::vector<peer> peers;         // by process
  std::vector<os::unique_fd> fds;  // owners of the peers' arena_fd
};

inline constexpr std::size_t most_endpoint_address_bytes = 4096;

class membership {
 public:
  membership() = default;
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;
  virtual ~membership() = default;  // without leave() before, the launcher takes it for a crash

  virtual int process() const = 0;
  // Which processes share a machine.
  virtual const layout& machines() const = 0;
  int processes() const { return machines().processes(); }
  // Its human-readable name; empty if unknown.
  virtual std::string name_of_machine(int machine) const = 0;

  // Collective: returns when all processes have the whole roster. `hosts` divides the processes as `machines` does, or
  // the machines further (emulated hosts). Throws job_error, protocol_error, std::system_error.
  virtual roster bootstrap_exchange(const own_facts& own, const layout& hosts) = 0;
  virtual void barrier() = 0;
  // At most once, before a barrier; at most most_endpoint_address_bytes.
  virtual void publish_endpoint_address(std::span<const std::byte> address) = 0;
  // Of another process, after that barrier; nothing when it has published none. Blocks until the launcher answers.
  virtual std::optional<std::vector<std::byte>> endpoint_address_of(int process) = 0;
  virtual void leave(int exit_status) = 0;  // collective where the launcher is not ours
  // Reports to the user and has the job ended with status 1; false when no report was possible. The caller then exits.
  virtual bool fail(const std::string& message) = 0;
};

}  // namespace tri::boot
