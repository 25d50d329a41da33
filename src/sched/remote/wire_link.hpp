// What a process exchanges with processes of other hosts. A message leaves as a packet of the wire (wire/port.hpp)
// whose bytes mean the same on any host; what arrives becomes a message in the inbox of one of this process's PEs.
// Inside a host nothing comes here.
//
// Order. Messages from one PE to another arrive in the order sent: the port keeps the order between two processes, and
// the thread that makes progress, one at a time, is the one producer "wire of this process" of the inboxes of the host.
// The creation of a collection comes before all that is sent because of it, whatever way that goes
// (creation_fence.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sched/remote/arrival_gate.hpp"
#include "sched/remote/creation_fence.hpp"
#include "sched/remote/emulated_link.hpp"
#include "sched/remote/host_tree.hpp"
#include "sched/remote/posted_memory.hpp"
#include "sched/remote/waiting_requests.hpp"
#include "sched/remote/wire_message.hpp"
#include "trace/process_trace.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "wire/port.hpp"

namespace tri::sched {

class pe;
class process_runtime;
struct process_record;

class wire_link final : private wire::port_user {
 public:
  /// Opens the port. Addresses of others are asked for when they are needed.
  explicit wire_link(process_runtime& job);
  ~wire_link();
  wire_link(const wire_link&) = delete;
  wire_link& operator=(const wire_link&) = delete;

  /// All take the payload over, and end the job when it cannot be sent; on a PE's thread. Counting is the caller's.
  void send(pe& here, int destination, envelope& message);
  void send_to_node(pe& here, int process, envelope& message);
  /// One copy for every PE of every other host, by a tree over hosts that crosses to each once (Mei 2012, M55). Adds
  /// those copies to the messages sent.
  void send_to_other_hosts(pe& here, envelope& message);
  /// The same with the creation of a collection; before any PE of this host can know of it. Once on each host its
  /// handler's `at_host` is called before the copies are made.
  void send_creation(pe& here, envelope& message);
  /// It lies in the inboxes of this host, too: it may leave.
  void creation_lies_in_inboxes(std::uint32_t collection);

  /// How a block is given back: `release(argument)`, or `release(block)` where that is null.
  struct block_release {
    void (*release)(void*) = nullptr;
    void* argument = nullptr;
  };
  /// Sends the answer to a request of another host, whose block is not the message's but exposed: it is given back when
  /// the wire has read it, by the thread that is at the wire. Counting is the caller's; no trace shows it.
  void send_exposed(pe& here, int destination, const envelope& message, const block_release& memory);
  /// Memory of this process for such answers.
  posted_memory& posted() { return posted_; }
  /// Into the inbox of a PE of this process, by the thread that is at the wire. Counting is the caller's. Nothing, when
  /// the job ends.
  void deliver_here(int pe, const envelope& message);

