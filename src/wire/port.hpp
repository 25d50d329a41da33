// The wire as the scheduler sees it: messages to other processes, whatever transport carries them. One port per
// process. Independent of transport types; conduit_port.hpp implements it over every conduit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/peer_number.hpp"
#include "wire/packet_secret.hpp"

namespace tri::wire {

using flow::peer_number;

/// The longest header of a message.
inline constexpr std::size_t header_limit = 128;

/// Implemented by the owner of the port. Called only inside port::progress() (left: see there), on its calling thread,
/// one call at a time; the functions may call send() and flush() of the port, but not progress(), and must not throw.
class port_user {
 public:
  /// Memory for a body of `bytes` (never 0), which becomes the message's. May be called before earlier messages of the
  /// peer have arrived. Null means "none now": allowed only for bodies that go by rendezvous (>
  /// port_options::eager_limit). Nothing of such a body is stored until it has memory; progress() calls again.
  virtual void* memory_for(peer_number from, std::span<const std::byte> header, std::size_t bytes) = 0;
  /// A message, in the order of the sends of that peer. `body` is what memory_for gave, or null for 0 bytes.
  virtual void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t body_bytes) = 0;
  /// Once in each progress() and prepare_sleep(), by the thread that calls arrived(), too. True: something was done.
  virtual bool polled() { return false; }
  /// Memory of memory_for whose message will never arrive, because its sender failed or (then inside ~port) the port
  /// ends.
  virtual void abandoned(void* memory) = 0;
  /// The peer has gone without disconnecting (once per peer). Messages in flight to it are released; later messages to
  /// it are dropped and released.
  virtual void peer_failed(peer_number peer, const std::string& why) = 0;
  /// The same, because it has been silent for too long (port::heartbeat): it may never complete what is in flight to
  /// it.
  virtual void timed_out(peer_number peer, const std::string& why) { peer_failed(peer, why); }
  /// A message with a message_body::trace, which it names, is about to be given to the conduit. Called also inside
  /// send(), flush() and prepare_sleep(); must not call the port.
  virtual void left(peer_number to, std::uint64_t trace) {
    static_cast<void>(to);
    static_cast<void>(trace);
  }
  /// message_cost() of all counted messages that have arrived and use no memory any more, added up since the start,
  /// once for each of their copies. Asked for when others wait for memory; matters with port_options::message_memory.
  virtual std::uint64_t memory_given_back() { return 0; }

 protected:
  ~port_user() = default;
};

/// The cost of a message in its receiver's memory: a queue entry, and its body in whole cache lines.
constexpr std::uint64_t message_cost(std::uint64_t body_bytes) { return 64 + (body_bytes + 63) / 64 * 64; }

inline constexpr std::uint64_t no_limit = ~std::uint64_t{0};

struct message_body {
  void* block = nullptr;
  std::size_t bytes = 0;
  /// Called once when `block` may be used again, on a thread that is in send(), progress(), flush() or prepare_sleep(),
  /// maybe before send() returns. May be null. Must not call the port.
  void (*release)(void* block) = nullptr;
  /// Given to `release` in place of the block, unless null.
  void* release_argument = nullptr;
  /// How many messages the receiver makes of it: each counts in its memory. 0: it does not count, and passes those that
  /// wait for memory; for the few messages that must not wait.
  std::uint16_t copies = 1;
  /// Not 0: port_user::left is called when the message leaves.
  std::uint64_t trace = 0;

  /// The block may be used again.
  void give_back() const {
    if (release != nullptr) release(release_argument != nullptr ? release_argument : block);
  }
};

