#include "wire/cache_backend.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "wire/port.hpp"

namespace tri::bench {
namespace {

// Mei's computation: random accesses to 24 KiB.
class computation {
 public:
  /// A few microseconds. Each access needs the one before it.
  void piece() {
    std::uint32_t state = state_;
    for (int access = 0; access < 1024; ++access) {
      std::uint32_t& word = data_[(state >> 8U) % data_.size()];
      word += state;
      state = state * 1664525U + 1013904223U + (word & 1U);
    }
    state_ = state;
  }

 private:
  std::array<std::uint32_t, (24U << 10U) / sizeof(std::uint32_t)> data_{};
  std::uint32_t state_ = 1;
};

class port_cache_backend final : public cache_backend, private wire::port_user {
 public:
  port_cache_backend(const wire_task& task, unsigned number, const cpu_pair& cpus)
      : task_(task), number_(number), cpus_(cpus), block_(task.bytes), places_(task.bytes * places) {
    wire::port_options options;
    options.transports = "tcp";
    options.devices = device_of(task, number);
    port_ = wire::open_port(
        wire::conduit_named(task.conduit), number, 2, *this, [this](wire::peer_number) { return other_; }, options);
  }
  port_cache_backend(const port_cache_backend&) = delete;
  port_cache_backend& operator=(const port_cache_backend&) = delete;
  ~port_cache_backend() override { end_handler(); }

  std::vector<std::byte> address() override { return {port_->address().begin(), port_->address().end()}; }
  void connect(std::span<const std::byte> other) override { other_.assign(other.begin(), other.end()); }

  // Connects; then messages continue for ever.
  void ping_pong(std::uint64_t rounds) override {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t before = handled();
      send();
      while (handled() == before) port_->progress();
    }
    if (task_.division == "undisturbed") return;
    go_on_ = true;
    for (int i = 0; i < task_.in_flight; ++i) send();
    if (task_.division != "separated") return;
    handler_ = std::thread([this] {
      os::pin_this_thread(cpus_.second);
      while (!over_.load(std::memory_order_relaxed))  // relaxed: only an end
        if (!port_->progress()) std::this_thread::yield();
    });
  }
  void stream(std::uint64_t) override { throw std::logic_error("no stream of messages beside a computation"); }

  // The port is no longer used: the follower may be killed.
  void stop() override { end_handler(); }

  void serve(bool) override {
    go_on_ = true;
    for (;;)
      if (!port_->progress()) std::this_thread::yield();
  }

  cache_batch compute(std::uint64_t pieces) override {
    const std::uint64_t handled_before = handled();
    std::int64_t elapsed_ns = 0;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t start_ns = os::now_ns();
      computation_.piece();
      elapsed_ns += os::now_ns() - start_ns;
      handle_messages();
    }
    const auto of_each = [&](auto total) { return static_cast<double>(total) / static_cast<double>(pieces); };
    cache_batch done{.piece_ns = of_each(elapsed_ns), .messages = of_each(handled() - handled_before)};
    if (misses_ == nullptr) return done;
    // Again, as the counting calls are not part of the time.
    std::uint64_t missed = 0;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      std::uint64_t before = 0, after = 0;
      misses_->read({&before, 1});
      computation_.piece();
      misses_->read({&after, 1});
      missed += after - before;
      handle_messages();
    }
    done.misses = of_each(missed);
    return done;
  }

 private:
  static constexpr std::size_t places = 16;  // where messages come, in turn

  void end_handler() {
    over_.store(true, std::memory_order_relaxed);  // relaxed: join orders the rest
    if (handler_.joinable()) handler_.join();
  }
  // Mixed: the computing thread's work between two pieces. At least one message.
  void handle_messages() {
    if (task_.division != "mixed") return;
    const std::uint64_t before = handled();
    while (handled() == before) port_->progress();
  }
  std::uint64_t handled() const { return handled_.load(std::memory_order_relaxed); }  // relaxed: a count
  void send() {
    const std::uint64_t header = 0;
    port_->send(1 - number_, std::as_bytes(std::span(&header, 1)),
                {.block = block_.data(), .bytes = block_.size(), .release = [](void*) {}});
  }
  void* memory_for(wire::peer_number, std::span<const std::byte>, std::size_t) override {
    next_place_ = (next_place_ + 1) % places;
    return places_.data() + next_place_ * task_.bytes;
  }
  // Uses the message, as any handler does.
  void arrived(wire::peer_number, std::span<const std::byte>, void* body, std::size_t bytes) override {
    for (std::size_t at = 0; at < bytes; at += sizeof used_) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(body) + at, sizeof word);
      used_ += word;
    }
    handled_.store(handled() + 1, std::memory_order_relaxed);  // relaxed: a count; one thread at a time is here
    if (go_on_) send();
  }
  void abandoned(void*) override {}
  void peer_failed(wire::peer_number, const std::string&) override { std::_Exit(1); }

  const wire_task task_;
  const unsigned number_;
  const cpu_pair cpus_;  // of the two processes
  std::vector<std::byte> block_, places_, other_;
  std::size_t next_place_ = 0;
  std::uint64_t used_ = 0;
  std::atomic<std::uint64_t> handled_{0};
  std::atomic<bool> over_{false};
  bool go_on_ = false;
  computation computation_;
  std::unique_ptr<os::perf_counters> misses_ = first_cache_misses();
  std::unique_ptr<wire::port> port_;
  std::thread handler_;
};

}  // namespace

std::unique_ptr<os::perf_counters> first_cache_misses(std::string* why) {
  const std::string names[] = {"L1-dcache-load-misses"};
  try {
    return std::make_unique<os::perf_counters>(names);
  } catch (const os::perf_error& error) {
    if (why != nullptr) *why = error.what();
    return nullptr;
  }
}

std::unique_ptr<cache_backend> make_cache_backend(const wire_task& task, unsigned number, const cpu_pair& cpus) {
  return std::make_unique<port_cache_backend>(task, number, cpus);
}

void print_cache_batches(cache_backend& leader, const wire_task& task) {
  // Short, so that most batches lose no slice of time to other programs.
  constexpr std::uint64_t pieces = 100;
  leader.compute(pieces);
  const std::int64_t end_ns = os::now_ns() + static_cast<std::int64_t>(task.seconds * 1e9);
  bool has_handled = task.division == "undisturbed";  // however busy the core of the other thread is
  do {
    const cache_batch batch = leader.compute(pieces);
    has_handled |= batch.messages > 0;
    fmt::print("{} {}", batch.piece_ns, batch.messages);
    if (batch.misses) fmt::print(" {}", *batch.misses);
    fmt::print("\n");
    std::fflush(stdout);
  } while (os::now_ns() < end_ns || !has_handled);
  leader.stop();
}

cache_batch read_cache_batch(const std::string& line) {
  std::istringstream words(line);
  cache_batch batch;
  if (!(words >> batch.piece_ns >> batch.messages))
    throw std::runtime_error(fmt::format("a competitor of the suite wire printed '{}'", line));
  if (double misses = 0; words >> misses) batch.misses = misses;
  return batch;
}

}  // namespace tri::bench
