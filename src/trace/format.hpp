// The format of a trace file: a head, a description in JSON padded with spaces to a multiple of the record's size, then
// records in the order in which they were written. One file for each PE, and one for the wire of each process. A file
// may end in the middle of a record when its job was killed.
//
// Times are ticks of the processor (os/clock.hpp). `clock` records map some of them to the system's monotonic clock, so
// files of one machine are consistent however long the job ran; the description names the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tri::trace {

inline constexpr std::uint32_t format_version = 2;
inline constexpr char format_magic[8] = {'T', 'R', 'I', 'T', 'R', 'A', 'C', 'E'};

struct file_head {
  char magic[8];
  std::uint32_t version;
  std::uint32_t description_bytes;
};
static_assert(sizeof(file_head) == 16);

enum class event : std::uint8_t {
  clock = 1,  // number: nanoseconds of the monotonic clock
  on,         // tracing of this row was switched on, or off
  off,
  begin,     // a message's handler; peer: the PE that sent it; bytes: of its arguments; tag: see tag_of
  end,       // of the handler
  wait,      // the main program (or a loop's body) waits for a result; the PE runs messages meanwhile
  resume,    // and continues
  help,      // work from the board of the host begins, ends
  helped,    //
  idle,      // nothing to do, until another event but send
  send,      // handler, bytes; peer: the destination, as `to` says; number: counts the sends of this PE from 1
  left,      // wire: a message was given to the network; peer: the PE that sent it; number: of its send
  arrived,   // wire: a message came out of the network; the same, and bytes: the PE that it is for
  work,      // wire: the communication thread moves messages, until idle
  slow,      // something took long: handler, or a `call`; number: ticks; it ended at `ticks`
  written,   // the buffer was written to the file; number: ticks that this took; it ended at `ticks`
  incoming,  // a mailbox learned of a message; peer: the PE that sent it; handler: its tag; number: see mailbox_number
  taken,     // the message of a receive is there; the same
  name,      // the text of a name of the program in this file: handler: its number; bytes: its length. The text follows
             // in the place of as many records as it fills
  mark,      // an event of the program; handler: its name; number: a double, as bits
  enter,     // a phase of the program begins, ends; handler: its name
  leave,
  load,      // of a PE in a balancing step; bytes: the PE; peer: the number of the step; number: ns, as measured
  expected,  // the same after its moves, as the strategy expects it
  copied,  // ranks of MPI: this one has copied data of a message, until `ticks`; number: bytes; handler: the rank that
           // sent it; peer: that which receives it; bytes: ticks that it took
};
inline constexpr std::uint8_t last_event = static_cast<std::uint8_t>(event::copied);

/// Names of the program are cut to this.
inline constexpr std::uint32_t most_name_bytes = 256;

/// The kind of a message's destination.
enum class target : std::uint8_t { pe, process, other_hosts };

/// In place of a handler: calls that are not handlers.
inline constexpr std::uint32_t wire_progress_call = 0xffff'fff0;
inline constexpr std::uint32_t wire_send_call = 0xffff'fff1;
inline constexpr std::uint32_t main_program = 0xffff'fff2;

/// Eight bits of a send's number travel with the message, so that its begin can be found again; 0: it was not traced.
constexpr std::uint8_t tag_of(std::uint64_t number) { return static_cast<std::uint8_t>(1 + number % 255); }

/// The mailbox and, of `taken`, the place of the receive among those posted by this PE (the order of the program).
constexpr std::uint64_t mailbox_number(std::uint32_t mailbox, std::uint64_t receive) {
  return std::uint64_t{mailbox} << 32 | (receive & 0xffff'ffff);
}

struct record {
  std::uint64_t ticks = 0;
  std::uint64_t number = 0;
  std::uint32_t bytes = 0;  // 2^32 - 1: that or more
  std::uint32_t peer = 0;
  std::uint32_t handler = 0;
  event what{};
  target to{};
  std::uint8_t tag = 0;
  std::uint8_t unused = 0;
};

constexpr std::size_t records_of_name(std::uint32_t bytes) { return (bytes + 31) / 32; }
static_assert(sizeof(record) == 32 && std::is_trivially_copyable_v<record>, "written as it is");

}  // namespace tri::trace
