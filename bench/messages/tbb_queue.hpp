// oneTBB's concurrent_queue as a peer of our queues, where its headers were found at configure time.
#pragma once

#include <cstdint>
#include <optional>

#if __has_include(<oneapi/tbb/concurrent_queue.h>) && defined(TRIREME_BENCH_TBB)
#include <oneapi/tbb/concurrent_queue.h>
#endif

#include "trireme/detail/sched/envelope.hpp"

namespace tri::bench {

#if __has_include(<oneapi/tbb/concurrent_queue.h>) && defined(TRIREME_BENCH_TBB)
inline constexpr bool has_tbb = true;
template <class Value>
using tbb_concurrent_queue = oneapi::tbb::concurrent_queue<Value>;
#else
inline constexpr bool has_tbb = false;
// Never used: `has_tbb` keeps rows from it.
template <class Value>
struct tbb_concurrent_queue {
  void push(const Value&) {}
  bool try_pop(Value&) { return false; }
};
#endif

class tbb_queue {
 public:
  void push(std::uint32_t, std::uint64_t value) {
    sched::envelope message{};
    message.element = value;
    messages_.push(message);
  }
  std::optional<std::uint64_t> pop() {
    sched::envelope message{};
    if (!messages_.try_pop(message)) return std::nullopt;
    return message.element;
  }

 private:
  tbb_concurrent_queue<sched::envelope> messages_;
};

}  // namespace tri::bench
