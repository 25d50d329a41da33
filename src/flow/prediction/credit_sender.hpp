// The sender's side of credits (FA-09, FA-10; Farreras 2008, chapter 3): a message is sent eagerly only when the
// receiver has granted its buffer; all others use rendezvous. So predictions, right or wrong, affect only speed.
//
// Called by the thread that sends for this process, one thread at a time. 8 bytes per destination.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/prediction/credit_control.hpp"

namespace tri::flow::prediction {

enum class route {
  eager,  // send it unasked: its buffer at the receiver is reserved, and paid for by this call
  ask,    // rendezvous
};

class credit_sender {
 public:
  credit_sender(std::uint32_t peers, std::uint64_t largest_eager) : balances_(peers), largest_eager_(largest_eager) {}

  route send(std::uint32_t destination, std::uint64_t size) {
    std::uint64_t& balance = balances_.at(destination);
    if (size > largest_eager_ || balance < buffer_bytes(size)) return route::ask;
    balance -= buffer_bytes(size);
    return route::eager;
  }

  // A control message has arrived. If a number is returned, even 0, this many bytes of credit leave this side and must
  // be reported to `from` (credit_granter::given_back).
  [[nodiscard]] std::optional<std::uint64_t> on_control(std::uint32_t from, const credit_control& control) {
    std::uint64_t& balance = balances_.at(from);
    balance += control.granted;
    if (control.recalled == 0) return std::nullopt;
    const std::uint64_t back = std::min(balance, control.recalled);
    balance -= back;
    return back;
  }

  void peer_failed(std::uint32_t peer) { balances_.at(peer) = 0; }

  std::uint64_t largest_eager() const { return largest_eager_; }
  std::uint64_t balance(std::uint32_t destination) const { return balances_.at(destination); }

 private:
  std::vector<std::uint64_t> balances_;  // bytes that may be sent unasked
  std::uint64_t largest_eager_;
};

}  // namespace tri::flow::prediction
