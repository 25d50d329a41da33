// The addresses of array memory that processes of different hosts have of each other: the client of the protocols in
// arrays/addresses. One for each process: as an initiator it has the cache, as a target the registrations of the pieces
// of its PEs. A protocol's host is a process here: an array of the protocols is the piece of one PE.
//
// Invalidations and acknowledgements are requests that any PE of the receiving process may serve, so that a PE that
// computes does not keep memory from being given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/registration_table.hpp"
#include "arrays/direct/remote_memory_adapter.hpp"
#include "sched/remote/emulated_link.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::arrays {

/// What travels in invalidations and acknowledgements.
struct address_note {
  array_id array;
  std::uint64_t epoch;
  std::uint32_t chunk;
  std::int32_t pe;  // that has the piece
};

/// Any PE of the process.
class remote_addresses {
 public:
  /// Null: not switched on, or there are no other hosts. Throws what open_adapter does.
  static remote_addresses* of_process();

  remote_addresses(const sched::runtime& job, std::unique_ptr<remote_memory_adapter> adapter);
  remote_addresses(const remote_addresses&) = delete;
  remote_addresses& operator=(const remote_addresses&) = delete;
  ~remote_addresses() = default;

  // ---- as the target

  void add_piece(array_id array, std::int32_t pe, std::byte* piece, std::size_t bytes);
  /// True: its memory may be released at once. Otherwise this releases it, behind the last access of another process.
  [[nodiscard]] bool free_piece(array_id array, std::int32_t pe);
  address_in_reply address_for(std::int32_t source, array_id array, std::int32_t owner, std::uint32_t chunk);
  void acknowledged(std::int32_t source, const address_note& note);

  // ---- as the initiator

  /// An access that holds the address, until it ends.
  struct use {
    address_use of;
    reachable_memory through;
    std::uint64_t offset;  // in the chunk
  };
  /// For one thread.
  std::unique_ptr<access_port> open_port() { return adapter_->open_port(); }
  const chunking& chunks() const { return chunks_; }
  bool wants_address(remote_access how) const { return cache_.wants_address(how); }
  /// Within one chunk.
  std::optional<use> begin_use(array_id array, std::int32_t pe, std::uint64_t offset, remote_access how);
  void end_use(const use& with, remote_access how, bool was_accessed);
  void take(const address_in_reply& address);
  void invalidated(const address_note& note);

  /// While no other PE of the process accesses arrays.
  void switch_cache(bool on);

  direct_access_figures figures();
  std::string describe_settings() const;
  std::string describe();
  const sched::link_options& link() const { return link_; }

 private:
  struct piece {
    array_handle handle;  // never used again
    std::byte* memory;
  };
  using piece_name = std::pair<array_id, std::int32_t>;
  void send(const std::vector<std::pair<int, address_note>>& invalidations);
  void name(const std::vector<outgoing_invalidation>& messages, std::vector<std::pair<int, address_note>>& named);
  void take_freed(std::vector<std::byte*>& memory);
  void acknowledge(const std::optional<outgoing_acknowledgement>& answer);

  const sched::runtime& job_;
  const sched::link_options link_;
  const chunking chunks_;
  const bool caches_;
  const std::unique_ptr<remote_memory_adapter> adapter_;  // each role behind its lock

  std::mutex initiator_;  // for what follows
  address_cache cache_;
  std::uint64_t gets_ = 0;
  std::uint64_t puts_ = 0;

  std::mutex target_;  // for what follows
  registration_table table_;
  std::map<piece_name, piece> pieces_;
  std::unordered_map<array_handle, piece_name> names_;
  array_handle last_handle_ = 0;
};

}  // namespace tri::arrays
