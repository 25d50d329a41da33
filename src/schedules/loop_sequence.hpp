// The worksharing loops that a team's threads encounter one after another without synchronization in between: a thread
// may be several loops ahead of another (OpenMP: nowait). All threads encounter the same loops in the same order; the
// loops are not numbered.
//
// Each loop in flight has a record, and each record names its successor. The first thread to need the successor marks
// it as `being_armed`, finds a record without a thread inside, arms it and publishes it; threads that come meanwhile
// wait for that (the only wait here: it ends within one arming). A thread leaves a record only after it has entered the
// next one, so an empty record is not named by an occupied one. The chain itself orders the choices: a thread that
// chooses number n + 1 has seen number n published. Hence records need no lock, and there are as many as are in flight.
// Records remember their loop: to arm one again that has not changed costs only its claim lines.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "schedules/worksharing_loop.hpp"

namespace tri::schedules {

struct loop_key {
  const void* site = nullptr;
  std::uint64_t items = 0;
  std::uint64_t chunk = 0;    ///< requested by the program
  std::uint64_t variant = 0;  ///< any other property that makes it a different loop
  std::uint32_t participants = 0;
  friend bool operator==(const loop_key&, const loop_key&) = default;
  /// But for the number of iterations, which may change from one execution to the next.
  bool same_loop(const loop_key& other) const {
    return site == other.site && chunk == other.chunk && variant == other.variant && participants == other.participants;
  }
};

/// The previous contents of the record found for a loop.
enum class held_before : std::uint8_t {
  another_loop,  ///< or nothing
  same_loop,     ///< with another number of iterations
  same_key
};

class loop_sequence {
  struct record;

 public:
  /// Where one participant is. Begins before the first loop of the sequence.
  class position {
   private:
    friend class loop_sequence;
    record* at_ = nullptr;
  };

  loop_sequence() = default;
  ~loop_sequence();
  loop_sequence(const loop_sequence&) = delete;
  loop_sequence& operator=(const loop_sequence&) = delete;

  /// The next loop of the participant at `here`, armed. `key()` and `arm(loop, key, held_before)` are called by the
  /// first thread, once for each loop; they must not throw.
  template <class Key, class Arm>
  worksharing_loop& enter(position& here, Key&& key, Arm&& arm) {
    record* const from = here.at_ != nullptr ? here.at_ : &root_;
    record* next = from->successor.load(std::memory_order_acquire);  // pairs: sequence.publish
    if (next == nullptr) {
      // Taking it publishes nothing; when it is lost the record may be there already. pairs: sequence.publish
      if (from->successor.compare_exchange_strong(next, being_armed(), std::memory_order_acquire)) {
        next = armed(key(), arm);
        from->successor.store(next, std::memory_order_release);  // sequence.publish
      }
    }
    if (next == being_armed()) next = wait_for_successor(*from);
    if (from != &root_) from->inside.fetch_sub(1, std::memory_order_release);  // sequence.leave
    here.at_ = next;
    return next->loop;
  }

  /// A loop that is ready before the participants of its sequence exist: armed by the only thread that is here, before
  /// any position of this round. Each participant may join() it as its first loop, if all do; if none does, it is
  /// forgotten at the next restart.
  class ready_loop {
   public:
    explicit operator bool() const { return at_ != nullptr; }
    std::uint32_t participants() const { return at_->key.participants; }

   private:
    friend class loop_sequence;
    record* at_ = nullptr;
  };
  template <class Arm>
  ready_loop make_ready(const loop_key& key, Arm&& arm) {
    ready_loop made;
    made.at_ = armed(key, arm);
    used_ = true;
    return made;
  }
  static worksharing_loop& join(position& here, const ready_loop& ready) {
    here.at_ = ready.at_;
    return ready.at_->loop;
  }

  /// Begins again: every position becomes invalid. Called when no participant is inside any more and all they did is
  /// visible (a join).
  void restart() {
    const bool entered = root_.successor.load(std::memory_order_relaxed) != nullptr;  // relaxed: we are alone
    if (entered) root_.successor.store(nullptr, std::memory_order_relaxed);           // relaxed: as above
    if (entered || used_) ++round_;
    used_ = false;
  }

  std::size_t records() const { return all_.size(); }

 private:
  struct alignas(64) record {
    worksharing_loop loop;
    loop_key key;
    bool armed = false;  // ever
    alignas(64) std::atomic<record*> successor{nullptr};
    std::atomic<std::uint64_t> inside{0};  // {round:32, participants that have not left:32}
  };
  static constexpr std::size_t remembered = 64;

  static record* being_armed() { return reinterpret_cast<record*>(std::uintptr_t{1}); }
  static record* wait_for_successor(const record& from);
  record* choose(const loop_key& key, held_before& held);
  template <class Arm>
  record* armed(const loop_key& key, Arm&& arm) {
    held_before held{};
    record* const chosen = choose(key, held);
    arm(chosen->loop, key, held);
    if (!chosen->armed) chosen->armed = true;
    return chosen;
  }
  bool is_free(const record& each) const;

  record root_;                              // before the first loop
  bool used_ = false;                        // make_ready in this round
  std::uint32_t round_ = 1;                  // of restart(): a record of an earlier round has no thread inside
  std::array<record*, remembered> table_{};  // by key
  std::vector<std::unique_ptr<record>> all_;
};

}  // namespace tri::schedules
