// The stages by which a loop of a runtime with messages became cheap, after C. Mei, PhD dissertation, Illinois 2012,
// chapter 5: each removes one cost of the previous stage. Two threads, two chunks per loop; the caller also runs chunks
// and waits for a counter. Each stage is minimal, to be measured beside the real implementation.
//   node_queue    a message for each chunk, from the heap, in a queue for all kinds of messages: a lock that may
//                 sleep, priorities, the handler looked up by its number
//   simple_queue  a queue for chunks alone: a spin lock, no priorities, no handlers
//   recycled      its messages are in a ring and reused
//   micro_queue   one descriptor for the loop; chunks are taken by incrementing a counter, without queues or locks
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "loops/competitor_of.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::bench {
namespace {

constexpr int chunks = 2;

class spin_lock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {         // pairs: steps.lock
      while (taken_.load(std::memory_order_relaxed)) os::cpu_relax();  // relaxed: the exchange decides
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }  // pairs: steps.lock

 private:
  std::atomic<bool> taken_{false};
};

struct loop_descriptor {
  void (*run)(const void* body, int first, int last) = nullptr;
  const void* body = nullptr;
  int n = 0;
  alignas(64) std::atomic<int> next{0};
  alignas(64) std::atomic<int> finished{0};
};

struct chunk_message {
  loop_descriptor* loop = nullptr;
  int first = 0;
  int last = 0;
};

void run_chunk(const chunk_message& message) {
  message.loop->run(message.loop->body, message.first, message.last);
  message.loop->finished.fetch_add(1, std::memory_order_release);  // pairs: steps.finished
}

class node_queue {
 public:
  node_queue() : handlers_{{7, &run_chunk}} {}
  void push(const chunk_message& message) {
    auto block = std::make_unique<general_message>(general_message{7, message});
    const std::lock_guard guard(lock_);
    messages_.emplace(0, std::move(block));
  }
  bool run_next() {
    std::unique_ptr<general_message> message;
    {
      const std::lock_guard guard(lock_);
      if (messages_.empty()) return false;
      message = std::move(messages_.begin()->second);
      messages_.erase(messages_.begin());
    }
    handlers_.at(message->handler)(message->chunk);
    return true;
  }

 private:
  struct general_message {
    int handler;
    chunk_message chunk;
  };
  std::unordered_map<int, void (*)(const chunk_message&)> handlers_;
  std::mutex lock_;
  std::multimap<int, std::unique_ptr<general_message>> messages_;  // by priority
};

class simple_queue {
 public:
  void push(const chunk_message& message) {
    auto block = std::make_unique<chunk_message>(message);
    const std::lock_guard guard(lock_);
    messages_.push_back(std::move(block));
  }
  bool run_next() {
    std::unique_ptr<chunk_message> message;
    {
      const std::lock_guard guard(lock_);
      if (messages_.empty()) return false;
      message = std::move(messages_.front());
      messages_.pop_front();
    }
    run_chunk(*message);
    return true;
  }

 private:
  spin_lock lock_;
  std::deque<std::unique_ptr<chunk_message>> messages_;
};

class recycled_queue {
 public:
  void push(const chunk_message& message) {
    const std::lock_guard guard(lock_);
    ring_[last_++ % ring_.size()] = message;  // never more than the chunks of one loop
  }
  bool run_next() {
    chunk_message message;
    {
      const std::lock_guard guard(lock_);
      if (first_ == last_) return false;
      message = ring_[first_++ % ring_.size()];
    }
    run_chunk(message);
    return true;
  }

 private:
  spin_lock lock_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::array<chunk_message, 8> ring_{};
};

class steps_runtime {
 public:
  explicit steps_runtime(const comparison_setup& setup) {
    os::pin_this_thread(setup.first_cpu);
    helper_ = std::thread([this, cpu = setup.second_cpu] {
      os::pin_this_thread(cpu);
      help();
    });
  }
  ~steps_runtime() {
    stopping_.store(true, std::memory_order_relaxed);  // relaxed: join orders the rest
    helper_.join();
  }
  steps_runtime(const steps_runtime&) = delete;
  steps_runtime& operator=(const steps_runtime&) = delete;

