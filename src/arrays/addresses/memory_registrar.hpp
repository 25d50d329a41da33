// What a registration table needs of a transport: to make memory accessible to other hosts and to take that back.
// A real transport or emulated_registration.hpp implements it. Called by the thread that owns the table.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "arrays/addresses/address_messages.hpp"

namespace tri::arrays {

struct registration_limits {
  std::uint64_t total_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t contiguous_bytes = std::numeric_limits<std::uint64_t>::max();  // in one registration
};

class memory_registrar {
 public:
  memory_registrar() = default;
  memory_registrar(const memory_registrar&) = default;
  memory_registrar& operator=(const memory_registrar&) = default;
  virtual ~memory_registrar() = default;

  virtual registration_limits limits() const = 0;
  /// The key differs from that of every earlier registration, also of the same memory. Nothing: the transport refuses.
  virtual std::optional<remote_address> register_memory(std::uint64_t begin, std::uint64_t bytes) = 0;
  /// `where` comes from register_memory. From now on an access with its key fails.
  virtual void deregister_memory(const remote_address& where) = 0;
};

}  // namespace tri::arrays
