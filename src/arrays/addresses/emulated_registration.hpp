// The registrations of a network adapter that is not there: limits as real ones have, costs as numbers instead of time,
// keys that change, and a check of every access. Tests and emulated transports own one for each host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "arrays/addresses/memory_registrar.hpp"

namespace tri::arrays {

struct registration_costs {
  std::uint64_t register_ns = 0;
  std::uint64_t register_page_ns = 0;  // for each page of 4 KiB that was begun
  std::uint64_t deregister_ns = 0;     // more than register_ns with some adapters
};

class emulated_registration final : public memory_registrar {
 public:
  struct counters {
    std::uint64_t registrations = 0;
    std::uint64_t refused = 0;  // above a limit
    std::uint64_t deregistrations = 0;
    std::uint64_t accesses = 0;
    std::uint64_t errors = 0;      // accesses without a valid key, deregistrations of what is not registered
    std::uint64_t cost_ns = 0;     // of all so far
    std::uint64_t most_bytes = 0;  // registered at one time
  };

  explicit emulated_registration(const registration_limits& limits = {}, const registration_costs& costs = {})
      : limits_(limits), costs_(costs) {}

  registration_limits limits() const override { return limits_; }
  std::optional<remote_address> register_memory(std::uint64_t begin, std::uint64_t bytes) override;
  void deregister_memory(const remote_address& where) override;

  /// An access of another host has arrived. False is an error of a protocol, and counted: the key is not valid (any
  /// more), or not for all of these bytes.
  bool check(std::uint64_t address, std::uint64_t bytes, registration_key key);
  /// As `check`, without counting.
  bool is_valid(std::uint64_t address, std::uint64_t bytes, registration_key key) const;

  std::size_t registered() const { return areas_.size(); }
  std::uint64_t registered_bytes() const { return bytes_; }
  const counters& count() const { return count_; }

 private:
  struct area {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };

  registration_limits limits_;
  registration_costs costs_;
  std::unordered_map<registration_key, area> areas_;
  registration_key last_key_ = 0;
  std::uint64_t bytes_ = 0;
  counters count_;
};

}  // namespace tri::arrays
