// The emergency memory (Farreras 2008, chapter 4): a fixed number of slots for answers that wait to be sent, allocated
// once and used for every answer, so a refusal never needs unavailable memory. When all are in use, the receiver
// accepts no further request from the network until one is sent. resendAll needs no slot: it is a bit of the peer until
// it is sent.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "flow/packet.hpp"

namespace tri::flow {

class reserved_reply_slots {
 public:
  explicit reserved_reply_slots(std::size_t count) : slots_(count) {
    if (count == 0) throw std::invalid_argument("flow control: a receiver needs at least one slot for answers");
  }

  bool is_empty() const { return size_ == 0; }
  bool has_capacity() const { return size_ < slots_.size(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }
  std::size_t most_used() const { return most_used_; }
  const outgoing& at(std::size_t i) const { return slots_[(first_ + i) % slots_.size()]; }

  void put(const outgoing& answer) {
    if (!has_capacity()) throw std::logic_error("flow control: no slot for an answer; take packets out first");
    slots_[(first_ + size_) % slots_.size()] = answer;
    if (++size_ > most_used_) most_used_ = size_;
  }
  outgoing take() {
    const outgoing answer = slots_[first_];
    first_ = (first_ + 1) % slots_.size();
    --size_;
    return answer;
  }

 private:
  std::vector<outgoing> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t most_used_ = 0;
};

}  // namespace tri::flow
