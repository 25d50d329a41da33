// What direct accesses need of a network adapter that reads and writes the memory of another process without its
// processor. As a target it registers memory, and says what others need to reach it; as an initiator it takes that, and
// opens a port for each PE that accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/memory_registrar.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::arrays {

/// What a plain T needs in a reply. T is not longer than the room there.
template <class T>
adapter_bytes bytes_of(const T& plain) {
  static_assert(sizeof(T) <= adapter_bytes::room);
  adapter_bytes made;
  made.used = sizeof(T);
  std::memcpy(made.all.data(), &plain, sizeof(T));
  return made;
}
/// Throws std::runtime_error when another number of bytes came.
template <class T>
T plain_of(const adapter_bytes& bytes) {
  if (bytes.used != sizeof(T))
    throw std::runtime_error("an address came with " + std::to_string(bytes.used) +
                             " bytes for the network adapter; this one sends " + std::to_string(sizeof(T)) +
                             ": all processes must have the same --tri-rma");
  T plain;
  std::memcpy(&plain, bytes.all.data(), sizeof(T));
  return plain;
}

/// An address as this process's adapter knows it. Valid until the adapter forgets the address.
struct reachable_memory {
  const void* peer = nullptr;  // of the adapter
  std::uint64_t key = 0;       // what it has made of the key
};

/// One access of a port.
struct adapter_access {
  remote_access how;
  reachable_memory through;
  remote_address where;
  std::uint64_t offset;  // from the first byte that was registered
  std::byte* local;
  std::size_t bytes;
};

/// Used by one thread.
class access_port {
 public:
  access_port() = default;
  access_port(const access_port&) = delete;
  access_port& operator=(const access_port&) = delete;
  virtual ~access_port() = default;

  /// When it returns all are complete: what was got is there, what was put is seen by who reads at the target. Between
  /// them there is no order. Throws std::runtime_error when the adapter refuses one: a key is not valid, or the
  /// target is gone. Some may be complete then, and none uses its local memory any more.
  virtual void carry_out(std::span<const adapter_access> accesses) = 0;
};

/// Two roles, each for one thread at a time: they have no state in common. Outlives its ports.
class remote_memory_adapter : public memory_registrar {
 public:
  remote_memory_adapter() = default;
  remote_memory_adapter(const remote_memory_adapter&) = delete;
  remote_memory_adapter& operator=(const remote_memory_adapter&) = delete;

  // ---- as the target: the registrar, and

  /// What goes with an address to other processes, besides its number and key.
  virtual adapter_bytes bytes_for(const remote_address& where) = 0;
  virtual std::uint64_t most_registered_bytes() const = 0;  // at a time
  /// Accesses of others with keys that were not valid, as far as this adapter learns of them.
  virtual std::uint64_t invalid_accesses() const = 0;

  // ---- as the initiator

  /// An address of this process that was not known, or was forgotten. Throws std::runtime_error: it cannot be reached.
  virtual void learn(int process, const remote_address& where, const adapter_bytes& bytes) = 0;
  /// What was learnt.
  virtual reachable_memory find(int process, const remote_address& where) const = 0;
  /// It is not used any more.
  virtual void forget(int process, const remote_address& where) = 0;
  /// Those for which it keeps something.
  virtual std::size_t known_addresses() const = 0;

  /// Any thread, like what follows.
  virtual std::unique_ptr<access_port> open_port() = 0;
  /// For reports: the adapter, in its own words.
  virtual std::string describe() const = 0;
};

/// The adapter that the job asks for with --tri-rma; there are other hosts. Throws std::invalid_argument or
/// std::runtime_error, which say what is missing.
std::unique_ptr<remote_memory_adapter> open_adapter(const sched::runtime& job);

}  // namespace tri::arrays