/// Counters of a port; may be read while it works, each one independently.
struct port_counters {
  std::uint64_t messages_sent = 0;  // by any protocol
  std::uint64_t messages_arrived = 0;
  std::uint64_t bytes_sent = 0;         // headers and bodies
  std::uint64_t short_sent = 0;         // messages copied into packets with others
  std::uint64_t eager_sent = 0;         // messages sent in a packet of their own, from their block
  std::uint64_t rendezvous_sent = 0;    // messages announced, and moved when they had memory
  std::uint64_t short_packets = 0;      // short_sent / short_packets is how well coalescing works
  std::uint64_t packets_filled = 0;     // short packets that left because the next message did not fit
  std::uint64_t arrived_early = 0;      // packets and bodies that waited for one that was sent before them
  std::uint64_t memory_refused = 0;     // memory_for that gave none
  std::uint64_t sends_handed_over = 0;  // sends that found another thread at the wire, and left it the work
  std::uint64_t dropped = 0;            // messages to peers that are gone
  std::uint64_t wakes = 0;              // sleepers woken by a send
  // With port_options::message_memory:
  std::uint64_t waited = 0;                   // messages that waited here for memory of their receiver
  std::uint64_t waiting = 0;                  // of them now; they stay in the memory of their sender
  std::uint64_t most_waiting = 0;             // at the same time
  std::uint64_t memory_control_messages = 0;  // packets sent to request, grant and recall memory
  std::uint64_t memory_in_use = 0;            // bytes of arrived messages not yet given back, as last reported
  std::uint64_t memory_peak = 0;              // the most of it
  std::uint64_t heartbeats = 0;               // heartbeat requests and answers, sent and received
  std::uint64_t polls = 0;                    // calls of progress() that had the wire for themselves
  std::uint64_t moves = 0;                    // calls of progress() that found something, except heartbeats
  // Dropped, as if they had not arrived:
  std::uint64_t foreign_packets = 0;    // without the secret of this process
  std::uint64_t unchecked_packets = 0;  // with it, but with a wrong check value
  std::uint64_t repeated_packets = 0;   // duplicates
  // Turned away: of peers that did not prove to be a process of the job
  std::uint64_t foreign_connections = 0;
};

class port {
 public:
  /// Sends remaining messages that need not wait for the receiver's memory, disconnects from the peers and waits for
  /// completion, at most port_options::close_timeout_ms. No other thread may use the port any more.
  virtual ~port() = default;

  /// What others need to reach this port: their address_lookup has to return it for `self`.
  virtual std::span<const std::byte> address() const = 0;

  /// Any thread, also inside callbacks; does not wait for the peer nor for other threads, except in the first message
  /// to a peer, which looks its address up. `header` is copied (at most header_limit). Messages to one peer that were
  /// sent one after another arrive in that order, large ones included. Throws std::invalid_argument for a peer that is
  /// self or out of range and for a header that is too long, and what address_lookup throws; the message is then still
  /// the caller's. Short messages may be kept until the next send, progress, flush or prepare_sleep: call flush()
  /// before a long computation.
  virtual void send(peer_number to, std::span<const std::byte> header, message_body body) = 0;

  /// Any thread, one at a time: others return false at once. True if something happened. Sends coalesced messages.
  virtual bool progress() = 0;

  /// Sends coalesced messages. Any thread; when another one is at the wire, that one does it before it leaves.
  virtual void flush() = 0;

  /// Nothing is in flight: all sends are complete and released, nothing has arrived in part. Any thread.
  virtual bool is_idle() const = 0;

  /// For poll(): readable when progress() has to be called. Waits are preceded by prepare_sleep().
  virtual int wake_descriptor() const = 0;

  /// True: everything was sent, and the descriptor becomes readable when there is something to do, also because another
  /// thread sends. False: call progress() first. Any thread; several may wait on the descriptor.
  virtual bool prepare_sleep() = 0;
  /// After it: the longest permitted wait, for transports that cannot wake a sleeper (MPI). Negative: unlimited. Any
  /// thread.
  virtual std::int64_t longest_sleep_ns() const = 0;

  /// Whether a peer waits for memory of this process: a thread that gives some back should make progress before it
  /// sleeps. Any thread.
  virtual bool memory_is_asked_for() const = 0;

  /// Messages are no longer used, here or at the peers: sends that wait for their memory, now or later, are dropped and
  /// released, and so are arriving messages without memory. Any thread.
  virtual void drop_waiting() = 0;

  /// To be called `port_options::heartbeats_until_failed` times, at regular intervals, within the time after which a
  /// silent connected peer counts as failed; by a thread without other work, so that peers get answers whatever the
  /// others do. One thread; makes progress where that is allowed, and drains all if no other thread has made progress
  /// since the last heartbeat.
  virtual void heartbeat() = 0;

