// The wire as the scheduler sees it: messages to other processes, whatever transport carries them. One port per
// process. Names no type of any transport; port_over.hpp implements it over every conduit.
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

/// The longest header of a message.
inline constexpr std::size_t header_limit = 128;

/// Implemented by the owner of the port. Called only inside port::progress() (left: see there), on its calling thread,
/// one call at a time; the functions may call send() and flush() of the port, but not progress(), and must not throw.
class port_user {
 public:
  /// Memory for a body of `bytes` (never 0), which becomes the message's. May be asked before earlier messages of the
  /// peer have arrived. Null means "none now": allowed only for bodies that go by rendezvous
  /// (> port_options::eager_limit). Nothing of such a body is stored until it has memory; progress() asks again.
  virtual void* memory_for(peer_number from, std::span<const std::byte> header, std::size_t bytes) = 0;
  /// A message, in the order of the sends of that peer. `body` is what memory_for gave, or null for 0 bytes.
  virtual void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t body_bytes) = 0;
  /// Memory of memory_for whose message will never arrive, because its sender failed or (then inside ~port) the port
  /// ends.
  virtual void abandoned(void* memory) = 0;
  /// The peer is gone without having said so (once per peer). What was under way to it is released; later messages to
  /// it are dropped and released.
  virtual void peer_failed(peer_number peer, const std::string& why) = 0;
  /// The same, because nothing was heard of it for too long (port::heartbeat): it may never end what is under way to
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

/// What a message counts as in the memory of its receiver: its place in a queue, and its body in whole cache lines.
constexpr std::uint64_t message_cost(std::uint64_t body_bytes) { return 64 + (body_bytes + 63) / 64 * 64; }

inline constexpr std::uint64_t no_limit = ~std::uint64_t{0};

struct message_body {
  void* block = nullptr;
  std::size_t bytes = 0;
  /// Called once when `block` may be used again, on a thread that is in send(), progress(), flush() or prepare_sleep(),
  /// maybe before send() returns. May be null. Must not call the port.
  void (*release)(void* block) = nullptr;
  /// How many messages the receiver makes of it: each counts in its memory. 0: it does not count, and passes those that
  /// wait for memory; for the few messages that must not wait.
  std::uint16_t copies = 1;
  /// Not 0: port_user::left tells when the message leaves.
  std::uint64_t trace = 0;
};

/// What a port has done so far; to be read while it works, each figure on its own.
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
  std::uint64_t memory_control_messages = 0;  // packets sent to ask for memory, to grant it and to have it back
  std::uint64_t memory_in_use = 0;            // bytes of messages that arrived and were not given back, as last heard
  std::uint64_t memory_peak = 0;              // the most of it
  std::uint64_t heartbeats = 0;               // packets that ask for a sign of life, or give one, sent and received
  std::uint64_t moves = 0;                    // calls of progress() that found something, but signs of life
  // Dropped, as if they had not come:
  std::uint64_t foreign_packets = 0;    // without the secret of this process
  std::uint64_t unchecked_packets = 0;  // with it, but with a wrong check value
  std::uint64_t repeated_packets = 0;   // that had come before
  // Turned away: of peers that did not prove to be a process of the job
  std::uint64_t foreign_connections = 0;
};

class port {
 public:
  /// Sends what is left and need not wait for memory of its receiver, disconnects from the peers and waits, for at most
  /// port_options::close_timeout_ms, until this is out. No other thread may use the port any more.
  virtual ~port() = default;

  /// What others need to reach this port: their address_lookup has to return it for `self`.
  virtual std::span<const std::byte> address() const = 0;

  /// Any thread, also inside callbacks; does not wait for the peer nor for other threads, except in the first message
  /// to a peer, which looks its address up. `header` is copied (at most header_limit). Messages to one peer that were
  /// sent one after another arrive in that order, large ones included. Throws std::invalid_argument for a peer that is
  /// self or out of range and for a header that is too long, and what address_lookup throws; the message is then still
  /// the caller's. Short messages may stay here until somebody sends again, makes progress, flushes or prepares to
  /// sleep: who sends and then computes for long calls flush() before.
  virtual void send(peer_number to, std::span<const std::byte> header, message_body body) = 0;

  /// Any thread, one at a time: others return false at once. True if something happened. Sends what coalescing keeps.
  virtual bool progress() = 0;

  /// Sends what coalescing keeps. Any thread; when another one is at the wire, that one does it before it leaves.
  virtual void flush() = 0;

  /// Nothing of ours is under way: all sends are out and released, nothing has arrived in part. Any thread.
  virtual bool is_idle() const = 0;

  /// For poll(): readable when progress() has to be called. Waits are preceded by prepare_sleep().
  virtual int wake_descriptor() const = 0;

