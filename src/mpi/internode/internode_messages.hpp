// The messages of one rank with ranks of other hosts, as a state machine: `carrier` moves headers and pieces, the
// engine matches, `host_messages` is what the ranks of the host share. With the call guard, like the engine.
//
// A small message goes to its receiver, eagerly; the data of a longer one is *pushed* behind its header. The data of a
// large or synchronous one stays with its sender, who sends a request. When the engine of the receiver's host has
// matched it, one rank there *pulls* it in pieces, straight into the receive buffer where that is contiguous. Sequence
// numbers keep the messages between two ranks in order, whichever ranks hear of them.
//
// Who takes part (Ouyang 2022, 3.2, for the network):
// - A receiver that calls MPI pulls its own messages, from their sender. When no piece comes for a while it asks the
//   other ranks of the sender's host, too: the first that gets to a piece sends it out of the sender's buffer.
// - For a receiver that computes, a rank of its host that waits pulls. It learns of the message from an *offer*: when
//   nobody pulls a message for a while, a rank of the sender's host that waits offers it to those ranks, and sends the
//   pieces itself. So none of the two sides depends on a rank that computes.
// - A rank that has worked for others leaves its wait in an orderly way (`leave`): it takes back its offers, with a
//   message to each rank that it made them to, stops to pull, and waits for the pieces that are on their way. All who
//   have to answer are in waits of their own, or have said that they are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
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
  message_sizes sizes;
  std::uint64_t (*clock)() = &os::ticks;
};

class internode_messages final : private carrier::listener, public wait_observer {
 public:
  /// `of_host`: of the ranks of the host, by their numbers.
  internode_messages(engine& ranks, carrier& network, job_places places, std::span<host_messages* const> of_host,
                     const internode_options& options = {});
  ~internode_messages();

  /// Starts a send to a rank of another host. Null: the buffer is free again. Otherwise as engine::send: the record
  /// goes to `release` of the engine when it is complete. Throws arena_exhausted, with nothing done.
  send_record* send(int to, const message_key& key, const user_buffer& data, send_mode mode);

  /// Moves everything on. True: something has happened.
  bool poll() noexcept;
  /// Something is under way that needs this rank's polls.
  bool is_active() const {
    // relaxed: written by this rank, or by one that ends a message of it
    return own_.sending.load(std::memory_order_relaxed) > 0 || !streams_.empty() || !sending_.empty();
  }

  void wait_begins() override;
  /// All of the following.
  void wait_ends() override;
  void begin_leaving();
  /// True: no work for others is left, the rank has left. False: poll.
  bool may_leave();

 private:
  struct open_piece {
    std::uint64_t ticket = 0;
    std::uint32_t piece = 0;
    int tag = 0;
    std::byte* staged = nullptr;  // null: it comes straight into the receive buffer
    std::size_t bytes = 0;
  };
  // A message that this rank pulls.
  struct stream {
    incoming_message* message = nullptr;
    receive_record* to = nullptr;
    int owner_number = 0;     // of the receiver
    int server = 0;           // rank that is asked for pieces
    std::uint32_t epoch = 0;  // of its offer; 0: the message is our own
    std::uint64_t bytes = 0;  // that are wanted
    std::uint32_t next = 0;   // piece to ask for
    std::uint64_t changed = 0;
    std::uint64_t timeout = 0;
    bool is_stopping = false;  // asks for no more
    bool is_stopped = false;   // and the server knows
    std::vector<open_piece> open;
    bool is_for_other() const { return epoch != 0; }
  };
  // A piece that this rank sends.
  struct sent_piece {
    int owner_number = 0;
    std::uint32_t slot = 0;
    std::uint32_t pieces = 0;  // of the message
    std::byte* staged = nullptr;
    bool is_for_other = false;  // a rank waits for it that may have to compute
    // All of a message that is pushed, which has no slot.
    send_record* pushed = nullptr;
    bool is_buffered = false;
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
  struct receiver {
    std::uint32_t next = 0;      // sequence number of the next message to it
    std::uint32_t received = 0;  // it has all that were pushed before that one
    bool is_asked = false;
  };
  struct parked {
    message_key key;
    std::vector<std::byte> data;
  };

  void arrived(int from, const message_header& header, std::span<const std::byte> data) override;
  void piece_sent(std::uint64_t ticket) override;
  void piece_received(std::uint64_t ticket, int from) override;

  void eager_arrived(const message_header& header, std::span<const std::byte> data);
  void request_arrived(const message_header& header);
  void deliver_in_order(host_messages& owner, int owner_number, int from);
  static incoming_message* find(host_messages& owner, int from, std::uint32_t sequence);

  send_record* push(message_header& header, const user_buffer& data, send_mode mode);
  send_record* offer_to_pull(message_header& header, const user_buffer& data, send_mode mode);
  std::uint32_t take_slot(outgoing_message*& slot);
  std::byte* staged_copy(const user_buffer& from, std::uint64_t offset, std::size_t bytes);
  void end_send(send_record& record, bool is_buffered);
  void serve_pull(int puller, const message_header& pull);
  void end_piece(const sent_piece& piece);
  void offer_messages();
  void withdraw_offers();
  void withdrawn(int puller, const message_header& of);
  void send_to_host_of_receiver(const message_header& header);

  bool pull_own();
  bool help_others();
  void begin_stream(incoming_message& message, int owner_number, int server, std::uint32_t epoch);
  void receive_pushed(stream& of);
  void ask_for_pieces(stream& of);
  void ask(const stream& of, const open_piece& piece, int server);
  void ask_others();
  void unpack(stream& of, const open_piece& piece);
  void end_if_done(std::deque<stream>::iterator which);
  void stopped(int server, const message_header& header);

  std::uint32_t pieces_of(const stream& of) const { return options_.sizes.pieces(of.bytes); }
  const std::vector<int>& ranks_of_host_of(int rank) const {
    return places_.ranks_of[static_cast<std::size_t>(places_.host_of[static_cast<std::size_t>(rank)])];
  }
  // Tags of pieces that are pulled come from the rank that pulls, and are the lower half. Those of pushed data are by
  // its sequence number, and the upper half.
  int tags_of_each_kind() const { return network_.largest_tag() / 2; }
  int free_tag();
  std::size_t most_own_streams() const;
  bool may_push(receiver& to, const message_header& header);
  void answer(int from);
  bool may_reach(const user_buffer& buffer, int owner_number) const {
    return owner_number == number() || buffer.is_for_everybody(ranks_.options().kernel_copies);
  }
  endpoint_counters& counters() const { return ranks_.own().counters; }
  int number() const { return static_cast<int>(ranks_.number()); }

  engine& ranks_;
  carrier& network_;
  const job_places places_;
  const std::span<host_messages* const> of_host_;
  host_messages& own_;
  const internode_options options_;
  std::vector<receiver> receivers_;  // by rank
  std::deque<stream> streams_;
  std::map<std::uint64_t, sent_piece> sending_;
  std::vector<offer> offers_;
  std::vector<made_offer> made_offers_;
  std::map<std::pair<int, std::uint32_t>, parked> parked_;  // eager messages that came too early
  std::uint64_t tickets_ = 0;
  int tags_ = 0;
  std::uint32_t epoch_ = 1;
  std::uint32_t looks_ = 0;
  std::size_t streams_for_others_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t looked_for_offers_ = 0;
  const std::uint64_t timeout_;
  const std::uint64_t most_timeout_;
  bool is_waiting_ = false;
  bool is_leaving_ = false;
};

}  // namespace tri::mpi
