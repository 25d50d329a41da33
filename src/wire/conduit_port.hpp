// The port over any conduit: order of messages, protocol by size, coalescing, and the rule that one thread at a time is
// at the wire and no other waits for it. README.md has the protocol, port.hpp the guarantees to users.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "flow/credit_pool.hpp"
#include "os/clock.hpp"
#include "wire/conduit.hpp"
#include "wire/linked_list.hpp"
#include "wire/live_port_counters.hpp"
#include "wire/outbox.hpp"
#include "wire/packet_check.hpp"
#include "wire/packet_decoder.hpp"
#include "wire/packet_format.hpp"
#include "wire/packet_secret.hpp"
#include "wire/port.hpp"
#include "wire/port_checks.hpp"
#include "wire/port_records.hpp"
#include "wire/progress_lock.hpp"

namespace tri::wire {

template <conduit Conduit>
class conduit_port final : public port, private conduit_events, private flow::credit_pool_owner {
 public:
  /// The conduit is made from `conduit_arguments`. Throws as open_port() does.
  template <class... Arguments>
  conduit_port(peer_number self, std::size_t peers, port_user& user, address_lookup lookup, const port_options& options,
               Arguments&&... conduit_arguments)
      : self_(self),
        user_(user),
        lookup_(std::move(lookup)),
        options_(checked(self, peers, options)),
        check_bytes_(options.checks ? sizeof(check_value) : 0),
        rules_{.tag = options_.secret.tag,
               .self = self,
               .peers = peers,
               .key = options_.checks ? &options_.secret.key : nullptr},
        peers_(peers),
        sends_left_(options_.sends_per_poll) {
    if (options_.message_memory != no_limit) memory_.emplace(options_.message_memory, peers - 1);
    if (options_.checks) load_check_library();
    conduit_.emplace(std::forward<Arguments>(conduit_arguments)...);
    address_ = encode_address(options_.secret, options_.checks, conduit_->address());
    if (options_.coalesce_messages != 1) longest_hold_ = os::ns_to_ticks(1000.0 * options_.coalesce_us);
  }
  ~conduit_port() override;
  conduit_port(const conduit_port&) = delete;
  conduit_port& operator=(const conduit_port&) = delete;

  std::span<const std::byte> address() const override { return address_; }
  void send(peer_number to, std::span<const std::byte> header, message_body body) override;
  bool progress() override;
  void flush() override;
  // pairs: port.under_way. A thread that reads 0 sees the effects of releasing the bodies.
  bool is_idle() const override {
    return under_way_.load(std::memory_order_acquire) == 0 && arriving_.load(std::memory_order_acquire) == 0;
  }
  int wake_descriptor() const override { return conduit_->wake_descriptor(); }
  bool prepare_sleep() override;
  std::int64_t longest_sleep_ns() const override { return conduit_->longest_sleep_ns(); }
  // relaxed, both: a hint; the thread that made it true stays awake until it is false.
  bool memory_is_asked_for() const override { return memory_asked_for_.load(std::memory_order_relaxed); }
  void drop_waiting() override;
  void heartbeat() override;
  port_counters counters() const override { return counters_.read(); }

  /// Of this process for all peers, before anything is sent. For tests.
  static constexpr std::size_t bytes_per_idle_peer = sizeof(std::atomic<peer_record*>);

 private:
  // conduit_events: inside progress() or closing, by the holder of the progress lock.
  void packet(std::span<const std::byte> header, std::span<const std::byte> body) override;
  void announced(std::span<const std::byte> header, std::size_t bytes, announcement body) override;
  void filled(packet_token token, bool whole) override;
  void sent(packet_token token) override;
  void peer_failed(peer_number peer, const std::string& why) override {
    fail_peer(peer, why, !record_of(peer).disconnected);
  }
  void turned_away() override { counters_.foreign_connections.add(); }

  // credit_pool_owner: by the holder of the progress lock.
  flow::peer_credits& credits_of(peer_number peer) override { return record_of(peer).account; }
  void send_control(peer_number to, const flow::credit_control& note) override;
  void recall_from_all() override;

