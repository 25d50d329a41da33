// The queues into a PE under load from two producers: one queue for both or one for each, with a lock or without; and
// two queues of others. With three cores or more every producer is a thread on a core of its own; with two cores one
// thread plays both producers, message by message in turns, so that no figure depends on how the system shares out a
// core.
#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#if __has_include(<oneapi/tbb/concurrent_queue.h>) && defined(TRIREME_BENCH_TBB)
#include <oneapi/tbb/concurrent_queue.h>
#endif

#include "framework/cacheline.hpp"
#include "framework/pinned_thread.hpp"
#include "messages/other_queues.hpp"
#include "messages/rows.hpp"
#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "sched/inbox.hpp"
#include "sched/inbox_reader.hpp"

namespace tri::bench {
namespace {

constexpr std::uint32_t producers = 2;
constexpr std::uint64_t cells = 4096;
constexpr std::uint64_t most_under_way = 192;  // per producer; so no ring is ever full
constexpr std::uint64_t report_every = 32;

struct unmap {
  std::size_t bytes;
  void operator()(std::byte* memory) const { munmap(memory, bytes); }
};
using mapped_memory = std::unique_ptr<std::byte, unmap>;

mapped_memory map_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), unmap{bytes}};
}

// An inbox in ordinary memory.
class inbox_queue {
 public:
  void push(std::uint32_t, std::uint64_t value) {
    const sched::inbox_slot slot = sched::claim(*inbox_);
    slot.message->element = value;
    sched::publish(*inbox_, slot);
  }
  std::optional<std::uint64_t> pop() {
    const sched::envelope* const message = reader_.front();
    if (message == nullptr) return std::nullopt;
    const std::uint64_t value = message->element;
    reader_.pop();
    return value;
  }

 private:
  mapped_memory memory_ = map_memory(sched::inbox_shared::required_bytes(producers, cells));
  sched::inbox_shared* inbox_ = sched::inbox_shared::initialise(memory_.get(), producers, cells);
  sched::inbox_reader reader_{*inbox_};
};

// A message of a queue that copies: the number, and the rest of its cache line.
sched::envelope message_with(std::uint64_t value) {
  sched::envelope message{};
  message.element = value;
  return message;
}

// oneTBB's concurrent_queue, where its headers were found at configure time.
#if __has_include(<oneapi/tbb/concurrent_queue.h>) && defined(TRIREME_BENCH_TBB)
constexpr bool has_tbb = true;
template <class Value>
using tbb_concurrent_queue = oneapi::tbb::concurrent_queue<Value>;
#else
constexpr bool has_tbb = false;
// Never used: `has_tbb` keeps rows from it.
template <class Value>
struct tbb_concurrent_queue {
  void push(const Value&) {}
  bool try_pop(Value&) { return false; }
};
#endif

class tbb_queue {
 public:
  void push(std::uint32_t, std::uint64_t value) { messages_.push(message_with(value)); }
  std::optional<std::uint64_t> pop() {
    sched::envelope message{};
    if (!messages_.try_pop(message)) return std::nullopt;
    return message.element;
  }

 private:
  tbb_concurrent_queue<sched::envelope> messages_;
};

// One ring for both producers, or one for each.
class locked_rings {
 public:
  explicit locked_rings(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) rings_.push_back(std::make_unique<locked_ring>(cells));
  }
  void push(std::uint32_t producer, std::uint64_t value) {
    rings_[producer % rings_.size()]->push(message_with(value));
  }
  std::optional<std::uint64_t> pop() {
    sched::envelope message;
    for (std::size_t looked = 0; looked < rings_.size(); ++looked)
      if (rings_[next_++ % rings_.size()]->pop(message)) return message.element;
    return std::nullopt;
  }

 private:
  std::vector<std::unique_ptr<locked_ring>> rings_;
  std::size_t next_ = 0;
};

class ring_with_count {
 public:
  void push(std::uint32_t, std::uint64_t value) { ring_.push(message_with(value)); }
  std::optional<std::uint64_t> pop() {
    sched::envelope message;
    return ring_.pop(message) ? std::optional(message.element) : std::nullopt;
  }

 private:
  counted_ring ring_{cells};
};

class producer_rings {
 public:
  void push(std::uint32_t producer, std::uint64_t value) { rings_.push(producer, message_with(value)); }
  std::optional<std::uint64_t> pop() {
    sched::envelope message;
    return rings_.pop(message) ? std::optional(message.element) : std::nullopt;
  }

 private:
  ring_per_producer rings_{producers, cells};
};

class mutex_deque {
 public:
  void push(std::uint32_t, std::uint64_t value) {
    const sched::envelope message = message_with(value);
    const std::lock_guard guard(lock_);
    messages_.push_back(message);
  }
  std::optional<std::uint64_t> pop() {
    const std::lock_guard guard(lock_);
    if (messages_.empty()) return std::nullopt;
    const std::uint64_t value = messages_.front().element;
    messages_.pop_front();
    return value;
  }

 private:
  std::mutex lock_;
  std::deque<sched::envelope> messages_;
};

// The consumer says now and then how many messages of each producer it has, so that producers do not run away.
struct alignas(64) progress_word {
  std::atomic<std::uint64_t> consumed{0};
};

// A thread that yields now and then while it waits still ends when it shares its core.
class patient_wait {
 public:
  void turn() {
    if (++turns_ % 4096 == 0) sched_yield();
  }

 private:
  std::uint32_t turns_ = 0;
};

