// The zero-copy sends of one PE: what it has exposed, and what it receives (trireme/zero_copy.hpp). Used by its thread
// only.
//
// The reference is the one thing that says whether an exposure lives: it is received once, or ends unread, and then its
// sender hears of it (exposure_end). Until then the record stays, even when the sender has withdrawn the memory.
#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "objects/messages/exposure_word.hpp"
#include "trireme/zero_copy.hpp"

namespace tri::objects {

/// Exposed memory, in the arena, so that receivers of the host can read it without the sender.
struct alignas(64) exposed_memory {
  exposure_word use;
  std::uint32_t pe;
  const std::byte* data;
  std::uint64_t bytes;
  std::uint64_t number;
  pid_t process;
  bool is_in_arena;  // any process of the host may read it
};

/// How an exposure ends.
enum class exposure_end : std::uint32_t { received, unread, withdrawn, unreadable };

class exposure_state;

/// What the future says that learns of it; `pe` is the sender.
std::string text_of(exposure_end how, std::uint64_t bytes, std::uint32_t pe);
/// To the sender: the reference has ended.
void post_exposure_end(sched::pe& here, std::uint32_t pe, std::uint64_t number, exposure_end how);
/// To the sender, which answers the transfer `key` of this PE.
void post_request(sched::pe& here, std::uint32_t pe, std::uint64_t number, std::uint64_t key);
/// One look at the wire, or a yield: while another thread reads or writes memory that this PE wants back.
void progress_or_yield(const sched::pe& here) noexcept;

class exposed_memories {
 public:
  explicit exposed_memories(sched::pe& here) : here_(here), next_key_(std::uint64_t(here.number()) << 40 | 1) {}
  exposed_memories(const exposed_memories&) = delete;
  exposed_memories& operator=(const exposed_memories&) = delete;
  ~exposed_memories();

  // ---- of this PE as sender
  exposed_memory& expose(const void* data, std::size_t bytes);
  void awaited_by(const exposed_memory& memory, exposure_state* waiting) {
    exposed_.at(memory.number).waiting = waiting;
  }
  /// The sender's future has ended: afterwards nothing reads the memory.
  void withdraw(std::uint64_t number) noexcept;
  /// Messages; a number that names no exposure ends the job.
  void ended(const sched::envelope& message, exposure_end how);
  void requested(const sched::envelope& message, std::uint64_t key, int receiver);

  // ---- of this PE as receiver
  std::uint64_t expect(incoming_memory& transfer);
  /// Null: it is no longer expected.
  incoming_memory* take(std::uint64_t key);

 private:
  struct exposure {
    exposed_memory* memory;
    exposure_state* waiting;  // null: withdrawn
  };
  exposure& find(const sched::envelope& message);
  void forget(const exposure& over);
  void send_to_host(const exposure& which, std::uint64_t key, int receiver);
  void send_staged(const exposure& which, std::uint64_t key, int receiver);

  sched::pe& here_;
  std::unordered_map<std::uint64_t, exposure> exposed_;
  std::unordered_map<std::uint64_t, incoming_memory*> expected_;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_key_;  // keys are unique in the process
};

}  // namespace tri::objects
