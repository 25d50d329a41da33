// What a job needs from whoever started its processes, behind one interface: our own launcher (trireme_membership) or
// somebody else's (foreign_membership). Owned by the process's job. meet(), publish_card(), barrier() and leave() are
// called by one thread at a time; card_of() and fail() by any thread at any moment, also while another waits in
// barrier().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "boot/layout.hpp"
#include "boot/peer.hpp"
#include "os/unique_fd.hpp"

namespace tri::host {

// Joining failed; the text is for the user.
class job_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a process brings to the first meeting.
struct own_facts {
  int arena_fd = -1;  // -1 = none
  std::uint64_t fingerprint = 0;
  int pes = 1;
  int hosts = 1;  // emulated ones
};

// What it learns there.
struct roster {
  std::vector<peer> peers;     // by process
  std::vector<unique_fd> fds;  // owners of the peers' arena_fd
};

inline constexpr std::size_t most_card_bytes = 4096;

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
  // As people call it; empty when nobody said.
  virtual std::string name_of_machine(int machine) const = 0;

  // Collective: returns when all processes have the whole roster. `hosts` divides the processes as `machines` does, or
  // the machines further (emulated hosts). Throws job_error, protocol_error, std::system_error.
  virtual roster meet(const own_facts& own, const layout& hosts) = 0;
  virtual void barrier() = 0;
  // At most once, before a barrier; at most most_card_bytes.
  virtual void publish_card(std::span<const std::byte> card) = 0;
  // Of another process, after that barrier; nothing when it has published none. Blocks until the launcher answers.
  virtual std::optional<std::vector<std::byte>> card_of(int process) = 0;
  virtual void leave(int exit_status) = 0;  // collective where the launcher is not ours
  // Tells the user and has the job ended with status 1; false when nobody could be told. The caller then exits.
  virtual bool fail(const std::string& message) = 0;
};

}  // namespace tri::host