  static std::string name() { return "steps"; }
  static std::vector<std::string> schedules() { return {"node_queue", "simple_queue", "recycled", "micro_queue"}; }

  template <class Body>
  void loop(std::size_t schedule, std::size_t, int n, const Body& body) {
    loop_descriptor& loop = loops_[loop_number_++ % loops_.size()];
    loop.run = [](const void* given, int first, int last) {
      for (int i = first; i < last; ++i) (*static_cast<const Body*>(given))(i);
    };
    loop.body = &body;
    loop.n = n;
    loop.finished.store(0, std::memory_order_relaxed);  // relaxed: published by the queue, or by `next`
    stage_.store(schedule, std::memory_order_relaxed);  // relaxed: a helper at the wrong queue only comes late
    switch (schedule) {
      case 0:
        run_queued(general_, loop);
        break;
      case 1:
        run_queued(simple_, loop);
        break;
      case 2:
        run_queued(recycled_, loop);
        break;
      default:
        loop.next.store(0, std::memory_order_release);  // pairs: steps.next; a late helper may begin right now
        note_.store(&loop, std::memory_order_release);  // pairs: steps.note
        take_chunks(loop);
        wait_for(loop);
        break;
    }
  }

 private:
  static chunk_message chunk_of(loop_descriptor& loop, int number) {
    return {&loop, loop.n * number / chunks, loop.n * (number + 1) / chunks};
  }
  template <class Queue>
  void run_queued(Queue& queue, loop_descriptor& loop) {
    for (int number = 0; number < chunks; ++number) queue.push(chunk_of(loop, number));
    while (queue.run_next()) {
    }
    wait_for(loop);
  }
  static void take_chunks(loop_descriptor& loop) {
    for (int number = 0; (number = loop.next.fetch_add(1, std::memory_order_acq_rel)) < chunks;)  // pairs: steps.next
      run_chunk(chunk_of(loop, number));
  }
  static void wait_for(const loop_descriptor& loop) {
    for (std::uint32_t looks = 0; loop.finished.load(std::memory_order_acquire) < chunks;) {  // pairs: steps.finished
      if (++looks % 1024 == 0)
        std::this_thread::yield();
      else
        os::cpu_relax();
    }
  }
  void help() {
    std::uint32_t idle = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {                 // relaxed: see the destructor
      const std::size_t stage = stage_.load(std::memory_order_relaxed);  // relaxed: see loop()
      bool worked = false;
      if (stage == 0) worked = general_.run_next();
      if (stage == 1) worked = simple_.run_next();
      if (stage == 2) worked = recycled_.run_next();
      if (stage == 3) {
        loop_descriptor* const noted = note_.load(std::memory_order_acquire);  // pairs: steps.note
        // relaxed: only saves a count; a number that is out of date costs one more look
        worked = noted != nullptr && noted->next.load(std::memory_order_relaxed) < chunks;
        if (worked) take_chunks(*noted);
      }
      if (worked)
        idle = 0;
      else if (++idle % 4096 == 0)
        std::this_thread::yield();
      else
        os::cpu_relax();
    }
  }

  node_queue general_;
  simple_queue simple_;
  recycled_queue recycled_;
  // Several in turn, so that a note which comes late finds a loop that is over, or begins the next one early.
  std::array<loop_descriptor, 8> loops_;
  std::size_t loop_number_ = 0;
  alignas(64) std::atomic<loop_descriptor*> note_{nullptr};
  std::atomic<std::size_t> stage_{0};
  std::atomic<bool> stopping_{false};
  std::thread helper_;
};

}  // namespace

std::unique_ptr<competitor> steps_competitor(const comparison_setup& setup) {
  return std::make_unique<competitor_of<steps_runtime>>(setup);
}

}  // namespace tri::bench
