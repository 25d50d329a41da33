// The emergency memory (Farreras 2008, chapter 4): a fixed number of places for answers that wait to be sent, made once
// and used for every answer, so a refusal never needs memory that is not there. When all are taken, the receiver takes
// no further request from the network until one is sent. resendAll needs no place: it is a bit of the peer until it is
// sent.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "flow/packet.hpp"

namespace tri::wire::flow {

class reply_places {
 public:
  explicit reply_places(std::size_t count) : places_(count) {
    if (count == 0) throw std::invalid_argument("flow control: a receiver needs at least one place for answers");
  }

  bool is_empty() const { return size_ == 0; }
  bool has_room() const { return size_ < places_.size(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return places_.size(); }
  std::size_t most_used() const { return most_used_; }
  const outgoing& at(std::size_t i) const { return places_[(first_ + i) % places_.size()]; }

  void put(const outgoing& answer) {
    if (!has_room()) throw std::logic_error("flow control: no place for an answer; take packets out first");
    places_[(first_ + size_) % places_.size()] = answer;
    if (++size_ > most_used_) most_used_ = size_;
  }
  outgoing take() {
    const outgoing answer = places_[first_];
    first_ = (first_ + 1) % places_.size();
    --size_;
    return answer;
  }

 private:
  std::vector<outgoing> places_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t most_used_ = 0;
};

}  // namespace tri::wire::flow
