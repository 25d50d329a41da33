// The state of a tcp_conduit: its connections and one epoll set over all of them. Parts of one class: tcp_engine.cpp
// has the epoll set, deadlines and shutdown, tcp_connecting.cpp connection setup, tcp_frames.cpp the data. Private to
// these.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "os/unique_fd.hpp"
#include "wire/network_devices.hpp"
#include "wire/tcp/frame_decoder.hpp"
#include "wire/tcp/handshake.hpp"
#include "wire/tcp/send_queue.hpp"
#include "wire/tcp/tcp_conduit.hpp"

namespace tri::wire {

inline constexpr std::int64_t ns_of_ms = 1'000'000;

// How long a peer may be silent once the connection to it has broken: its earlier messages come first.
inline constexpr std::int64_t drain_timeout_ns = 2'000 * ns_of_ms;

inline bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class tcp_conduit::engine {
 public:
  engine(peer_number self, std::size_t peers, const tcp_options& options);

  void connect(peer_number peer, std::span<const std::byte> address);
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  void refuse(announcement body);
  bool progress(conduit_events& events);
  bool has_news() const { return !breaks_.empty() || !filled_at_once_.empty(); }
  void wake() const;
  bool close(conduit_events& events, bool at_once);
  peer_state state(peer_number peer) const {
    return links_[peer] == nullptr ? peer_state::unknown : links_[peer]->state;
  }

  std::vector<std::byte> address;
  os::unique_fd epoll;

 private:
  // The kind of a descriptor in the epoll set.
  enum class source_kind : std::uint8_t { wake, timer, listener, connection };
  struct source {
    source_kind kind;
    os::unique_fd descriptor = {};
  };
  enum class stage : std::uint8_t {
    unproven,    // incoming, not authenticated
    connecting,  // we connect
    greeted,     // we wait for the welcome
    open,
    closed,
  };
  struct connection : source {
    connection(os::unique_fd with, stage at, std::size_t longest_packet)
        : source{.kind = source_kind::connection, .descriptor = std::move(with)},
          now(at),
          is_ours(at == stage::connecting),
          decoder(is_ours ? frame_side::by_acceptor : frame_side::by_connector, longest_packet) {}
    stage now;
    const bool is_ours;          // we connected
    tcp_endpoint endpoint = {};  // then: to this
    peer_number peer = 0;        // of an unproven one: not known
    bool waits_to_write = false;
    std::int64_t deadline_ns = 0;  // of an unproven one
    greeting_bytes greeting = {};
    welcome_bytes welcome = {};
    std::size_t have = 0;  // bytes of the one that we read
    frame_decoder decoder;
  };
  struct offered {
    packet_token token;
    std::span<const std::byte> body;
  };
  // A body that a peer has announced.
  struct incoming {
    peer_number peer;
    std::uint32_t name;
    std::uint64_t bytes;
    bool is_detached = false;  // its peer has failed
    std::byte* memory = nullptr;
    packet_token token = nullptr;
    bool accepted = false;
  };
  // A peer with any connection state.
  struct link {
    peer_state state = peer_state::unknown;
    token_bytes token = {};
    std::vector<tcp_endpoint> endpoints;  // not known to be wrong, the nearest first
    std::size_t endpoint = 0;             // that is tried
    unsigned attempts = 0;                // that were turned away
    unsigned slow_attempts = 0;
    std::unique_ptr<connection> ours;  // we send packets and bodies on it
    // Greeted, and not answered in time, while the peer has other addresses. They stay open: a peer that computes may
    // welcome any of them, and would take the end of the one that it has welcomed for ours.
    std::vector<std::unique_ptr<connection>> unanswered;
    std::unique_ptr<connection> theirs;  // the peer does
    send_queue packets;                  // for ours; some may be here before it is open
    send_queue answers;                  // for theirs
    std::uint32_t names = 0;
    std::unordered_map<std::uint32_t, offered> offered_bodies;
    std::unordered_map<std::uint32_t, std::unique_ptr<incoming>> incoming_bodies;
    std::string why;               // ours broke; not empty: waiting for the end of theirs
    std::int64_t deadline_ns = 0;  // 0: none
    bool has_deadline = false;     // is in with_deadline_
  };
  struct sink final : frame_sink {
    sink(engine& of, link& with, peer_number number) : owner(of), peer(with), from(number) {}
    void packet(std::span<const std::byte> header, std::span<const std::byte> body) override;
    bool announced(std::span<const std::byte> header, std::uint64_t bytes, std::uint32_t name) override;
    std::span<std::byte> memory_of_body(std::uint32_t name, std::uint64_t bytes) override;
    void body_is_whole(std::uint32_t name) override;
    bool answered(std::uint32_t name, bool accepted) override;
    engine& owner;
    link& peer;
    peer_number from;
  };
  struct connection_break {
    peer_number peer;
    bool of_ours;
    bool at_once;  // nothing that the peer may still have sent matters
    std::string why;
  };
  struct filled_body {
    packet_token token;
    bool whole;
  };

  // The epoll set.
  int try_watch(source& of, std::uint32_t events, int operation) const;
  void watch(source& of, std::uint32_t events, int operation) const;
  void forget(source& of) const;
  void want_to_write(connection& of, bool wants) const;
  void set_timer(std::int64_t deadline_ns);
  void dispatch(source& of, std::uint32_t what);

  // Incoming connections.
  void accept_some(source& listener);
  void pause_listening(int error);
  void report_shortage(int error);
  void read_greeting(connection& of);
  void turn_away(connection& of, bool is_foreign = true);

  // Outgoing connections.
  void start_attempt(peer_number peer);
  void finish_connecting(connection& of);
  void greet(connection& of);
  void read_welcome(connection& of);
  bool choose_endpoint(link& of) const;
  void drop_unanswered(connection& of);
  void prefer(connection& of);
  void leave_endpoint(peer_number peer, const std::string& why);
  bool forget_endpoint(peer_number peer, const tcp_endpoint& wrong, const std::string& why);
  void try_again(peer_number peer, const char* why = "it turned the connection away");

  void set_deadline(peer_number peer, std::int64_t from_now_ns);
  void on_timer();
  void on_deadline(peer_number peer);

  link& link_of(peer_number peer);
  send_queue& queue_of(const connection& of) {
    link& peer = *links_[of.peer];
    return of.is_ours ? peer.packets : peer.answers;
  }
  bool is_open(const std::unique_ptr<connection>& one) const { return one != nullptr && one->now == stage::open; }
  void answer(incoming& body, frame_kind how);
  void flush(connection& of);
  void read_frames(connection& of);
  void note(connection_break broken);
  void break_off(connection& of, const std::string& why, bool at_once = false);
  void discard(std::unique_ptr<connection>& of);
  bool settle();
  void settle_break(const connection_break& broken);
  void end(peer_number peer);
  bool is_written(const link& peer) const;

  const peer_number self_;
  const tcp_options options_;
  const std::vector<network_interface> interfaces_;
  token_bytes token_;
  std::vector<std::unique_ptr<link>> links_;  // null: never talked to
  source wake_{.kind = source_kind::wake};
  source timer_{.kind = source_kind::timer};
  std::vector<std::unique_ptr<source>> listeners_;
  std::deque<std::unique_ptr<connection>> unproven_;  // the oldest first
  std::vector<peer_number> with_deadline_;
  std::int64_t timer_at_ns_ = 0;      // 0: not set
  std::int64_t listen_again_ns_ = 0;  // 0: listening
  bool shortage_reported_ = false;
  std::unique_ptr<std::byte[]> scratch_;
  conduit_events* events_ = nullptr;  // of the current progress()
  std::vector<connection_break> breaks_;
  std::vector<filled_body> filled_at_once_;
  std::vector<std::unique_ptr<incoming>> detached_;              // announced by peers that have failed, not refused yet
  std::vector<std::unique_ptr<connection>> closed_connections_;  // events for them may still be in hand
};

}  // namespace tri::wire
