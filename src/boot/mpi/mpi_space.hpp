// The launcher's services through MPI: the library is the launcher's client (PMIx, PMI-1 or its own protocol), and a
// second client in the same process would interfere, so membership uses the library. Values are exchanged with the
// fences.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "boot/kvs/key_value_space.hpp"
#include "boot/mpi/mpi_calls.hpp"

namespace tri::boot {

class mpi_space final : public key_value_space {
 public:
  /// `launcher_fd`: a descriptor that hangs up when the launcher is gone, which stays the library's; -1: none.
  mpi_space(mpi_calls& mpi, int launcher_fd) : mpi_(mpi), launcher_fd_(launcher_fd) {}

  const char* name() const override { return mpi_.library(); }
  int rank() const override { return mpi_.rank(); }
  int size() const override { return mpi_.size(); }
  void put(const std::string& key, std::span<const std::byte> value) override;
  void fence(bool collect) override;
  std::optional<std::vector<std::byte>> get(int rank, const std::string& key) override;
  void finalize() override;
  void abort(int exit_status, const std::string& text) override;
  int launcher_fd() const override { return launcher_fd_; }

 private:
  void take(int rank, std::span<const std::byte> bytes);

  mpi_calls& mpi_;
  const int launcher_fd_;
  std::vector<std::byte> put_since_fence_;
  std::mutex lock_;  // guards what follows: get() is called by any thread
  std::map<std::pair<int, std::string>, std::vector<std::byte>> values_;
};

}  // namespace tri::boot
