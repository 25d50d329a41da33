// One PE's part of a tri::mailbox: sent messages that are not received yet, arrived unexpected messages, and waiting
// receives. The rules are those of the state machines in flow: the receiver's memory is bounded, messages without room
// stay with their sender. This turns their packets into messages of objects, and carries the data. Used by its PE's
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flow/prediction/predicting_receiver.hpp"
#include "flow/prediction/program_order.hpp"
#include "flow/receiver.hpp"
#include "flow/sender.hpp"
#include "trace/format.hpp"
#include "trireme/detail/objects/mailbox_statistics.hpp"
#include "trireme/group.hpp"
#include "trireme/received_message.hpp"

namespace tri {

namespace objects {

class local_mailbox;

/// What a receive waits for.
struct message_pattern {
  flow::message_filter filter;
  std::string describe() const;
};
/// Throws std::out_of_range, std::invalid_argument.
message_pattern pattern_of(sched::pe& here, int source, int tag);

/// A receive: the state of its future.
class receive_state final : public result_state<received_message> {
 public:
  receive_state(std::uint32_t mailbox, const message_pattern& wanted) : mailbox_(mailbox), wanted_(wanted) {}
  ~receive_state() override;
  std::string describe() const override;
  const message_pattern& wanted() const { return wanted_; }

 private:
  friend class local_mailbox;
  local_mailbox* posted_at_ = nullptr;  // null: not posted
  std::uint64_t token_ = 0;
  std::uint64_t order_ = 0;  // among the receives of this PE, for a trace
  std::uint32_t mailbox_;
  message_pattern wanted_;
};

/// Limits of a mailbox, the same on all PEs.
struct mailbox_limits {
  std::uint64_t memory = 0;
  std::uint64_t eager_bytes = 0;
  std::uint64_t credits = 0;
};

class local_mailbox final : public group_member<local_mailbox> {
 public:
  explicit local_mailbox(const mailbox_limits& limits);
  local_mailbox(const local_mailbox&) = delete;
  local_mailbox& operator=(const local_mailbox&) = delete;
  ~local_mailbox() override;

  // ---- calls of this PE
  void send(int to, int tag, message_contents contents);
  void post(receive_state& waiting);
  void give_up(receive_state& waiting);
  std::optional<message_info> probe(const message_pattern& wanted) const;
  /// Calls that were made before wait as messages.
  bool has_late_calls() const { return *late_calls_ != 0; }
  /// For the program's own use; false: not enough is free.
  bool take_memory(std::uint64_t bytes) { return receiver_.reserve(bytes); }
  mailbox_statistics statistics() const;
  std::string describe_unclaimed() const;

  // ---- entry methods: the packets of flow, as they fit into an envelope
  struct request_control {
    std::uint64_t request;
    std::uint64_t bytes;
    std::uint32_t age;
    std::int32_t tag;
    std::uint32_t source : 29;
    std::uint32_t none_asleep : 1;
    std::uint32_t paid : 2;
    std::uint32_t granted_lines;  // of credit for messages in the other direction
  };
  struct answer_control {
    std::uint64_t request;         // resendAll, resendOne: the age
    std::uint64_t place;           // NCTS: the age; resendOne: the tag
    std::uint32_t granted_lines;   // of credit
    std::uint32_t recalled_lines;  // all ones: nothing is recalled
    std::uint32_t source;
    std::uint16_t kind;
    std::uint16_t has_data;  // the data is here
  };
  struct credit_control {
    std::uint64_t granted;
    std::uint64_t recalled;
    std::uint32_t source;
  };
  struct data_control {
    std::uint64_t place;
    std::uint32_t source;
    std::uint32_t type;
  };
  static_assert(sizeof(request_control) <= sched::inline_payload_bytes &&
                    sizeof(answer_control) <= sched::inline_payload_bytes &&
                    sizeof(credit_control) <= sched::inline_payload_bytes &&
                    sizeof(data_control) + sizeof(buffer<std::byte>) <= sched::inline_payload_bytes,
                "fits into an envelope");
  void take_request(const request_control& note) { requested(note, nullptr); }
  void take_eager(const request_control& note, std::uint32_t type, buffer<std::byte> data) {
    message_contents contents{type, std::move(data)};
    requested(note, &contents);
  }
  /// Data that was paid with a credit.
  void take_on_credit(const request_control& note, std::uint32_t type, buffer<std::byte> data);
  void take_credit(const credit_control& note) { noted(note.source, {note.granted, note.recalled}); }
  void take_returned_credit(std::uint64_t bytes, std::uint32_t source);
  void take_answer(const answer_control& note);
  void take_data(const data_control& note, buffer<std::byte> data);
  void release_memory(std::uint64_t bytes) {
    receiver_.release(bytes);
    answer(0);
  }
  /// Calls on this PE before the creation of the mailbox had arrived, or queued behind those.
  void send_late(std::int32_t to, std::int32_t tag, std::uint32_t type, buffer<std::byte> data) {
    --*late_calls_;
    send(to, tag, {type, std::move(data)});
  }
  void post_late(std::uint32_t slot, std::uint32_t generation);