  // All of these: by the holder of the progress lock.
  peer_record& record_of(peer_number peer);
  void connect(peer_number peer, std::span<const std::byte> address);
  bool take_outbox();
  bool is_restrained() const {
    return options_.funnelled && !closing_ &&
           ((options_.sends_per_poll != 0 && sends_left_ == 0) ||
            (options_.most_unfinished != 0 && packets_under_way_ >= options_.most_unfinished));
  }
  void wake_funnel();
  void leave();
  static const void* this_thread() {
    static thread_local const char of_thread = 0;
    return &of_thread;
  }
  void post(peer_number to, std::span<const std::byte> header, const message_body& body);
  void fail_ended(peer_record& peer, peer_number number);
  void post_now(peer_record& peer, peer_number to, std::span<const std::byte> header, const message_body& body);
  void wait_for_memory(peer_record& peer, peer_number to, std::span<const std::byte> header, const message_body& body);
  void send_waiting(peer_record& peer, peer_number to);
  void ask_for_memory(peer_record& peer, peer_number to);
  void drop_waiting_of(peer_record& peer);
  void take_control(peer_record& peer, peer_number from, const flow::credit_control& note);
  void grant_more(peer_record& peer, peer_number to);
  bool serve_memory();
  void send_heartbeat_requests();
  void send_heartbeat(peer_number to, packet_kind kind);
  void sign(outgoing_packet& packet, const packet_head& head, std::span<const std::byte> body,
            std::optional<std::size_t> announced_bytes);
  void send_unordered(peer_number to, packet_kind kind, std::span<const std::byte> contents);
  void part_with(peer_record& peer, peer_number number);
  void post_short(peer_record& peer, peer_number to, std::span<const std::byte> header, const message_body& body);
  void post_alone(peer_record& peer, peer_number to, std::span<const std::byte> header, const message_body& body);
  outgoing_packet* open_packet(peer_number to);
  outgoing_packet* packet_alone(peer_number to);
  void send_short(outgoing_packet* packet, packet_kind kind = packet_kind::short_messages);
  bool send_open();
  void finish(outgoing_packet* packet);
  void drop(const message_body& body);

  bool arrives_now(peer_record& peer, std::uint64_t sequence) const { return sequence == peer.expected; }
  peer_record* sender_of(std::span<const std::byte> header, std::span<const std::byte> body,
                         std::optional<std::size_t> announced_bytes, packet_view& view);
  bool is_new(peer_record& peer, const packet_head& head);
  bool is_changed(const incoming_body& body) const;
  void fail_malformed(peer_number from, const packet_fault& fault);
  void take_short(peer_record& peer, const packet_head& head, std::span<const std::byte> messages);
  void take_single(peer_record& peer, peer_number from, std::uint64_t sequence, std::span<const std::byte> header,
                   std::span<const std::byte> body, std::uint16_t copies);
  void* copied(peer_number from, std::span<const std::byte> header, std::span<const std::byte> body);
  bool request_body_memory(peer_record& peer, peer_number from);
  bool ask_again();
  void deliver(peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes);
  void count_arrived(peer_record& peer, peer_number from, std::uint64_t cost);
  void deliver_early(peer_record& peer, peer_number from);
  void watch_senders();
  void fail_peer(peer_number peer, const std::string& why, bool unexpected = true);
  bool report_failures();
  void forget_arrivals(peer_record& peer);
  void close();

  struct peer_failure {
    peer_number peer;
    std::string why;
    bool timed_out = false;
  };

  const peer_number self_;
  port_user& user_;
  const address_lookup lookup_;
  const port_options options_;
  const std::size_t check_bytes_;  // behind each packet_head
  const packet_rules rules_;
  std::vector<std::byte> address_;
  std::uint64_t longest_hold_ = 0;  // ticks
  std::atomic<bool> heartbeat_is_due_{false};
  std::uint64_t polls_at_last_heartbeat_ = 0;  // used by heartbeat() alone
  std::vector<std::atomic<peer_record*>> peers_;
  std::optional<Conduit> conduit_;

  progress_lock progress_lock_;
  outbox outbox_;
  // Funnelled: the oldest sends, taken out of the outbox and not posted yet; and how many may be posted before the next
  // poll.
  waiting_send* taken_ = nullptr;
  std::uint32_t sends_left_;
  std::atomic<bool> funnel_sleeps_{false};
  std::atomic<bool> flush_wanted_{false};
  // Messages whose body is not free yet, and partially arrived ones. pairs: port.under_way
  std::atomic<std::int64_t> under_way_{0};
  std::atomic<std::int64_t> arriving_{0};

  std::vector<const void*> sleepers_;  // threads on the descriptor, until they make progress or are woken
  linked_list<outgoing_packet> open_;  // with short messages, the oldest first
  linked_list<outgoing_packet> moving_;
  std::vector<std::unique_ptr<outgoing_packet>> spare_short_, spare_alone_;
  std::size_t packets_under_way_ = 0;
  std::vector<peer_number> refused_;         // whose first body without memory was refused one
  std::vector<peer_number> unwanted_;        // the same at the end, when messages are no longer used
  std::vector<peer_number> unwatched_;       // something came from them, and they are not connected
  std::optional<flow::credit_pool> memory_;  // with a limit
  std::atomic<bool> memory_asked_for_{false};
  std::atomic<bool> drops_waiting_{false};
  std::vector<peer_number> recalling_;  // peers that recall unused memory granted to us
  bool timed_out_ = false;              // of the peer that is about to fail
  std::vector<peer_failure> failures_;  // not reported to the user yet
  std::string malformed_packet_;        // the error in a packet of an unknown sender
  bool is_heartbeat_only_ = false;      // what this progress() found, or a packet without messages that was sent
  bool closing_ = false;
  live_port_counters counters_;
};

}  // namespace tri::wire

#include "wire/port_arriving.hpp"
#include "wire/port_heartbeat.hpp"
#include "wire/port_memory.hpp"
#include "wire/port_sending.hpp"
