// A network adapter with remote memory access that is not there: processes of one machine that stand for hosts access
// each other's memory as such an adapter would, without the owner's processor. Registrations have keys and limits, and
// every access is checked against a table of keys, which lies in the owner's shared memory: what a real adapter would
// refuse is an error here, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arrays/addresses/address_cache.hpp"
#include "arrays/addresses/emulated_registration.hpp"
#include "arrays/direct/remote_memory_adapter.hpp"

namespace tri::arrays {

/// The keys that are valid now, in the shared memory of the process that has registered the memory. Zeros: none.
struct key_table {
  static constexpr std::size_t slots = std::size_t{1} << 12;
  struct slot {
    std::atomic<registration_key> key{0};  // 0: none. The other two are valid while it is not.
    std::atomic<std::uint64_t> begin{0};   // from the first byte of the memory file
    std::atomic<std::uint64_t> bytes{0};
  };
  std::atomic<std::uint64_t> errors{0};  // accesses without a valid key, of all processes
  slot slot_of[slots];

  slot& of(registration_key key) { return slot_of[key % slots]; }
};

/// The memory file of another process of this machine, as the adapter of this process accesses it. Any thread.
class remote_window {
 public:
  /// Throws std::runtime_error when the file cannot be opened or mapped.
  remote_window(std::int32_t pid, std::int32_t file, std::uint64_t key_table_offset);
  remote_window(const remote_window&) = delete;
  remote_window& operator=(const remote_window&) = delete;
  ~remote_window();

  /// Moves `bytes` between `local` and the memory at `offset` from what was registered. False, and counted at the
  /// owner: the key is not valid, is not valid for all of these bytes, or did not stay valid until the end. Aligned
  /// words of 1, 2, 4 and 8 bytes are accessed whole.
  bool access(remote_access how, const remote_address& where, std::uint64_t offset, std::byte* local,
              std::size_t bytes) const;

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  key_table* keys_ = nullptr;
};

/// Addresses count from the first byte of the owner's memory file.
class emulated_adapter final : public remote_memory_adapter {
 public:
  /// `keys` is in that memory file, and outlives this; `file_begin`: where its first byte is mapped here.
  emulated_adapter(key_table& keys, const std::byte* file_begin, int file, const registration_limits& limits);

  registration_limits limits() const override { return registration_.limits(); }
  std::optional<remote_address> register_memory(std::uint64_t begin, std::uint64_t bytes) override;
  void deregister_memory(const remote_address& where) override;
  adapter_bytes bytes_for(const remote_address& where) override;
  std::uint64_t most_registered_bytes() const override { return registration_.count().most_bytes; }
  std::uint64_t invalid_accesses() const override { return errors() + registration_.count().errors; }
  const emulated_registration::counters& count() const { return registration_.count(); }
  std::uint64_t errors() const { return keys_.errors.load(std::memory_order_relaxed); }  // relaxed: a figure

  void learn(int process, const remote_address& where, const adapter_bytes& bytes) override;
  reachable_memory find(int process, const remote_address& where) const override;
  void forget(int process, const remote_address& where) override;
  std::size_t known_addresses() const override { return 0; }  // it looks keys up at the owner
  std::unique_ptr<access_port> open_port() override;
  std::string describe() const override { return "emulated"; }

 private:
  key_table& keys_;
  const std::uint64_t file_begin_;
  const std::int32_t file_;
  const std::int32_t pid_;  // of this process; here, because it takes a system call
  emulated_registration registration_;
  std::vector<std::uint32_t> free_;  // slots

  std::unordered_map<int, std::unique_ptr<remote_window>> windows_;  // by process; stay until the end
};

}  // namespace tri::arrays
