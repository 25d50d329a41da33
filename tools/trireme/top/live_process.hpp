// A process of a running job, as another process of the same user reads it: its window is opened through the kernel's
// list of its descriptors and mapped for reading only, so nothing here can disturb it. Whatever lies there is checked
// before it is used. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "live/format.hpp"
#include "os/unique_fd.hpp"

namespace tri::arena {
struct window_header;
}  // namespace tri::arena

namespace tri::tools {

/// The process belongs to a job, but cannot be read; the text gives the reason.
class unreadable_process : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class live_process {
 public:
  /// As a process of its job; twice where it has objects and is a rank of MPI. Empty: it is no process of a job, or has
  /// gone, or belongs to another user. Throws unreadable_process.
  static std::vector<std::unique_ptr<live_process>> open(pid_t pid);
  ~live_process();
  live_process(const live_process&) = delete;
  live_process& operator=(const live_process&) = delete;

  pid_t pid() const { return pid_; }
  const live::page& page() const { return page_; }
  const std::vector<live::figure>& figures() const { return figures_; }
  const std::vector<live::row>& rows() const { return rows_; }
  const std::string& program() const { return program_; }

  /// One word of a row, or of its inbox.
  std::uint64_t read(const live::row& row, const live::figure& figure) const {
    return word(row.blocks[figure.block] + figure.offset);
  }
  std::uint64_t tickets(const live::row& row) const;   // 0 without an inbox
  std::uint64_t consumed(const live::row& row) const;  // 0 without an inbox
  /// The sender of the message with that ticket, while its cell still has it.
  std::optional<std::int32_t> source_of(const live::row& row, std::uint64_t ticket) const;

  std::uint64_t arena_bytes() const;
  std::uint64_t arena_limit_bytes() const;
  bool has_ended() const;

 private:
  live_process() = default;
  bool map(int file, const arena::window_header& header, pid_t own_number);
  std::uint64_t place_of_page() const;
  void read_page(std::uint64_t offset, std::uint64_t window_bytes);
  void check_row(const live::row& each) const;
  void check_word(std::uint64_t offset, const char* what) const;
  std::uint64_t word(std::uint64_t offset) const;

  pid_t pid_ = 0;
  os::unique_fd alive_;
  std::string program_;
  live::page page_;
  std::vector<live::figure> figures_;
  std::vector<live::row> rows_;
  const std::byte* window_ = nullptr;
  std::size_t window_bytes_ = 0;
};

}  // namespace tri::tools
