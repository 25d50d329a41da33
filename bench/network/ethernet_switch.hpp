// An Ethernet switch that holds back every frame for the same time, as a long cable would. It learns at which port an
// address is from what comes from there; frames for addresses that it has not seen, and for all, go to all other ports.
// What came first leaves first, so the order between any two hosts is kept. No I/O and no clock: the caller says what
// time it is. Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace tri::bench {

struct switch_counters {
  std::uint64_t frames = 0;  ///< that have left, each once for each port
  std::uint64_t bytes = 0;   ///< of these, with all headers
  std::uint64_t dropped = 0;
  std::uint64_t left = 0;  ///< frames whose time was over, also those that no port took
  std::int64_t least_held_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_held_ns = 0;
  std::int64_t all_held_ns = 0;
};

class ethernet_switch {
 public:
  /// In front of the Ethernet header of each frame are `header_bytes` that belong to it. While frames of `most_bytes`
  /// are held back, further ones are dropped.
  ethernet_switch(std::size_t ports, std::int64_t delay_ns, std::size_t header_bytes, std::size_t most_bytes);

  /// A frame has come from this port.
  void arrive(std::size_t port, std::span<const std::byte> frame, std::int64_t now_ns);

  /// When the next frame is to leave; the end of time while none is held back.
  std::int64_t next_ns() const;

  /// Sends all that is due by now; send() says whether the port took the frame. `now` is asked before each, so that
  /// what becomes due meanwhile leaves too.
  void leave(const std::function<std::int64_t()>& now,
             const std::function<bool(std::size_t port, std::span<const std::byte> frame)>& send);

  const switch_counters& counters() const { return counters_; }

 private:
  using address = std::array<std::byte, 6>;
  static constexpr std::size_t all_ports = ~std::size_t{0};

  struct held_frame {
    std::int64_t arrived_ns = 0;
    std::size_t from = 0;
    std::size_t to = 0;  // or all_ports
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };

  address address_at(std::span<const std::byte> frame, std::size_t offset) const;

  const std::size_t ports_;
  const std::int64_t delay_ns_;
  const std::size_t header_bytes_;
  const std::size_t most_bytes_;
  std::size_t held_bytes_ = 0;
  std::map<address, std::size_t> port_of_;
  std::deque<held_frame> held_;
  switch_counters counters_;
};

}  // namespace tri::bench
