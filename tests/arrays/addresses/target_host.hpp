// A host with a registration table, an array of 16 chunks and an adapter that writes down what it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/addresses/registration_table.hpp"

namespace tri::arrays {

using state = registration_table::area_state;
using messages = std::vector<outgoing_invalidation>;

inline constexpr array_handle array = 9;
inline constexpr std::uint64_t base = 1 << 20;
inline constexpr std::uint64_t chunk_bytes = 64;

// Writes down what is registered and deregistered, in order.
class noting_registrar final : public memory_registrar {
 public:
  explicit noting_registrar(const registration_limits& limits = {}) : adapter(limits) {}
  registration_limits limits() const override { return adapter.limits(); }
  std::optional<remote_address> register_memory(std::uint64_t begin, std::uint64_t bytes) override {
    if (refuses) return std::nullopt;
    registered.push_back(begin);
    return adapter.register_memory(begin, bytes);
  }
  void deregister_memory(const remote_address& where) override {
    deregistered.push_back(where.address);
    adapter.deregister_memory(where);
  }

  emulated_registration adapter;
  std::vector<std::uint64_t> registered;
  std::vector<std::uint64_t> deregistered;
  bool refuses = false;
};

// Hosts 0 (the table's) to `hosts` - 1, and one array.
struct target_host {
  explicit target_host(const registration_options& options, std::size_t hosts = 5,
                       std::uint64_t bytes = 16 * chunk_bytes, const registration_limits& limits = {})
      : registrar(limits), table(hosts, 0, registrar, options) {
    table.add_array(array, base, bytes);
  }

  std::optional<reply_address> access(host_number from, chunk_number chunk) {
    return table.on_access(from, array, chunk, out);
  }
  std::optional<local_use> use(chunk_number chunk) {
    return table.begin_local_use(base + chunk * chunk_bytes, chunk_bytes, out);
  }
  void acknowledge(const outgoing_invalidation& one) {
    table.on_acknowledgement(one.to, {one.what.array, one.what.chunk, one.what.epoch});
  }
  void acknowledge_all() {
    for (const outgoing_invalidation& one : std::exchange(out, {})) acknowledge(one);
  }
  std::vector<host_number> receivers() const {
    std::vector<host_number> hosts;
    for (const outgoing_invalidation& one : out) hosts.push_back(one.to);
    return hosts;
  }
  std::vector<chunk_number> chunks_in(state wanted) const {
    std::vector<chunk_number> chunks;
    table.for_each([&](const registration_table::area_view& area) {
      if (area.state == wanted) chunks.push_back(area.chunk);
    });
    return chunks;
  }

  noting_registrar registrar;
  registration_table table;
  messages out;
};

inline registration_options chunks_up_to(std::size_t count, std::size_t listed = 8) {
  return {.chunks = {.chunk_bytes = chunk_bytes}, .most_bytes = count * chunk_bytes, .listed_hosts = listed};
}

}  // namespace tri::arrays
