// Messages between processes of one machine, with file descriptors: a Unix socket that keeps message boundaries
// (SOCK_SEQPACKET). Its name is abstract, so nothing is left in the file system: then it must be one that cannot be
// guessed, and every process can see and connect to it. Or it lies in a folder, which decides which users may: then its
// file is removed by its creator. Used by the launcher and by the processes of a job for the bootstrap only. send() may
// be called by several threads, receive() by one at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::os {

inline constexpr std::size_t most_packet_bytes = std::size_t{64} << 10;
inline constexpr std::size_t most_packet_fds = 128;  // the kernel's own limit for one message is 253

struct packet {
  enum class state { message, nothing_yet, closed };
  state what = state::nothing_yet;
  std::vector<std::byte> bytes;
  std::vector<unique_fd> fds;
};

// 128 random bits, for names and keys that untrusted peers must not guess.
std::string random_text();

class packet_socket {
 public:
  packet_socket() = default;
  static packet_socket listen(const std::string& abstract_name);
  // Waits at most so long while more have connected than the listener has room for; 0 s: for ever.
  static packet_socket connect(const std::string& abstract_name, std::chrono::seconds limit = std::chrono::seconds(0));
  // In the folder that `folder` is opened on, however long its path is.
  static packet_socket listen_in(int folder, const std::string& name);
  // An unopened socket when no process listens there, or more wait for it than it has room for. Throws
  // std::system_error.
  static packet_socket try_connect_in(int folder, const std::string& name);
  packet_socket accept();  // an unopened socket when no process waits

  // Blocks until the kernel has taken the message; with `wait` off a full buffer is an error. Throws std::system_error.
  void send(std::span<const std::byte> bytes, std::span<const int> fds = {}, bool wait = true) const;
  // Throws std::system_error for everything but a closed peer, std::length_error for a message that was cut off.
  packet receive(bool wait = true) const;
  // The same with a time limit: nothing_yet when nothing has come until then.
  packet receive_until(std::chrono::steady_clock::time_point until) const;

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void close() { fd_.reset(); }

  // Who is at the other end, from the kernel.
  pid_t peer_pid() const;
  uid_t peer_user() const;

 private:
  explicit packet_socket(unique_fd fd) : fd_(std::move(fd)) {}
  unique_fd fd_;
};

}  // namespace tri::os
