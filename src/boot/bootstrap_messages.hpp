// The messages of the bootstrap protocol between the launcher and the processes of a job (README.md has the states).
// A message is a 16-byte header and a body of fixed-width fields in the byte order of the machine. The receiver of one
// trusts nothing: decode() checks magic, version, kind, length and every count. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace tri::boot {

inline constexpr std::uint16_t bootstrap_version = 2;

// Process to launcher: I am here. One file descriptor travels along when has_arena is 1.
struct hello_message {
  std::int32_t process = 0;
  std::int32_t pes = 0;
  std::int32_t hosts = 0;
  std::uint32_t has_arena = 0;
  std::uint64_t fingerprint = 0;
};
// Launcher to process: you are not part of this job; the text gives the reason.
struct rejected_message {
  std::string text;
};
// Launcher to process: a part of the table of processes. The descriptors of the entries with has_arena 1 travel along,
// in the order of the entries.
struct peer_entry {
  std::int32_t process = 0;
  std::int32_t pid = 0;
  std::int32_t host = 0;
  std::int32_t local_rank = 0;
  std::uint32_t has_arena = 0;
  std::uint32_t unused = 0;
};
struct peers_message {
  std::vector<peer_entry> entries;
};
struct peers_taken_message {};  // process to launcher: I have the whole table
struct start_message {};        // launcher to process: all have the whole table
struct barrier_message {        // process to launcher: I wait in my barrier number `epoch` (from 1)
  std::uint64_t epoch = 0;
};
struct released_message {  // launcher to process: all have arrived, continue
  std::uint64_t epoch = 0;
};
struct left_message {  // process to launcher: I end cleanly, my exit status will be this
  std::int32_t exit_status = 0;
};
struct failed_message {  // process to launcher: tell the user, end the job
  std::string text;
};
// Process to launcher: this is my address, for any process that queries it.
struct published_address_message {
  std::vector<std::byte> address;
};
// Process to launcher: requests the address of a process. The number identifies the answer, which may come after
// others.
struct wanted_address_message {
  std::int32_t process = 0;
  std::uint32_t question = 0;
};
struct address_message {  // launcher to process: the answer
  struct {
    std::int32_t process = 0;
    std::uint32_t question = 0;
    std::uint32_t published = 0;  // 0: that process has published none
    std::uint32_t unused = 0;
  } about;
  std::vector<std::byte> address;
};

using bootstrap_message = std::variant<hello_message, rejected_message, peers_message, peers_taken_message,
                                       start_message, barrier_message, released_message, left_message, failed_message,
                                       published_address_message, wanted_address_message, address_message>;

class protocol_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Texts are cut to what fits into a packet.
std::vector<std::byte> encode(const bootstrap_message& message);
// Throws protocol_error that describes the error.
bootstrap_message decode(std::span<const std::byte> bytes);
const char* name_of(const bootstrap_message& message);

// The reason why two processes cannot form one job, as a part of a sentence about the first; empty if none.
std::string difference_between(const hello_message& one, const hello_message& other, const std::string& name_of_other);

inline constexpr int most_entries_of_a_message = 64;

}  // namespace tri::boot
