// Who has a lock and who waits for it, in the order in which they asked; on the PE that keeps the lock. Its end is a
// request like others: it comes behind all that were made before it, and those behind it are refused. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace tri::arrays {

class lock_queue {
 public:
  struct request {
    std::int32_t pe;
    std::uint64_t number;  // of that PE's requests
    bool is_end = false;
    friend bool operator==(const request&, const request&) = default;
  };
  /// True: it has the lock now. False: it waits.
  bool ask(const request& one) {
    requests_.push_back(one);
    return requests_.size() == 1;
  }
  /// The holder has released it. True: the next one is the holder now.
  bool release() {
    requests_.pop_front();
    return !requests_.empty();
  }
  bool empty() const { return requests_.empty(); }
  /// Not of an empty one.
  const request& holder() const { return requests_.front(); }
  std::size_t waiting() const { return requests_.empty() ? 0 : requests_.size() - 1; }
  /// All of them; afterwards it is empty.
  std::deque<request> take_all() { return std::exchange(requests_, {}); }

 private:
  std::deque<request> requests_;  // the first one holds it
};

}  // namespace tri::arrays
