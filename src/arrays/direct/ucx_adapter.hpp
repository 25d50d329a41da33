// Direct accesses through UCX, by transports that read and write the memory of another process without its processor:
// dynamically connected InfiniBand between machines, cross-memory attach (a system call) inside one. It uses the lower
// of UCX's two interfaces, UCT: the upper one, UCP, would carry an access by active messages where the transport
// cannot, and would not say so. The README of this folder has more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "arrays/direct/remote_memory_adapter.hpp"

namespace tri::arrays {

struct ucx_adapter_options {
  registration_limits limits = {};
  std::string transports = {};  // names of UCX, separated by commas; empty: all that can
  int machines = 1;             // more than one: networks alone
};

class ucx_transport;

class ucx_adapter final : public remote_memory_adapter {
 public:
  /// Throws std::runtime_error: the library is missing or another than the one that this was built for, or no transport
  /// can; with what was looked for and why each one that is there cannot.
  explicit ucx_adapter(const ucx_adapter_options& options);
  ~ucx_adapter() override;

  registration_limits limits() const override;
  std::optional<remote_address> register_memory(std::uint64_t begin, std::uint64_t bytes) override;
  void deregister_memory(const remote_address& where) override;
  adapter_bytes bytes_for(const remote_address& where) override;
  std::uint64_t most_registered_bytes() const override;
  /// None: a target learns nothing of accesses.
  std::uint64_t invalid_accesses() const override { return 0; }

  void learn(int process, const remote_address& where, const adapter_bytes& bytes) override;
  reachable_memory find(int process, const remote_address& where) const override;
  void forget(int process, const remote_address& where) override;
  std::size_t known_addresses() const override;
  std::unique_ptr<access_port> open_port() override;
  std::string describe() const override;

 private:
  class registrations;
  class peers;
  std::unique_ptr<ucx_transport> transport_;
  std::unique_ptr<registrations> registrations_;
  std::unique_ptr<peers> peers_;
};

}  // namespace tri::arrays
