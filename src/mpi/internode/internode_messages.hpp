// The messages of one rank with ranks of other hosts, as a state machine: `carrier` moves headers and pieces, the
// engine matches, `host_messages` is what the ranks of the host share. With the call guard, like the engine.
//
// A small message goes to its receiver, eagerly; the data of a longer one is *pushed* behind its header. The data of a
// large or synchronous one stays with its sender, who sends a request. When the engine of the receiver's host has
// matched it, one rank there *pulls* it in pieces, straight into the receive buffer where that is contiguous. Sequence
// numbers keep the messages between two ranks in order, whichever ranks hear of them.
//
// A receiver keeps what it has not received yet, but not without bound: a sender asks now and then whether there is
// room, and when the answer stays out, small messages are like large ones.
//
// Who takes part (Ouyang 2022, 3.2, for the network):
// - A receiver that calls MPI pulls its own messages, from their sender.
// - When no rank gets a piece of a message for a while, a rank of the sender's host that waits *offers* it to all
//   ranks of the receiver's host: it sends the pieces itself, out of the sender's buffer. If the receiver computes, a
//   rank there that waits pulls. So none of the two sides depends on a rank that computes.
// - A rank that pulls or sends under an offer is in a wait, and leaves it in an orderly way. One that has offered
//   messages first ends what it has begun to send, and then sends `stopped` to all ranks that it has offered them to.
//   One that pulls sends `withdraw`, and stays until the answer: `released` when nothing is on its way to it any more,
//   or `stopped`. Each waits only for ranks that are in MPI until then, too.
// - What a receiver asks the sender itself for needs none of that: both may take their time, like the library.
//
// internode_sending.cpp has what a rank does for senders, internode_pulling.cpp what it does for receivers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "mpi/engine/engine.hpp"
#include "mpi/internode/carrier.hpp"
#include "mpi/internode/host_messages.hpp"
#include "os/clock.hpp"

namespace tri::mpi {

/// Where the ranks of the job are.
struct job_places {
  int rank = 0;                            // of this process in the job
  std::vector<std::uint32_t> number_of;    // of each rank on this host; ranks of others: anything
  std::vector<int> host_of;                // of each rank, from 0
  std::vector<std::vector<int>> ranks_of;  // of each host
};

struct internode_options {
  message_sizes sizes = {};
  std::uint64_t (*clock)() = &os::ticks;
  /// Beyond, the data of all messages stays with their senders, so that the library copies no more.
  std::size_t most_bytes_under_way = std::size_t{16} << 20;
  /// Eager messages to one rank whose receiver has not said that it has room for more. Beyond, the data stays with the
  /// sender, however small.
  std::size_t most_unconfirmed_bytes = std::size_t{16} << 20;
  /// For a receiver of so many ranks of other hosts.
  static constexpr std::size_t most_unconfirmed_of(std::size_t senders) {
    constexpr std::size_t all = std::size_t{16} << 20;
    constexpr std::size_t least = std::size_t{256} << 10;
    return senders * least > all ? least : all / std::max(senders, std::size_t{1});
  }
};

class internode_messages final : private carrier::listener, public wait_observer {
 public:
  /// `of_host`: of the ranks of the host, by their numbers.
  internode_messages(engine& ranks, carrier& network, job_places places, std::span<host_messages* const> of_host,
                     const internode_options& options = {});

  /// Starts a send to a rank of another host. Null: the buffer is free again. Otherwise as engine::send: the record
  /// goes to `release` of the engine when it is complete. Throws arena_exhausted, with nothing done.
  send_record* send(int to, const message_key& key, const user_buffer& data, send_mode mode);

  /// Moves everything on. True: something has happened.
  bool poll() noexcept;
  /// Something is under way that needs this rank's polls.
  bool is_active() const {
    // relaxed: written by this rank, or by one that ends a message of it
    return own_.sending.load(std::memory_order_relaxed) > 0 || !pulls_.empty() || !sending_.empty();
  }

  void wait_begins() override;
  /// All of the following.
  void wait_ends() override;
  void begin_leaving();
  /// True: no work for others is left, the rank has left. False: poll.
  bool may_leave();
  /// Takes begin_leaving() back: another thread waits.
  void stay();

 private:
  using guard = std::lock_guard<arena::host_lock>;
  struct open_piece {
    std::uint64_t ticket = 0;
    std::uint32_t piece = 0;
    int tag = 0;
    std::byte* staged = nullptr;  // null: it comes straight into the receive buffer
    std::size_t bytes = 0;
  };
  // A message that this rank pulls.
  struct open_pull {
    incoming_message* message = nullptr;
    receive_record* to = nullptr;
    int owner_number = 0;     // of the receiver
    bool is_own = true;       // this rank is the receiver
    int server = 0;           // rank that is asked for pieces
    std::uint32_t epoch = 0;  // of its offer; 0: it is the sender, which may take its time
    std::uint64_t bytes = 0;  // that are wanted
    std::uint32_t next = 0;   // piece to ask for
    std::uint64_t changed = 0;
    bool is_stopping = false;  // asks for no more
    bool is_stopped = false;   // and the server knows
    std::vector<open_piece> open;
  };
  // A piece that this rank sends.
  struct sent_piece {
    int owner_number = 0;
    std::uint32_t slot = 0;
    std::uint32_t pieces = 0;  // of the message
    std::byte* staged = nullptr;
    int puller = 0;
    bool is_offered = false;  // the puller stays in MPI for it, so this rank does, too
    // All of a message that is pushed, which has no slot.
    send_record* pushed = nullptr;
  };
  // What a rank of another host has offered to send, of a message to a rank of this host.
  struct offer {
    message_header header;
    int server;
  };
  // What this rank has offered.
  struct made_offer {
    message_header header;
    int owner_number;
  };
  // Of the ranks of other hosts.
  struct peer {
    std::uint32_t headers_sent = 0;
    std::uint32_t headers_handled = 0;
    std::uint32_t next = 0;                                    // sequence number of the next message to it
    std::uint32_t received = 0;                                // it has all that were pushed before that one
    bool is_asked = false;                                     // which those are
    std::deque<std::pair<std::uint32_t, std::size_t>> pushed;  // the others: sequence numbers, bytes
    std::size_t pushed_bytes = 0;                              // of these
    // Bytes of eager messages, with what the receiver needs beside, that were sent since it has last had room; and how
    // many of these before it was asked again, 0: it was not.
    std::size_t unconfirmed = 0;
    std::size_t asked_after = 0;
  };
  struct out_of_order_header {
    message_header header;
    std::vector<std::byte> data;
  };

