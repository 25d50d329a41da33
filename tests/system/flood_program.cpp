// A flood of messages to a slow receiver on another host: everything comes, in order, and what has come and not run yet
// stays within --tri-message-memory, by the receiver's account and by what is counted here.
//   flood_program <messages> <bytes> <ways> [stop]   on two hosts; ways: 1 = host 0 floods host 1, 2 = both ways;
//                                                    stop: the job ends in the middle of it
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/configuration.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"
#include "trireme/objects.hpp"

namespace {

tri::sched::wire_link& wire() {
  return *static_cast<tri::sched::process_runtime&>(*tri::sched::current_runtime()).wire();
}

// Small enough to travel without a block, and with one.
struct small {
  std::uint64_t number;
};

struct receiver : tri::group_member<receiver> {
  void take_small(small item) { took(item.number, 0); }
  void take_large(std::vector<unsigned char> bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    if (bytes.back() != static_cast<unsigned char>(number)) ++wrong_;
    took(number, bytes.size());
  }
  void flood(std::uint64_t messages, std::size_t bytes, int to) {
    std::vector<unsigned char> body(bytes);
    for (std::uint64_t number = 0; number < messages; ++number) {
      if (bytes == 0) {
        this_array()(to).send<&receiver::take_small>(small{number});
        continue;
      }
      std::memcpy(body.data(), &number, sizeof number);
      body.back() = static_cast<unsigned char>(number);
      this_array()(to).send<&receiver::take_large>(body);
    }
  }
  void note(std::uint64_t) { ++notes_; }
  std::uint64_t taken() { return next_; }
  std::uint64_t notes() { return notes_; }
  std::uint64_t wrong() { return wrong_; }
  std::uint64_t waited() { return wire().counters().waited; }
  std::uint64_t memory_peak() { return wire().counters().memory_peak; }
  // Of the messages that had come when one of them ran: apart from the account of the wire.
  std::uint64_t most_that_waited() { return most_; }

 private:
  void took(std::uint64_t number, std::size_t bytes) {
    if (number != next_++) ++wrong_;
    const std::uint64_t came = wire().counters().messages_arrived;
    most_ = std::max(most_, (came - std::min(came, next_ + notes_)) * (64 + bytes));
    volatile unsigned work = 0;
    for (unsigned i = 0; i < 300; ++i) work = work + i;  // slower than the sender
  }
  std::uint64_t next_ = 0, wrong_ = 0, most_ = 0, notes_ = 0;
};

void require(bool holds, const char* what, std::uint64_t value) {
  if (!holds) throw std::runtime_error(std::string(what) + ": " + std::to_string(value));
}

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** words) {
    if (count < 4) throw std::runtime_error("usage: flood_program <messages> <bytes> <ways> [stop]");
    const std::uint64_t messages = std::strtoull(words[1], nullptr, 10);
    const std::size_t bytes = std::strtoull(words[2], nullptr, 10);
    const int ways = std::atoi(words[3]);
    tri::sched::runtime& job = *tri::sched::current_runtime();
    const int other = job.pes_of_host();  // the first PE of host 1
    const std::uint64_t limit = job.values().message_memory;
    auto all = tri::make_group<receiver>();
    tri::quiescence().get();
    all[0].send<&receiver::flood>(messages, bytes, other);
    if (ways == 2) all[other].send<&receiver::flood>(messages, bytes, 0);
    // Among the flood: immediate messages and broadcasts pass, or come in their turn.
    for (std::uint64_t number = 0; number < 20; ++number) {
      all[other].with(tri::immediate).send<&receiver::note>(number);
      all.broadcast<&receiver::note>(number);
    }
    if (count > 4) return 7;
    tri::quiescence().get();
    for (const int pe : {0, other}) {
      const bool flooded = pe == other || ways == 2;
      require(all[pe].call<&receiver::taken>().get() == (flooded ? messages : 0), "messages taken", messages);
      const std::uint64_t wrong = all[pe].call<&receiver::wrong>().get();
      require(wrong == 0, "messages that were wrong or out of order", wrong);
      const std::uint64_t notes = all[pe].call<&receiver::notes>().get();
      require(notes == (pe == other ? 40 : 20), "notes", notes);
      if (!flooded) continue;
      const std::uint64_t alone = 2 * (64 + (bytes + 127) / 64 * 64);  // with a limit for less than one message
      const std::uint64_t peak = all[pe].call<&receiver::memory_peak>().get();
      const std::uint64_t most = all[pe].call<&receiver::most_that_waited>().get();
      std::printf("PE %d: at most %llu bytes of messages by the account, %llu as counted, limit %llu; %llu waited\n",
                  pe, static_cast<unsigned long long>(peak), static_cast<unsigned long long>(most),
                  static_cast<unsigned long long>(limit),
                  static_cast<unsigned long long>(all[pe == 0 ? other : 0].call<&receiver::waited>().get()));
      require(peak <= std::max(limit, alone), "memory of messages by the account", peak);
      // Notes and questions of quiescence have come, too, and are not taken.
      if (limit >= 1 << 20) require(most <= limit + limit / 8, "memory of messages as counted", most);
    }
    const std::uint64_t waited = all[0].call<&receiver::waited>().get();
    require(waited > messages / 2, "messages that had to wait", waited);
    return 0;
  });
}