  /// True: everything was sent, and the descriptor becomes readable when there is something to do, also because another
  /// thread sends. False: call progress() first. Any thread; several may wait on the descriptor.
  virtual bool prepare_sleep() = 0;
  /// After it: how long a wait may last at most, because the transport has nothing to wake anybody with (MPI).
  /// Negative: as long as it takes. Any thread.
  virtual std::int64_t longest_sleep_ns() const = 0;

  /// Somebody waits for memory of this process: who gives some back should make progress before it sleeps. Any thread.
  virtual bool memory_is_asked_for() const = 0;

  /// Nobody uses messages any more, here or at the peers: what waits for their memory, now or later, is dropped and
  /// released, and so is what comes here and has no memory. Any thread.
  virtual void drop_waiting() = 0;

  /// To be called `port_options::heartbeats_until_failed` times, at regular intervals, within the time after which a
  /// connected peer that says nothing counts as failed; by a thread that computes nothing, so that peers get answers
  /// whatever the others do. One thread; makes progress where that is allowed, all that there is if nobody else has
  /// made any since the last heartbeat.
  virtual void heartbeat() = 0;

  virtual port_counters counters() const = 0;
};

/// The address of a peer's port. May block; called for each message until the peer is connected, which is once where
/// the sender finds nobody else at the transport, from the thread that sends or makes progress. Must not use the port.
/// Throws when there is none.
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
  std::size_t small_bytes = 8192;    // packets up to this size go into receives that are posted for anything
  std::size_t small_receives = 64;   // how many of those there are
  std::string posted = {};           // for larger bodies: "4x65536,2x16384"
  std::size_t adaptive_classes = 0;  // and for so many sizes that were seen most often
};

struct port_options {
  // Which network. Empty: what the transport library finds.
  std::string transports;  // UCX: names as in UCX_TLS, e.g. "tcp"
  std::string devices;     // NICs, separated by commas, e.g. "eth0" or "mlx5_0:1"; one that does not exist is an error;
                           // TCP: not empty, and networks, too, e.g. "10.1.0.0/16", all as in --tri-network
  mpi_receives mpi;        // MPI: what is posted ahead

  // Protocol by size of header and body. Up to short_limit they are copied into a packet; up to eager_limit the body
  // leaves from its block at once; larger ones are announced and move when memory_for has given memory.
  std::size_t short_limit = 1024;
  std::size_t eager_limit = 131072;

  // Short messages to one peer travel together until the packet is full, or has as many messages as this, or its oldest
  // message is as old as this when a further one is sent, or somebody calls progress(), flush() or prepare_sleep(), or
  // all threads sleep. 0 messages: no limit by number; 1: each message leaves at once.
  std::uint32_t coalesce_messages = 0;
  std::uint32_t coalesce_us = 20;
  std::size_t packet_bytes = 8192;

  // Memory that counted messages of all peers may use here (message_cost) from their arrival until memory_given_back()
  // says that they do not; what has no room waits at its sender. 0 is enough: then they come one at a time. A message
  // that is larger than all of it comes when no other is here. The same in all processes of the job.
  std::uint64_t message_memory = no_limit;

  // Only the thread that makes progress and sleeps is at the transport; all others leave their sends to it. Its effort
  // is restrained (Mei 2012, 6.3.3): after `sends_per_poll` messages it looks for what has come, and while
  // `most_unfinished` packets are not out it sends nothing more. 0: no limit. Without `funnelled` neither counts.
  bool funnelled = false;
  std::uint32_t sends_per_poll = 0;
  std::uint32_t most_unfinished = 0;

  std::uint64_t least_bytes_per_heartbeat = 1 << 20;  // of a body that comes more slowly nothing is known
  std::uint8_t heartbeats_until_failed = 4;           // see heartbeat(); 2 or more
  std::string peer_timeout_in_words = "long";         // how long those are, for the message: "30 s"

  // Who sends here must know it; it travels in the address (port::address) and in no other way. open_port() makes one.
  packet_secret secret;
  // Every packet carries a check value over all of it, so that nobody in the middle can change or repeat it. The same
  // in all processes of the job.
  bool checks = false;

  std::uint32_t close_timeout_ms = 5000;  // how long closing waits for what is still under way
};

/// `self` is our number among `peers` processes. Throws std::runtime_error that says what is missing or wrong (the
/// library, a NIC, a transport), std::invalid_argument for options that contradict each other. The user and the lookup
/// outlive the port.
std::unique_ptr<port> open_port(conduit_choice conduit, peer_number self, std::size_t peers, port_user& user,
                                address_lookup lookup, const port_options& options);

}  // namespace tri::wire