template <class Queue>
class contention {
 public:
  contention(Queue& queue, const std::vector<int>& cpus) : queue_(queue), consumer_(cpus[0]) {
    const std::size_t threads = cpus.size() > producers ? producers : 1;
    for (std::size_t i = 0; i < threads; ++i) producing_.push_back(std::make_unique<pinned_thread>(cpus[1 + i]));
  }

  samples measure(const batch_runner& runner) {
    return runner.collect([this](std::uint64_t messages) {
      const std::uint64_t each = messages / producers + 1;
      double elapsed_ns = 0;
      bool disturbed = false;
      for (auto& word : progress_)
        word.consumed.store(0, std::memory_order_relaxed);  // relaxed: before the threads start
      std::atomic<std::size_t> arrived{0};
      const auto begin_together = [&] {
        patient_wait wait;
        // acq_rel and acquire: pair with each other; nothing else is published.
        arrived.fetch_add(1, std::memory_order_acq_rel);
        while (arrived.load(std::memory_order_acquire) < producing_.size() + 1) wait.turn();
      };
      consumer_.start([&] {
        begin_together();
        const std::int64_t start_ns = os::now_ns();
        consume(each);
        elapsed_ns = static_cast<double>(os::now_ns() - start_ns);
      });
      for (std::size_t i = 0; i < producing_.size(); ++i) {
        producing_[i]->start([&, i] {
          begin_together();
          produce(i, each);
        });
      }
      for (auto& thread : producing_) disturbed |= thread->wait();
      disturbed |= consumer_.wait();
      const double counted = static_cast<double>(producers * each);
      return batch_result{.elapsed_ns = elapsed_ns * static_cast<double>(messages) / counted, .disturbed = disturbed};
    });
  }

 private:
  void produce(std::size_t thread, std::uint64_t each) {
    const bool plays_all = producing_.size() < producers;
    const std::uint32_t first = plays_all ? 0 : static_cast<std::uint32_t>(thread);
    const std::uint32_t last = plays_all ? producers : first + 1;
    for (std::uint64_t i = 0; i < each; ++i) {
      for (std::uint32_t producer = first; producer < last; ++producer) {
        if (i % report_every == 0) wait_for_space(producer, i);
        queue_.push(producer, (i << 1) | producer);
      }
    }
  }
  void wait_for_space(std::uint32_t producer, std::uint64_t sent) {
    patient_wait wait;
    // pairs: queues.consumed
    while (sent > progress_[producer].consumed.load(std::memory_order_acquire) + most_under_way - report_every)
      wait.turn();
  }
  void consume(std::uint64_t each) {
    std::uint64_t got[producers] = {};
    patient_wait wait;
    for (std::uint64_t left = producers * each; left > 0;) {
      const std::optional<std::uint64_t> value = queue_.pop();
      if (!value) {
        wait.turn();
        continue;
      }
      --left;
      const std::uint64_t producer = *value & 1;
      if (*value >> 1 != got[producer]) throw std::logic_error("a queue lost a message or its order");
      if (++got[producer] % report_every == 0) {
        progress_[producer].consumed.store(got[producer], std::memory_order_release);  // pairs: queues.consumed
      }
    }
  }

  Queue& queue_;
  pinned_thread consumer_;
  std::vector<std::unique_ptr<pinned_thread>> producing_;
  progress_word progress_[producers];
};

std::vector<int> cpus_of_the_row() {
  static_cast<void>(two_cpus());  // throws when there are fewer
  std::vector<int> cpus = os::cpus_of_this_thread();
  if (cpus.size() > producers + 1) cpus.resize(producers + 1);
  return cpus;
}

template <class Queue>
samples contend(context& tools, Queue& queue) {
  return contention<Queue>(queue, cpus_of_the_row()).measure(tools.runner());
}

std::string placement_note() {
  const std::vector<int> cpus = cpus_of_the_row();
  return cpus.size() > producers
             ? fmt::format("consumer on CPU {}, producers on CPUs {} and {}", cpus[0], cpus[1], cpus[2])
             : fmt::format("consumer on CPU {}, one thread as both producers on CPU {}", cpus[0], cpus[1]);
}

template <class Queue>
measurement row_of(context& tools, Queue&& queue) {
  return {.samples = contend(tools, queue), .note = placement_note()};
}

double median_ns(const samples& measured) { return summarize(measured.operation_ns).median; }

measurement default_queue_row(context& tools) {
  measurement made = row_of(tools, inbox_queue());
  made.peers["shared_count"] = median_ns(contend(tools, *std::make_unique<ring_with_count>()));
  mutex_deque deque;
  made.peers["mutex+deque"] = median_ns(contend(tools, deque));
  if constexpr (has_tbb) {
    tbb_queue queue;
    made.peers["oneTBB"] = median_ns(contend(tools, queue));
  }
  return made;
}

}  // namespace

std::vector<row_definition> queue_rows() {
  const std::string text = "two producers, one consumer, per message of 64 bytes: ";
  return {
      {.name = "queue/mpsc",
       .unit = "ns",
       .description = text + "one queue without a lock, the inbox of a PE",
       .measure = default_queue_row},
      {.name = "queue/spsc",
       .unit = "ns",
       .description = text + "a queue for each producer without a lock",
       .measure = [](context& tools) { return row_of(tools, producer_rings()); }},
      {.name = "queue/locked",
       .unit = "ns",
       .description = text + "one queue with a lock",
       .measure = [](context& tools) { return row_of(tools, locked_rings(1)); }},
      {.name = "queue/locked_per_producer",
       .unit = "ns",
       .description = text + "a queue with a lock for each producer",
       .measure = [](context& tools) { return row_of(tools, locked_rings(producers)); }},
  };
}

}  // namespace tri::bench