 private:
  struct unsent_message {
    message_contents contents;
    bool was_offered = false;  // its data went with a request
    std::size_t next_free = 0;
  };
  struct posted_receive {
    receive_state* state = nullptr;  // null: given up when a message had been matched to it already
    std::uint64_t number = 0;        // predicted_credits::order
    std::size_t next_free = 0;
  };

  // Predictions of the next messages, and the credits for them. 40 KiB, and 64 bytes per PE.
  struct predicted_credits {
    predicted_credits(std::uint32_t pes, const flow::prediction::credit_options& options) : in(pes, options) {}
    flow::prediction::predicting_receiver in;
    flow::prediction::program_order order;
    std::map<std::pair<std::uint32_t, std::uint64_t>, message_contents> parked;  // by sender and request: refused, paid
    std::uint64_t on_credit = 0;
    std::uint64_t notes = 0;
    std::uint64_t recalls = 0;
  };

  void requested(const request_control& note, message_contents* eager);
  void requested_paid(const request_control& note);
  void noted(std::uint32_t from, const flow::prediction::credit_control& note);
  void predict(const posted_receive& served, const flow::delivery& done);
  void report_prediction(std::uint32_t sender, std::uint64_t size);
  void arrived(std::uint32_t from, std::uint64_t place, message_contents contents, std::uint64_t came_with_request);
  void finish(const flow::delivery& done);
  void transmit(bool data_is_there);
  [[noreturn]] void fail_half_way(const std::exception& error);
  void answer(std::uint64_t came_with_request);
  element_ref<local_mailbox> at(std::uint32_t pe) const { return {home().facts().id, pe}; }
  std::uint64_t add(receive_state& waiting);
  void remove(std::uint64_t token);
  void trace(trace::event what, std::uint32_t source, std::int32_t tag, std::size_t bytes, std::uint64_t receive) const;

  const mailbox_limits limits_;
  std::uint64_t* const late_calls_;  // of pe_objects
  flow::sender sender_;
  flow::receiver receiver_;
  std::vector<unsent_message> unsent_;
  std::vector<posted_receive> receives_;
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t free_unsent_ = none;
  std::size_t free_receive_ = none;
  std::unordered_map<std::uint64_t, message_contents> arrived_;  // by place, complete, not received yet
  std::uint64_t buffered_bytes_ = 0;
  std::uint64_t eager_ = 0;
  std::uint64_t asked_ = 0;  // receives so far
  std::uint64_t rendezvous_ = 0;
  std::unique_ptr<predicted_credits> prediction_;  // null: no credits
  std::vector<flow::outgoing> out_;                // of the event that is being dealt with
};

}  // namespace objects
}  // namespace tri