  virtual port_counters counters() const = 0;
};

/// The address of a peer's port. May block; called for each message until the peer is connected (once, when no other
/// thread is at the transport), from the thread that sends or makes progress. Must not use the port. Throws when there
/// is none.
using address_lookup = std::function<std::vector<std::byte>(peer_number)>;

enum class conduit_choice : std::uint8_t {
  tcp,  // connections of our own
  ucx,  // active messages of UCX, whose library is loaded when the port is opened
  mpi,  // two-sided calls of the MPI library that this process was started with (boot/mpi/mpi_library.hpp)
};

/// "tcp", "ucx" or "mpi". Throws std::invalid_argument with the known names.
conduit_choice conduit_named(std::string_view name);
const char* name_of(conduit_choice conduit);

/// The conduit over MPI (mpi/README.md).
struct mpi_receives {
  std::size_t small_bytes = 8192;    // packets up to this size go into receives posted in advance for MPI_ANY_SOURCE
  std::size_t small_receives = 64;   // how many of those there are
  std::string posted = {};           // for larger bodies: "4x65536,2x16384"
  std::size_t adaptive_classes = 0;  // and for this many of the most frequent sizes
};

struct port_options {
  // The network. Empty: the transport library's choice.
  std::string transports;  // UCX: names as in UCX_TLS, e.g. "tcp"
  std::string devices;     // NICs, separated by commas, e.g. "eth0" or "mlx5_0:1"; one that does not exist is an error;
                           // TCP: not empty, and networks, too, e.g. "10.1.0.0/16", all as in --tri-network
  mpi_receives mpi;        // MPI: receives posted ahead

  // Protocol by size of header and body. Up to short_limit they are copied into a packet; up to eager_limit the body
  // leaves from its block at once; larger ones are announced and sent when memory_for has returned memory.
  std::size_t short_limit = 1024;
  std::size_t eager_limit = 131072;

  // Short messages to one peer travel together until the packet is full, or has as many messages as this, or its oldest
  // message is as old as this when a further one is sent, or any thread calls progress(), flush() or prepare_sleep(),
  // or all threads sleep. 0 messages: no limit by number; 1: each message leaves at once.
  std::uint32_t coalesce_messages = 0;
  std::uint32_t coalesce_us = 20;
  std::size_t packet_bytes = 8192;

  // Memory that counted messages of all peers may use here (message_cost) from their arrival until memory_given_back()
  // reports their release; messages without room wait at their sender. 0 is enough: then they arrive one at a time. A
  // message larger than all of it arrives when no other is here. The same in all processes of the job.
  std::uint64_t message_memory = no_limit;

  // Only the thread that makes progress and sleeps is at the transport; all others leave their sends to it. Its sending
  // is throttled (Mei 2012, 6.3.3): after `sends_per_poll` messages it polls for arrivals, and while `most_unfinished`
  // packets are incomplete it sends no more. 0: no limit. Both apply only with `funnelled`.
  bool funnelled = false;
  std::uint32_t sends_per_poll = 0;
  std::uint32_t most_unfinished = 0;

  std::uint64_t least_bytes_per_heartbeat = 1 << 20;  // a slower body does not count as a heartbeat
  std::uint8_t heartbeats_until_failed = 4;           // see heartbeat(); 2 or more
  std::string peer_timeout_in_words = "long";         // how long those are, for the message: "30 s"

  // Senders to this port must know it; it is passed only in the address (port::address). open_port() creates one.
  packet_secret secret;
  // Every packet carries a check value over all of it, so that a man in the middle cannot change or replay it. The same
  // in all processes of the job.
  bool checks = false;

  std::uint32_t close_timeout_ms = 5000;  // how long closing waits for messages in flight
};

/// `self` is our number among `peers` processes. Throws std::runtime_error that names what is missing or wrong (the
/// library, a NIC, a transport), std::invalid_argument for options that contradict each other. The user and the lookup
/// outlive the port.
std::unique_ptr<port> open_port(conduit_choice conduit, peer_number self, std::size_t peers, port_user& user,
                                address_lookup lookup, const port_options& options);

}  // namespace tri::wire
