// What prediction and credits cost per message: each predictor on a stream it can predict and on one it cannot, the
// receiver's whole work with them, and the sender's decision.
//
//   prediction_bench        prints nanoseconds per message, the median of 31 batches of 20000, and the spread
//   (quartiles)
//
// Processor time of this thread, so that other programs on the machine disturb little. The streams are those of
// src/sim/stream_generator.hpp, in the order of the program; "random" has 500 different messages in no
// order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "flow/prediction/credit_sender.hpp"
#include "flow/prediction/message_predictor.hpp"
#include "flow/prediction/predicting_receiver.hpp"
#include "sim/stream_generator.hpp"

namespace {

using namespace tri::flow::prediction;
using namespace tri::sim;

double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

constexpr std::size_t messages_per_batch = 20000;

// `one` is called with the number of the message.
template <class One>
void row(const std::string& name, One&& one) {
  std::vector<double> found;
  std::size_t message = 0;
  for (int batch = 0; batch < 31; ++batch) {
    const double start = now_ns();
    for (std::size_t i = 0; i < messages_per_batch; ++i) one(message++);
    found.push_back((now_ns() - start) / static_cast<double>(messages_per_batch));
  }
  std::sort(found.begin(), found.end());
  fmt::print("{:<44} {:8.1f}   {:.1f} to {:.1f}\n", name, found[15], found[7], found[23]);
}

// So that the compiler cannot see that a result is not used.
template <class Type>
void keep(const Type& value) {
  asm volatile("" : : "m"(value) : "memory");
}

}  // namespace

int main() {
  std::mt19937_64 random(1);
  std::vector<message_facts> unordered(4096);
  for (message_facts& it : unordered)
    it = {.address = 0, .size = 16 * (random() % 100), .sender = static_cast<std::uint32_t>(random() % 5)};
  const std::vector<message_facts> bt = generate(known_stream("BT", 25), 1).pattern;
  const std::vector<message_facts> lu = generate(known_stream("LU", 8), 1).pattern;
  const std::pair<const char*, const std::vector<message_facts>*> streams[] = {
      {"BT.25", &bt}, {"LU.8", &lu}, {"random", &unordered}};

  fmt::print("ns per message{:>39}   quartiles\n", "median");
  for (const auto kind :
       {predictor_kind::dpd, predictor_kind::shortdpd, predictor_kind::early, predictor_kind::graph}) {
    for (const auto& [name, stream] : streams) {
      message_predictor predictor({.kind = kind});
      for (std::size_t i = 0; i < 4 * stream->size(); ++i) predictor.push((*stream)[i % stream->size()]);
      row(fmt::format("push/{}/{}", name_of(kind), name),
          [&](std::size_t i) { predictor.push((*stream)[i % stream->size()]); });
    }
  }
  for (const auto kind : {predictor_kind::shortdpd, predictor_kind::graph}) {
    message_predictor predictor({.kind = kind});
    for (std::size_t i = 0; i < 20 * bt.size(); ++i) predictor.push(bt[i % bt.size()]);
    for (const int ahead : {1, 10}) {
      row(fmt::format("next/{}/BT.25/+{}", name_of(kind), ahead), [&](std::size_t) { keep(predictor.next(ahead)); });
    }
  }
  for (const auto kind : {predictor_kind::early, predictor_kind::graph}) {
    for (const auto& [name, stream] : streams) {
      // All that both sides do for a message that the receiver gets: notes, the sender's decision, books, prediction.
      predicting_receiver receiver(7, {.prediction = {.kind = kind}});
      std::vector<credit_sender> senders(7, credit_sender(1, 16 * 1024));
      row(fmt::format("message/{}/{}", name_of(kind), name), [&](std::size_t i) {
        const message_facts& it = (*stream)[i % stream->size()];
        const bool eager = senders[it.sender].send(0, it.size) == route::eager;
        if (eager) {
          receiver.credits().arrived(it.sender, it.size);
          receiver.credits().released(it.sender, it.size);
        }
        for (const credit_message& note : receiver.received(it.sender, it.size)) {
          if (const auto back = senders[note.peer].on_control(0, note.note))
            receiver.credits().given_back(note.peer, *back);
        }
      });
    }
  }
}
