#include "network/ethernet_switch.hpp"

#include <algorithm>
#include <cstring>

namespace tri::bench {
namespace {

constexpr std::size_t address_bytes = 6;
constexpr std::size_t most_addresses = 4096;  // a host that invents addresses must not fill our memory

// The lowest bit of the first byte: for a group of hosts, or all.
bool is_for_many(std::byte first) { return (first & std::byte{1}) != std::byte{0}; }

}  // namespace

ethernet_switch::ethernet_switch(std::size_t ports, std::int64_t delay_ns, std::size_t header_bytes,
                                 std::size_t most_bytes)
    : ports_(ports), delay_ns_(delay_ns), header_bytes_(header_bytes), most_bytes_(most_bytes) {}

ethernet_switch::address ethernet_switch::address_at(std::span<const std::byte> frame, std::size_t offset) const {
  address found;
  std::memcpy(found.data(), frame.data() + header_bytes_ + offset, address_bytes);
  return found;
}

void ethernet_switch::arrive(std::size_t port, std::span<const std::byte> frame, std::int64_t now_ns) {
  constexpr std::size_t ethernet_header = 14;
  if (frame.size() < header_bytes_ + ethernet_header || held_bytes_ + frame.size() > most_bytes_) {
    ++counters_.dropped;
    return;
  }
  const address to = address_at(frame, 0), from = address_at(frame, address_bytes);
  if (!is_for_many(from[0]) && (port_of_.contains(from) || port_of_.size() < most_addresses)) port_of_[from] = port;
  std::size_t to_port = all_ports;
  if (const auto known = port_of_.find(to); !is_for_many(to[0]) && known != port_of_.end()) to_port = known->second;
  if (to_port == port) return;  // its host has it
  held_frame& held = held_.emplace_back(
      held_frame{now_ns, port, to_port, frame.size(), std::make_unique_for_overwrite<std::byte[]>(frame.size())});
  std::memcpy(held.bytes.get(), frame.data(), frame.size());
  held_bytes_ += frame.size();
}

std::int64_t ethernet_switch::next_ns() const {
  return held_.empty() ? std::numeric_limits<std::int64_t>::max() : held_.front().arrived_ns + delay_ns_;
}

void ethernet_switch::leave(const std::function<std::int64_t()>& now,
                            const std::function<bool(std::size_t, std::span<const std::byte>)>& send) {
  while (!held_.empty()) {
    const std::int64_t now_ns = now();
    if (next_ns() > now_ns) return;
    const held_frame frame = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= frame.size;
    const std::int64_t held_ns = now_ns - frame.arrived_ns;
    ++counters_.left;
    counters_.all_held_ns += held_ns;
    counters_.least_held_ns = std::min(counters_.least_held_ns, held_ns);
    counters_.most_held_ns = std::max(counters_.most_held_ns, held_ns);
    for (std::size_t port = 0; port < ports_; ++port) {
      if (port == frame.from || (frame.to != all_ports && port != frame.to)) continue;
      if (send(port, {frame.bytes.get(), frame.size})) {
        ++counters_.frames;
        counters_.bytes += frame.size;
      } else {
        ++counters_.dropped;
      }
    }
  }
}

}  // namespace tri::bench
