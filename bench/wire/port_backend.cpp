// The measured loops over a port of ours.
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "os/cpu/pinning.hpp"
#include "wire/backend.hpp"
#include "wire/port.hpp"

namespace tri::bench {
namespace {

enum class word : std::uint64_t { ball, item, last_item, answer, over };

class port_backend final : public backend, private wire::port_user {
 public:
  port_backend(const wire_task& task, unsigned number, const cpu_pair& cpus)
      : task_(task), number_(number), cpus_(cpus), block_(task.bytes), place_(task.bytes) {
    wire::port_options options;
    options.transports = "tcp";
    options.devices = device_of(task, number);
    options.funnelled = task.division == "funnelled";
    if (!task.coalesced) options.coalesce_messages = 1;
    if (task.posted) options.mpi.posted = std::to_string(task.in_flight) + "x" + std::to_string(task.bytes);
    if (task.memory >= 0) options.message_memory = static_cast<std::uint64_t>(task.memory);
    port_ = wire::open_port(
        wire::conduit_named(task.conduit), number, 2, *this, [this](wire::peer_number) { return other_; }, options);
  }

  std::vector<std::byte> address() override { return {port_->address().begin(), port_->address().end()}; }
  void connect(std::span<const std::byte> other) override { other_.assign(other.begin(), other.end()); }

  void ping_pong(std::uint64_t rounds) override {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t before = came_;
      send(word::ball);
      while (came_ == before) port_->progress();
    }
  }

  void stream(std::uint64_t messages) override {
    const std::uint64_t before = came_;
    if (task_.senders > 1) {
      send_from_threads(messages - 1);
    } else {
      for (std::uint64_t message = 1; message < messages; ++message) send_one(message);
    }
    send(word::last_item);
    while (came_ == before) port_->progress();
  }

  void multi_ping_pong(std::uint64_t steps, std::uint64_t in_flight) override {
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::uint64_t before = came_;
      for (std::uint64_t i = 0; i < in_flight; ++i) send(word::ball);
      while (came_ < before + in_flight) port_->progress();
    }
  }

  void stop() override {
    const word over = word::over;
    port_->send(1 - number_, std::as_bytes(std::span(&over, 1)), {});
    port_->flush();
  }

  void serve(bool asleep) override {
    while (!over_) {
      if (port_->progress()) continue;
      given_back_ += std::exchange(kept_, 0);
      if (!asleep || !port_->prepare_sleep()) continue;
      pollfd waiting = {.fd = port_->wake_descriptor(), .events = POLLIN, .revents = 0};
      const std::int64_t most_ns = port_->longest_sleep_ns();  // MPI has no wake-up
      const timespec limit = {.tv_sec = 0, .tv_nsec = std::min<std::int64_t>(most_ns, 999'999'999)};
      ppoll(&waiting, 1, most_ns < 0 ? nullptr : &limit, nullptr);
    }
  }

 private:
  void send(word what) {
    // Small messages are all header.
    if (task_.bytes > sizeof what) {
      ++out_;
      port_->send(1 - number_, std::as_bytes(std::span(&what, 1)),
                  {.block = block_.data(), .bytes = block_.size(), .release = [](void*) { --out_; }});
    } else {
      port_->send(1 - number_, std::as_bytes(std::span(&what, 1)), {});
    }
  }
  void send_one(std::uint64_t message) {
    send(word::item);
    if (message % 256 == 0 || out_ >= window_of(task_)) port_->progress();
    while (out_ >= window_of(task_)) port_->progress();
  }
  void send_from_threads(std::uint64_t messages) {
    const bool all = task_.division == "all";
    const bool spread = task_.division == "spread";
    std::atomic<int> running{task_.senders};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < task_.senders; ++thread)
      threads.emplace_back([&] {
        if (spread) os::pin_this_thread(thread % 2 == 0 ? cpus_.first : cpus_.second);
        const std::uint64_t own = messages / static_cast<std::uint64_t>(task_.senders);
        for (std::uint64_t message = 1; message <= own; ++message) {
          send(word::item);
          if (all && message % 256 == 0) port_->progress();
          while (out_.load(std::memory_order_relaxed) >= window_of(task_)) {  // relaxed: a count
            if (all) port_->progress();
            std::this_thread::yield();
          }
        }
        --running;
      });
    while (running.load() != 0) {
      if (all || !port_->progress()) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
  }

  void* memory_for(wire::peer_number, std::span<const std::byte>, std::size_t) override { return place_.data(); }
  void arrived(wire::peer_number, std::span<const std::byte> header, void*, std::size_t bytes) override {
    (task_.what == "unexpected_flood" && number_ == 1 ? kept_ : given_back_) += wire::message_cost(bytes);
    word what = word::ball;
    std::memcpy(&what, header.data(), sizeof what);
    ++came_;
    if (number_ == 0) return;
    if (what == word::ball) send(word::ball);
    if (what == word::over) over_ = true;
    if (what == word::last_item) port_->send(0, std::as_bytes(std::span(&answer_, 1)), {});
  }
  std::uint64_t memory_given_back() override { return given_back_; }
  void abandoned(void*) override {}
  void peer_failed(wire::peer_number, const std::string&) override { std::_Exit(1); }

  static inline std::atomic<std::uint64_t> out_{0};  // bodies that are not released
  const wire_task task_;
  const unsigned number_;
  const cpu_pair cpus_;  // of the two processes
  const word answer_ = word::answer;
  std::vector<std::byte> block_, place_;
  std::vector<std::byte> other_;
  std::uint64_t came_ = 0;
  bool over_ = false;
  std::uint64_t kept_ = 0, given_back_ = 0;  // bytes of messages that came, as the port counts them
  std::unique_ptr<wire::port> port_;
};

}  // namespace

std::unique_ptr<backend> make_port_backend(const wire_task& task, unsigned number, const cpu_pair& cpus) {
  return std::make_unique<port_backend>(task, number, cpus);
}

}  // namespace tri::bench
