// Messages in the order in which their receives were made, which is the order that can be predicted (Farreras 2008,
// chapter 3, "logical stream"): several receives may wait at once, and the network decides which of them is served
// first. A receive that is served late delays the reports of those behind it, but of at most `longest` served ones:
// then it is skipped, and reported when served. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tri::flow::prediction {

class program_order {
 public:
  explicit program_order(std::size_t longest = 64) : longest_(longest) {}

  /// A receive is made: its number.
  std::uint64_t made() {
    receives_.push_back({});
    return first_ + receives_.size() - 1;
  }
  /// The receive has got a message. Calls tell(sender, size) for each message whose turn has come.
  template <class Tell>
  void served(std::uint64_t number, std::uint32_t sender, std::uint64_t size, Tell&& tell) {
    if (number < first_) {
      tell(sender, size);
      return;
    }
    receives_[number - first_] = {state::served, sender, size};
    ++waiting_;
    go_on(tell);
    while (waiting_ > longest_) {
      pop();  // not served yet
      go_on(tell);
    }
  }
  /// It is given up; those behind it are reported when the next one is served.
  void given_up(std::uint64_t number) {
    if (number < first_) return;
    receives_[number - first_].is = state::given_up;
    // A program that repeatedly posts and cancels must not fill the memory.
    while (!receives_.empty() && receives_.back().is == state::given_up) receives_.pop_back();
  }

  std::size_t held_back() const { return waiting_; }

 private:
  enum class state : std::uint8_t { open, served, given_up };
  struct receive {
    state is = state::open;
    std::uint32_t sender = 0;
    std::uint64_t size = 0;
  };

  template <class Tell>
  void go_on(Tell&& tell) {
    while (!receives_.empty() && receives_.front().is != state::open) {
      const receive one = receives_.front();
      pop();
      if (one.is != state::served) continue;
      --waiting_;
      tell(one.sender, one.size);
    }
  }
  void pop() {
    receives_.pop_front();
    ++first_;
  }

  std::deque<receive> receives_;
  std::uint64_t first_ = 0;  // number of the first of them
  std::size_t waiting_ = 0;  // served, not reported
  std::size_t longest_;
};

}  // namespace tri::flow::prediction
