// PMI-1 over the descriptor that the launcher left open in this process (PMI_FD): hydra and what imitates it.
#pragma once

#include <mutex>

#include "boot/kvs/key_value_space.hpp"
#include "boot/kvs/pmi1_protocol.hpp"
#include "boot/shared_reader.hpp"
#include "os/unique_fd.hpp"

namespace tri::boot {

class pmi1_client final : public key_value_space {
 public:
  // Takes ownership of the descriptor. Throws job_error, protocol_error, std::system_error.
  pmi1_client(int fd, int rank, int size);

  const char* name() const override { return "PMI-1"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void put(const std::string& key, std::span<const std::byte> value) override;
  void fence(bool collect) override;
  std::optional<std::vector<std::byte>> get(int rank, const std::string& key) override;
  void finalize() override;
  void abort(int exit_status, const std::string& text) override;
  int launcher_fd() const override { return fd_.get(); }

 private:
  pmi1::message ask(const std::string& command, const std::vector<std::pair<std::string, std::string>>& values,
                    const std::string& answer_command);
  std::string piece_key(int rank, const std::string& key, int piece) const;
  void send(const std::string& text) const;
  std::string read_some() const;

  os::unique_fd fd_;
  int rank_;
  int size_;
  std::string space_name_;
  std::size_t longest_value_ = 0;
  std::size_t longest_key_ = 0;

  std::mutex asking_;  // one question at a time; taken before lock_
  std::mutex lock_;    // guards what follows
  pmi1::conversation talk_;
  shared_reader reader_;
};

}  // namespace tri::boot
