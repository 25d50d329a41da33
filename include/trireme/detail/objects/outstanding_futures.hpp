// The outstanding futures of an element: made by its methods, with a promise that may still be set. They cannot migrate
// to another process, so the element stays in its own until there are none. A future may end on any PE of the process
// and after its element; whichever ends last deletes this. Created by the element's PE, decremented by the thread that
// owns the future.
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::objects {

class outstanding_futures {
 public:
  outstanding_futures(std::uint32_t collection, std::uint64_t element) : collection_(collection), element_(element) {}
  outstanding_futures(const outstanding_futures&) = delete;
  outstanding_futures& operator=(const outstanding_futures&) = delete;

  // relaxed: by the element's own thread, and nothing else is written with it
  void add() { word_.fetch_add(1, std::memory_order_relaxed); }
  /// Only the caller's thread can add futures, so a result of true remains true until it does. acquire: a future's end
  /// elsewhere happens before the caller's next actions. pairs: outstanding_futures.end
  bool none() const { return (word_.load(std::memory_order_acquire) & futures) == 0; }
  /// The thread that ends the last future notifies the element. acq_rel: see none(); every change is one of the same
  /// word, so either none() sees the end of a future or that end sees this.
  void wait_for_end(bool wanted) {
    if (wanted)
      word_.fetch_or(awaited, std::memory_order_acq_rel);
    else
      word_.fetch_and(~awaited, std::memory_order_acq_rel);
  }

  struct ended_future {
    bool is_last_and_awaited;
    std::uint32_t collection;
    std::uint64_t element;
  };
  /// A future has given its value or has ended. `this` may be gone afterwards.
  ended_future end_one() {
    ended_future ended{false, collection_, element_};
    const std::uint32_t before = end(1);  // pairs: outstanding_futures.end
    ended.is_last_and_awaited = (before & futures) == 1 && (before & alive) != 0 && (before & awaited) != 0;
    return ended;
  }
  /// The element ends, or leaves the process.
  void end_element() { end(alive); }

 private:
  static constexpr std::uint32_t alive = 1U << 31;    // the element
  static constexpr std::uint32_t awaited = 1U << 30;  // it waits for the last one
  static constexpr std::uint32_t futures = awaited - 1;

  ~outstanding_futures() = default;
  // acq_rel: all others happen before the thread that deletes this. pairs: outstanding_futures.end
  std::uint32_t end(std::uint32_t what) {
    const std::uint32_t before = word_.fetch_sub(what, std::memory_order_acq_rel);
    if (((before - what) & (alive | futures)) == 0) delete this;
    return before;
  }

  std::atomic<std::uint32_t> word_{alive};
  const std::uint32_t collection_;
  const std::uint64_t element_;
};

/// Ends one, and notifies the element if it waits for that.
void end_outstanding_future(outstanding_futures& outstanding);

}  // namespace tri::objects

#pragma GCC visibility pop
