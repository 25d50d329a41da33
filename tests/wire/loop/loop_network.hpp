// A network inside one process, for tests: conduits (loop_conduit.hpp) meet here. Time is virtual: it moves by one tick
// with each progress() that found nothing to do. Delays, the order of packets and of the pieces of bodies, whether
// memory of a send is free at once or later, and what of a dying peer still arrives all follow from a seed. Any thread;
// one lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "wire/conduit.hpp"

namespace tri::wire {

struct loop_options {
  std::uint64_t seed = 1;
  std::uint32_t longest_delay = 20;  // ticks that a packet takes, at most
  std::size_t piece_bytes = 4096;    // a body moves in pieces of this size
  unsigned late_percent = 50;        // of sends whose memory is read later, and must stay until then
};

class loop_network {
 public:
  loop_network(std::size_t peers, const loop_options& options);
  ~loop_network();
  loop_network(const loop_network&) = delete;
  loop_network& operator=(const loop_network&) = delete;

  std::size_t peers() const { return members_.size(); }

  /// The peer stops in the middle of everything; the others hear of it some ticks later.
  void kill(peer_number peer);

  /// From now on nothing comes from the peer and nothing reaches it, and no side is notified.
  void cut_off(peer_number peer);

  /// Bytes of bodies that packets on their way hold: nothing of announced bodies.
  std::size_t bytes_stored() const;

 private:
  friend class loop_conduit;

  // A send whose memory the network may still read.
  struct sending_packet {
    peer_number to = 0;
    packet_token token = nullptr;
    std::span<const std::byte> header = {};
    std::span<const std::byte> body = {};
    bool announced = false;
  };
  struct piece {
    std::size_t begin = 0;
    std::size_t bytes = 0;
  };
  // What the receiver knows an announced body by.
  struct offer {
    peer_number from = 0;
    std::shared_ptr<sending_packet> packet = {};  // null once its sender is gone
    std::size_t bytes = 0;
    std::byte* memory = nullptr;
    packet_token token = nullptr;
    std::vector<piece> missing = {};  // the last one moves next
  };
  struct event {
    // packet, announced, piece, failed: to the receiver; free: to the sender, whose memory is read now or not needed
    // any more
    enum class kind : std::uint8_t { packet, announced, piece, failed, free } what;
    peer_number peer = 0;  // the other side
    std::vector<std::byte> header = {}, body = {};
    std::shared_ptr<sending_packet> packet = {};
    std::shared_ptr<offer> offered = {};
  };
  struct member {
    bool open = false;
    bool dead = false;
    bool cut_off = false;
    std::multimap<std::uint64_t, event> events = {};  // by the tick at which they are due
    std::set<peer_number> connected = {};
    std::set<peer_number> failed = {};
    std::set<std::shared_ptr<sending_packet>> sending = {};
    std::map<offer*, std::shared_ptr<offer>> offers = {};
    int descriptor = -1;
    bool armed = false;
  };

  // All of these: under the lock.
  std::uint64_t some_ticks() { return now_ + 1 + random_() % options_.longest_delay; }
  void add(peer_number to, std::uint64_t due, event added);
  void leave(peer_number gone, bool orderly);
  static void wake(member& sleeper);

  const loop_options options_;
  mutable std::mutex lock_;
  std::mt19937_64 random_;
  std::uint64_t now_ = 0;
  std::vector<member> members_;
};

}  // namespace tri::wire