  void arrived(int from, const message_header& header, std::span<const std::byte> data) override;
  void piece_sent(std::uint64_t ticket) override;
  void piece_received(std::uint64_t ticket) override;

  void send_header(int to, message_header header, std::span<const std::byte> data = {});
  void handle_header(int from, const message_header& header, std::span<const std::byte> data);
  void eager_arrived(const message_header& header, std::span<const std::byte> data);
  bool request_arrived(const message_header& header);
  void deliver_in_order(host_messages& owner, int owner_number, int from);
  static bool is_before(std::uint32_t sequence, std::uint32_t other) {
    return static_cast<std::int32_t>(sequence - other) < 0;
  }
  static incoming_message* find(incoming_message* first, int from, std::uint32_t sequence);

  send_record* push(message_header& header, const user_buffer& data, send_mode mode);
  send_record* begin_rendezvous(message_header& header, const user_buffer& data, send_mode mode);
  std::uint32_t take_slot(outgoing_message*& slot);
  std::byte* staged_copy(const user_buffer& from, std::uint64_t offset, std::size_t bytes);
  void end_send(send_record& record);
  void serve_pull(int puller, const message_header& pull);
  void end_piece(const sent_piece& piece);
  void offer_messages();
  bool is_over(const made_offer& one) const;
  void withdraw_offers();
  void answer_withdrawals();
  void send_to_host_of_receiver(const message_header& header);

  bool pull_own();
  bool look_at_offers();
  void begin_pull(incoming_message& message, int owner_number, int server, std::uint32_t epoch);
  void receive_pushed(open_pull& of);
  void ask_for_pieces(open_pull& of);
  void ask(const open_pull& of, const open_piece& piece);
  void take_offers_of_own();
  void unpack(open_pull& of, const open_piece& piece);
  void end_if_done(open_pull& of);
  void stop_pulling(int server, const message_header& header);

  // Other ranks write ticks, too, that may be later than the last poll.
  bool is_past(std::uint64_t since, std::uint64_t timeout) const {
    return static_cast<std::int64_t>(now_ - since) > static_cast<std::int64_t>(timeout);
  }
  std::uint32_t pieces_of(const open_pull& of) const { return options_.sizes.pieces(of.bytes); }
  const std::vector<int>& ranks_of_host_of(int rank) const {
    return places_.ranks_of[static_cast<std::size_t>(places_.host_of[static_cast<std::size_t>(rank)])];
  }
  // Tags of pieces that are pulled come from the rank that pulls, and are the lower half. Those of pushed data are by
  // its sequence number, and the upper half: a power of two, for when these begin again.
  int tags_of_each_kind() const {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(network_.largest_tag()) / 2));
  }
  int free_tag();
  std::size_t most_own_pulls() const;
  bool may_push(peer& to, const message_header& header);
  void answer(int from);
  bool may_send_eagerly(peer& to, const message_header& header);
  void give_room();
  bool may_reach(const user_buffer& buffer, int owner_number) const {
    return owner_number == number() || buffer.is_for_everybody(ranks_.options().kernel_copies);
  }
  endpoint_counters& counters() const { return ranks_.own().counters; }
  // On the host, of a rank that is there.
  int number_of(int rank) const { return static_cast<int>(places_.number_of[static_cast<std::size_t>(rank)]); }
  host_messages& messages_of(int number) const { return *of_host_[static_cast<std::size_t>(number)]; }
  int number() const { return static_cast<int>(ranks_.number()); }

  engine& ranks_;
  carrier& network_;
  const job_places places_;
  const std::span<host_messages* const> of_host_;
  host_messages& own_;
  const internode_options options_;
  std::vector<peer> peers_;  // by rank
  std::map<std::pair<int, std::uint32_t>, out_of_order_header> out_of_order_;
  std::deque<open_pull> pulls_;
  std::map<std::uint64_t, sent_piece> sending_;
  std::vector<int> held_up_;  // ranks that have asked for room when there was none
  std::vector<offer> offers_;
  std::vector<made_offer> made_offers_;
  bool has_offered_ = false;                                 // in this epoch
  std::vector<std::pair<int, message_header>> withdrawals_;  // not answered yet, and by whom
  std::vector<std::pair<int, message_header>> late_pulls_;   // that came while this rank was leaving
  std::uint64_t last_ticket_ = 0;
  int last_tag_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint32_t looks_ = 0;
  std::size_t pulls_for_others_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t looked_for_offers_ = 0;
  std::uint64_t polled_before_ = 0;
  const std::uint64_t timeout_;
  int waiters_ = 0;  // threads
  bool is_waiting_ = false;
  bool is_leaving_ = false;
};

}  // namespace tri::mpi
