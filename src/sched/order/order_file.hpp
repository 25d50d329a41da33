// The file in which a PE records the order of its messages (--tri-record), and from which it takes it again
// (--tri-replay). A header, then words of 64 bits: class, source and handler of a message, or a number, in 40 bits, and
// in the others a check value of everything up to there. So a file is valid up to any word: that of a job that was
// killed is a record up to its end. The writer maps the file, so what it has written stays when its process dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"
#include "sched/order/recorded_message.hpp"

namespace tri::sched {

/// What has to be the same in the job that replays.
struct order_header {
  static constexpr std::uint64_t expected_magic = 0x31726564726f6972u;  // "riorder1"

  std::uint64_t magic = expected_magic;
  std::uint32_t pe = 0;
  std::uint32_t pes = 0;
  std::uint32_t processes = 0;
  std::uint32_t hosts = 0;
  std::uint64_t program = 0;  // handler_fingerprint
  std::uint64_t seed = 0;     // of the shuffle; 0: none. Not compared
  std::uint64_t check = 0;    // of the other members

  std::uint64_t computed_check() const;
};
static_assert(sizeof(order_header) == 48);

std::string path_of_order(const std::string& folder, int pe);
/// Before any process of the job opens its files: removes those of an earlier job, or makes the folder. Throws
/// std::runtime_error.
void remove_old_orders(const std::string& folder);

/// One thread.
class order_writer {
 public:
  /// Throws std::runtime_error.
  order_writer(const std::string& path, const order_header& header);
  ~order_writer();
  order_writer(const order_writer&) = delete;
  order_writer& operator=(const order_writer&) = delete;

  /// Before the message runs. Throws std::runtime_error if the disk is full.
  void add(const recorded_message& message);
  std::uint64_t messages() const { return messages_; }
  /// The PE has left its loop: nothing is missing at the end of the record.
  void finish();

 private:
  void put(std::uint64_t word);
  void map_window(std::uint64_t begin);

  std::string path_;
  os::unique_fd file_;
  std::byte* window_ = nullptr;
  std::uint64_t window_begin_ = 0;  // in the file
  std::uint64_t position_ = 0;      // in the window
  std::uint64_t check_;
  std::uint64_t messages_ = 0;
  bool finished_ = false;
};

/// A whole record in memory; valid, or the constructor throws. One thread.
class order_reader {
 public:
  /// Throws std::runtime_error with the path and what is wrong: missing, of another version, program or job, damaged.
  order_reader(const std::string& folder, const order_header& expected);

  /// The message whose turn it is; null at the end.
  const recorded_message* next() const { return at_ < messages_.size() ? &messages_[at_] : nullptr; }
  void pop() { ++at_; }
  std::uint64_t position() const { return at_; }
  std::uint64_t size() const { return messages_.size(); }
  /// False: the recorded job was killed, or failed.
  bool is_complete() const { return is_complete_; }

 private:
  void read(const std::string& path, const std::vector<std::uint64_t>& words, std::uint64_t check);

  std::vector<recorded_message> messages_;
  std::size_t at_ = 0;
  bool is_complete_ = false;
};

}  // namespace tri::sched
