// One side of a measurement: the communication of the two processes, implemented over the port and over UCX itself. The
// follower serves until it is killed. One thread, unless the task has more senders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "framework/cacheline.hpp"
#include "wire/task.hpp"

namespace tri::bench {

class backend {
 public:
  virtual ~backend() = default;
  virtual std::vector<std::byte> address() = 0;
  virtual void connect(std::span<const std::byte> other) = 0;

  /// The leader: there and back, `rounds` times.
  virtual void ping_pong(std::uint64_t rounds) = 0;
  /// The leader: `messages` in one direction, and an answer to the last one.
  virtual void stream(std::uint64_t messages) = 0;
  /// The leader: `in_flight` messages there and each of them back, `steps` times.
  virtual void multi_ping_pong(std::uint64_t, std::uint64_t) {
    throw std::logic_error("this competitor has one message in flight");
  }
  /// The leader: lets serve() of the other side return.
  virtual void stop() {}
  /// The follower, until it is stopped or killed. `asleep`: it waits on the descriptor.
  virtual void serve(bool asleep) = 0;
};

/// `number` is 0 for the leader and 1 for the follower.
std::unique_ptr<backend> make_port_backend(const wire_task& task, unsigned number, const cpu_pair& cpus);
std::unique_ptr<backend> make_raw_ucx_backend(const wire_task& task, unsigned number);

/// The limit of sends in flight.
inline std::uint64_t window_of(const wire_task& task) { return task.bytes >= 65536 ? 16 : 4096; }

/// The name of a place's device.
inline const char* device_of(const wire_task& task, unsigned number) {
  return task.place == "loopback" ? "lo" : number == 0 ? "trireme0" : "trireme1";
}

}  // namespace tri::bench
