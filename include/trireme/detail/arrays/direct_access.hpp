// Direct accesses to elements of other hosts (--tri-rma): by the address of their memory there, without their
// processor. The addresses come with the replies to ordinary requests, and are cached (arrays/addresses). An access
// whose address is not known, or that would overtake something that the same PE has sent, is an ordinary request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/os/unique_function.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// What the network adapter of the initiator needs besides an address and a key. Plain.
struct adapter_bytes {
  static constexpr std::size_t room = 47;
  std::array<std::byte, room> all{};
  std::uint8_t used = 0;
};

/// The address of a chunk of a piece, as it comes with a reply. Plain: it travels in messages.
struct address_in_reply {
  array_id array = 0;
  std::uint64_t epoch = 0;
  std::uint64_t address = 0;
  std::uint64_t key = 0;  // of the registration; 0: there is none
  std::uint32_t chunk = 0;
  std::int32_t pe = -1;  // that has the piece
  adapter_bytes for_adapter;
};

inline constexpr std::uint32_t no_chunk = ~std::uint32_t{0};

/// What came of an attempt to access directly.
struct direct_attempt {
  bool has_begun = false;
  std::uint32_t wanted = no_chunk;  // not begun: the ordinary request asks for the address of this chunk
};

/// A part of a piece, and where its bytes are or go here.
struct direct_run {
  std::uint64_t offset;  // bytes, in the piece
  std::byte* local;
  std::uint64_t bytes;
};

/// Sections with more runs are packed by their owner.
inline constexpr std::size_t most_direct_runs = 16;

// For arrays with direct(). Offsets in bytes, in the piece of `pe`.
/// They take no time: there is no use in waiting for one later.
bool are_immediate(const local_array& array);
/// Complete when it returns, if it has begun.
direct_attempt get_now(local_array& array, std::int32_t pe, const direct_run& run);
/// `ended` runs on this PE when all runs are complete, perhaps before this returns. Until then their memory here is in
/// use. All or none of them begin.
direct_attempt begin_get(local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                         os::unique_function<void()> ended);
direct_attempt begin_put(local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                         os::unique_function<void()> ended);
/// Of a copy of the bytes. A fence waits for it.
direct_attempt put_value(local_array& array, std::int32_t pe, const direct_run& run);

/// Before an ordinary request to this PE: it must not overtake direct accesses of this PE.
void end_direct_accesses(const local_array& array, std::int32_t pe);
/// An ordinary request that reads was sent, and was answered: later direct puts must not overtake it.
void note_reading(const local_array& array, std::int32_t pe);
void reading_answered(std::int32_t pe, const address_in_reply* address);
/// An ordinary put was sent: the fence that covers it asks for the address.
void want_address_with_fence(const local_array& array, std::int32_t pe, std::uint32_t chunk);

/// At the PE that serves a request of PE `source` for a piece of PE `owner`: the address of the chunk, if there is one.
address_in_reply address_for(std::int32_t source, array_id array, std::int32_t owner, std::uint32_t chunk);

/// What this process has done with addresses so far, as an initiator and as a target.
struct direct_access_figures {
  std::uint64_t gets = 0;  // direct ones; accesses that were split count for each chunk
  std::uint64_t puts = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t insertions = 0;
  std::uint64_t evictions = 0;
  std::uint64_t late_replies = 0;
  std::uint64_t cached = 0;     // addresses now
  std::uint64_t kept_keys = 0;  // what the adapter keeps for addresses of others; with rma=emulated nothing
  std::uint64_t registrations = 0;
  std::uint64_t deregistrations = 0;
  std::uint64_t registered_bytes = 0;       // now
  std::uint64_t most_registered_bytes = 0;  // at a time
  std::uint64_t victims = 0;
  std::uint64_t invalidations = 0;  // sent
  std::uint64_t broadcasts = 0;
  std::uint64_t without_address = 0;  // requests whose reply could not bring one
  std::uint64_t waiting_pieces = 0;   // freed ones whose memory others may still access
  std::uint64_t invalid_accesses = 0;
};
/// Zeros without --tri-rma, or with one host.
direct_access_figures direct_accesses_of_process();
/// For reports; empty without.
std::string direct_access_settings();
/// For measurements, in a process with one PE: off, nothing is looked up and no address is asked for.
void switch_address_cache(bool on);

}  // namespace tri::arrays

#pragma GCC visibility pop
