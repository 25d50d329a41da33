// Credits granted by prediction: the receiver's policy (FA-09, FA-12; Farreras 2008, chapter 3, implemented there in
// MPICH 1.2.4). After every `batch` messages (M) the next ones are predicted and their buffers granted; control
// messages are piggybacked, and those still waiting after M/2 further messages are sent separately.
//
// A plan covers M + M/2 messages, where the thesis plans M: without traffic in the other direction a control message
// may leave M/2 messages late, and by then half of a plan of M would have been sent without credit.
//
// Called by the thread that receives for this process, one thread at a time. Does no I/O: it returns the messages to
// send.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/prediction/credit_granter.hpp"
#include "flow/prediction/message_predictor.hpp"

namespace tri::flow::prediction {

struct credit_options {
  int batch = 32;  // M: messages per prediction
  std::uint64_t largest_eager =
      std::uint64_t{16} * 1024;  // bytes; larger ones always use rendezvous: copying costs more than a handshake
  std::uint64_t pool_limit = std::uint64_t{1024} * 1024;  // bytes for all senders together
  prediction_options prediction = {};
};

class predicting_receiver {
 public:
  predicting_receiver(std::uint32_t peers, const credit_options& options);

  // The program has received a message and its buffer, if it had one, is released. In the order of the program's
  // receives, which is what makes the stream predictable; not in that of arrival. Returns the messages to send now,
  // valid until the next call.
  std::span<const credit_message> received(std::uint32_t sender, std::uint64_t size);

  // The pool: what arrived, was released, came back, and what travels on messages that leave.
  credit_granter& credits() { return credits_; }
  const credit_granter& credits() const { return credits_; }
  const message_predictor& predictor() const { return predictor_; }

 private:
  void plan();

  credit_options options_;
  int since_plan_ = 0;
  message_predictor predictor_;
  credit_granter credits_;
  std::vector<expected_message> expected_;
  std::vector<credit_message> leaving_;
};

}  // namespace tri::flow::prediction