  /// Moves what is under way; on any thread, one at a time, and the others are not kept. True if there was something.
  bool progress() {
    if (creation_fence_.holds_something()) [[unlikely]]
      try_flush_outbound();
    return row_ == nullptr ? port_->progress() : progress_traced();
  }
  /// Before a program computes: what it has sent leaves, as far as that needs no other host. The first messages to a
  /// process need its answer; that is waited for, but not for long. On any thread.
  void flush() {
    constexpr int most_polls = 8;  // some transports need several for a message
    if (creation_fence_.holds_something()) [[unlikely]]
      try_flush_outbound();
    port_->flush();
    for (int poll = 0; poll < most_polls && !port_->is_idle(); ++poll) port_->progress();
    // relaxed: a thread knows of the connections for its own messages
    if (connect_time_left_ns_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      await_connections();
  }
  /// A request that was left to one of this process's PEs has run there; on its thread.
  void deferred_request_ran(int local_pe) {
    // release: what it did comes before requests that others serve from now on. pairs: wire_link.deferred
    deferred_[static_cast<std::size_t>(local_pe)].fetch_sub(1, std::memory_order_release);
  }
  /// Requests of other hosts with large answers take a slot of this process when they are admitted, until the answer
  /// has left. While none is free such a request waits here, and behind it all of its sender; they keep their part of
  /// the message memory, so that others follow only while there is some. This ends the slot of a request that had no
  /// answer.
  static void release_slot() {
    slots_in_use_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a bound; memory comes and goes by the wire
  }
  /// All that was sent is out; after drop_waiting.
  bool is_idle() const { return port_->is_idle() && !delays_.load(std::memory_order_relaxed); }  // relaxed: asked again
  std::span<const std::byte> address() const { return port_->address(); }

  /// Memory of messages (src/flow/README.md). What a message that came from another host counts as until it has
  /// run; before its handler.
  static std::uint64_t cost_of(const envelope& message) {
    return wire::message_cost(message.kind == payload_kind::direct ? 0 : message.block().bytes);
  }
  /// Messages wait at other processes until some here have run.
  bool memory_is_asked_for() const { return port_->memory_is_asked_for(); }
  /// No PE runs messages any more: those that wait here, for memory of others or for creations, are dropped;
  /// requests that wait for slots are with this.
  void drop_waiting();
  wire::port_counters counters() const { return port_->counters(); }
  /// One line of figures.
  std::string report() const;

  /// Poller election: one PE of the process sleeps on the wire. True: the caller is the poller now.
  /// seq_cst: a poller that resigns looks for sleepers afterwards, and a PE that falls asleep looks for a poller after
  /// it is marked idle; so one of the two sees the other. pairs: wire.poller
  bool become_poller() {
    return !has_poller_.load(std::memory_order_seq_cst) && !has_poller_.exchange(true, std::memory_order_seq_cst);
  }
  void resign_as_poller() { has_poller_.store(false, std::memory_order_seq_cst); }
  bool has_poller() const { return has_poller_.load(std::memory_order_seq_cst); }
  /// True: `wake_descriptor` becomes readable when there is something to do. False: call `progress` first.
  bool prepare_sleep() { return !creation_fence_.holds_something() && port_->prepare_sleep(); }
  int wake_descriptor() const { return port_->wake_descriptor(); }
  /// No longer than the transport allows, and than `limit_ns` (negative: no limit).
  std::int64_t sleep_at_most(std::int64_t limit_ns) const {
    const auto shorter = [](std::int64_t a, std::int64_t b) {
      return a < 0 || b < 0 ? std::max(a, b) : std::min(a, b);
    };
    const std::int64_t least_ns = shorter(port_->longest_sleep_ns(), limit_ns);
    // What waits here becomes due by time, or by a slot that another thread gives back: neither wakes. relaxed: what
    // comes from now on is taken by a thread that makes progress, and may compute then; so always in a slow network.
    constexpr std::int64_t between_looks_ns = 200'000;
    const bool looks = !network_.is_immediate() || postpones_.load(std::memory_order_relaxed);
    return looks ? shorter(least_ns, between_looks_ns) : least_ns;
  }

  /// From now on a process of another host that says nothing for configuration::peer_timeout_s counts as failed.
  void start_heartbeat();

  /// The job ends: peers that disconnect have not failed.
  void expect_ends() { ending_.store(true, std::memory_order_relaxed); }  // relaxed: the barrier of the end orders it

 private:
  void* memory_for(wire::peer_number from, std::span<const std::byte> header, std::size_t bytes) override;
  void arrived(wire::peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes) override;
  bool polled() override;
  void abandoned(void* memory) override;
  void take_packet(wire::peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes);
  bool take_delayed();
  void peer_failed(wire::peer_number peer, const std::string& why) override;
  void timed_out(wire::peer_number peer, const std::string& why) override { report_peer_failure(peer, why); }
  void report_peer_failure(wire::peer_number peer, const std::string& why);
  void left(wire::peer_number to, std::uint64_t trace) override;
  std::uint64_t memory_given_back() override { return given_back(); }
  std::uint64_t given_back() const;

  using packet_header = wire_message;
  struct outbound_message;
  struct arrived_message;
  struct postponed_request {
    int destination;
    envelope message;
  };
  struct delayed_packet {
    std::int64_t due_ns;
    wire::peer_number from;
    std::vector<std::byte> header;
    void* body;
    std::size_t body_bytes;
  };
  void take(wire::peer_number from, const packet_header& header, const envelope& message);
  void place(reach to, int destination, envelope message);
  void take_creation(const packet_header& header, envelope& message, int children);
  bool flush_arrivals();
  std::uint32_t creations_in_inboxes(std::uint32_t host) const;
  void post(pe& here, int process, packet_header& header, envelope& message);
  void post_to_hosts(pe& here, packet_header& header, envelope& message);
  void post(int process, const packet_header& header, void* block, const block_release& release);
  static void release_answer(void* block);
  void accept_request(int destination, const envelope& message);
  void admit_request(int destination, envelope message);
  bool has_free_slot() const {
    return slots_in_use_.load(std::memory_order_relaxed) < slots_;  // relaxed: see release_slot
  }
  std::uint64_t answers_that_wait() const;
  bool name_creations(packet_header& header) const;
  void hold(const outbound_message& one);
  void leave(const outbound_message& one);
  void flush_outbound();
  void try_flush_outbound();
  static bool takes_memory(const packet_header& header);
  static void drop(const outbound_message& one);
  void depart(const outbound_message& one, bool may_leave);
  void release_arrived(void* memory);
  void creation_relayed(const packet_header& creation, int children);
  void acknowledge_to_parent(std::uint32_t collection, std::uint32_t source);
  void creation_acknowledged(const packet_header& thanks);
  void remote_creation_globally_visible(const packet_header& notification);
  void ring_other_processes() const;
  bool progress_traced();
  void await_connections();
  std::uint16_t copies_of(int process, const packet_header& header) const;
  std::int32_t next_tree() const;
  host_tree tree_of(const packet_header& header) const;
  int to_child_hosts(const packet_header& header, void* block);
  void deliver(int destination, const envelope& message);
  bool serve(int destination, envelope& message);
  void to_pes_of_host(const envelope& message);

  process_runtime& job_;
  process_record& own_process_;
  trace::wire_row* const row_;  // null: no trace is written
  const std::vector<message_form> forms_;
  const wire_message_rules rules_;
  const std::vector<service_function> services_;  // by handler
  const std::vector<bool> answer_is_large_;       // by handler
  const std::vector<bool> into_posted_memory_;    // by handler
  const bool serves_requests_;  // false: each waits for its receiver, as in an order of messages that is recorded
  const std::uint32_t slots_;
  // Of the only link of this process: a block comes back without its owner. Taken by the thread that makes progress.
  static inline std::atomic<std::uint32_t> slots_in_use_{0};
  // Requests that wait at each of this process's PEs; counted up by the thread that makes progress.
  std::vector<std::atomic<std::uint32_t>> deferred_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> has_poller_{false};
  wire::port_options options_;
  std::atomic<std::int64_t> connect_time_left_ns_{0};  // how long flushes may wait for connections yet
  std::atomic<std::uint64_t> counted_{0};  // bytes of messages that arrived; by the thread that makes progress
  std::mutex departing_;                   // for the next two
  bool drops_outbound_ = false;
  creation_fence<outbound_message> creation_fence_;
  remote_creations<> remote_creations_;         // by the thread that makes progress
  relayed_creations relayed_creations_;         // by the thread that makes progress
  arrival_gate<arrived_message> arrival_gate_;  // by the thread that makes progress
  // The next by the thread that makes progress.
  emulated_link network_;
  std::deque<delayed_packet> delayed_;  // those of the emulated network, the first due first
  waiting_requests<postponed_request> postponed_;
  std::atomic<std::uint64_t> answers_taken_{0};
  std::atomic<bool> delays_{false};     // there are some of the first
  std::atomic<bool> postpones_{false};  // there are some of the second
  posted_memory posted_;
  std::unique_ptr<wire::port> port_;
  std::jthread failure_report_thread_;  // of the first failure
  std::jthread heartbeat_thread_;
};

}  // namespace tri::sched
