// Restores the order of messages between two PEs that take different routes: the sender numbers them for each receiver,
// and the receiver holds those that arrive early. One per PE, used by its thread only. Numbers begin with 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace tri::objects {

class sequence_numbers {
 public:
  std::uint64_t draw(int receiver);
  /// Nothing was sent with this number. False: a later one is out already, and its receiver will wait for ever.
  bool take_back(int receiver, std::uint64_t number);

 private:
  std::unordered_map<int, std::uint64_t> last_;
};

enum class arrival { early, now, past };

template <class Message>
class reorder_buffer {
 public:
  /// A message with this number came. `early`: hold it. `now`: it runs, and then what `next` gives. `past`: its turn
  /// came earlier, and it was held for another reason.
  arrival arrived(int sender, std::uint64_t number) {
    std::uint64_t& before = senders_[sender].last;
    if (number > before + 1) return arrival::early;
    if (number <= before) return arrival::past;
    ++before;
    return arrival::now;
  }
  void keep(int sender, std::uint64_t number, const Message& message) {
    senders_[sender].early.emplace(number, message);
  }
  /// Moves the message whose turn has come to `message`; false if it has not come yet.
  bool next(int sender, Message& message) {
    from_sender& from = senders_[sender];
    if (from.early.empty() || from.early.begin()->first != from.last + 1) return false;
    message = std::move(from.early.extract(from.early.begin()).mapped());
    ++from.last;
    return true;
  }
  /// Calls visit(sender, messages held, number that is missing).
  template <class Visit>
  void visit_waiting(Visit&& visit) const {
    for (const auto& [sender, from] : senders_)
      if (!from.early.empty()) visit(sender, from.early.size(), from.last + 1);
  }
  /// Calls drop(message) for all that are held; they are gone first.
  template <class Drop>
  void drop_held(Drop&& drop) {
    for (auto& [sender, from] : std::exchange(senders_, {}))
      for (auto& [number, message] : from.early) drop(message);
  }

 private:
  struct from_sender {
    std::uint64_t last = 0;  // whose turn came
    std::map<std::uint64_t, Message> early;
  };
  std::unordered_map<int, from_sender> senders_;
};

}  // namespace tri::objects
