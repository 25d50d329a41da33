// What the machines really take from the heap, by counting allocations. A receiver of unexpected messages stays below
// its limit, and 65,536 peers stay below 64 bytes each.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "counted_heap.hpp"
#include "flow/receiver.hpp"
#include "flow/sender.hpp"

namespace tri::flow {
namespace {

// One receiver and many senders; control packets in order, handled as they come. Only what the receiver takes (and the
// buffers that it is given) is counted.
class exchange {
 public:
  exchange(std::size_t senders, std::uint64_t memory) : senders_(senders, sender(1)) {
    reset_count();
    const counting here;
    receiver_ = std::make_unique<receiver>(senders, memory, 16);
    at_start_ = counted();
  }

  void send(peer_number from, std::int32_t tag, std::uint64_t bytes) {
    out_.clear();
    senders_[from].send(0, {.token = token_++, .bytes = bytes, .context = 0, .tag = tag}, out_);
    carry(from);
  }
  void post(peer_number source, std::int32_t tag) {
    make_room();
    std::optional<delivery> done;
    {
      const counting here;
      done = receiver_->post({{source, 0, tag}, 1 << 20, token_++});
    }
    if (done) deliver(*done);
    run();
  }
  void run() {
    while (!requests_.empty()) {
      const auto [from, rts] = requests_.front();
      requests_.pop_front();
      make_room();
      decision made;
      std::unique_ptr<char[]> buffer;
      {
        const counting here;
        made = receiver_->on_request(from, rts);
        if (made.what == verdict::buffered && rts.bytes > 0) buffer = std::make_unique<char[]>(rts.bytes);
      }
      if (made.what == verdict::buffered) buffers_[made.place] = std::move(buffer);
      emit();
    }
    emit();
    if (!requests_.empty()) run();
  }

  std::uint64_t delivered() const { return delivered_; }
  std::int64_t at_start() const { return at_start_; }
  const receiver& receiving_side() const { return *receiver_; }
  bool is_idle() const {
    for (const sender& one : senders_)
      if (!one.is_idle()) return false;
    return true;
  }

 private:
  void make_room() {
    while (!receiver_->has_capacity()) emit_one();
  }
  void emit() {
    while (emit_one()) {
    }
  }
  bool emit_one() {
    const auto one = receiver_->next_packet();
    if (!one) return false;
    out_.clear();
    senders_[one->to].on_packet(0, one->what, out_);
    carry(one->to);
    return true;
  }
  void carry(peer_number from) {
    const std::vector<outgoing> out = out_;
    for (const outgoing& one : out) {
      if (one.what.kind != packet_kind::data) {
        requests_.emplace_back(from, one.what);
        continue;
      }
      std::optional<delivery> done;
      {
        const counting here;
        done = receiver_->on_data(from, one.what);
      }
      if (done) deliver(*done);
    }
  }
  void deliver(const delivery& done) {
    ++delivered_;
    if (!done.buffered) return;
    const counting here;
    buffers_.erase(done.place);
    receiver_->consumed(done.buffer_bytes);
  }

  std::vector<sender> senders_;
  std::unique_ptr<receiver> receiver_;
  std::map<std::uint64_t, std::unique_ptr<char[]>> buffers_;
  std::deque<std::pair<peer_number, packet>> requests_;
  std::vector<outgoing> out_;
  message_token token_ = 1;
  std::uint64_t delivered_ = 0;
  std::int64_t at_start_ = 0;
};

TEST(flow_footprint, ten_thousand_unexpected_messages_stay_in_their_memory) {
  constexpr std::size_t senders = 63;
  constexpr std::int32_t messages = 160;
  constexpr std::int64_t limit = 250'000;
  // Beside records and buffers: what the receiver has from the start, and what the allocator adds to a buffer.
  constexpr std::int64_t limit_of_machine = limit - 8'000;
  exchange all(senders, limit_of_machine);
  for (std::int32_t tag = 0; tag < messages; ++tag)
    for (peer_number from = 0; from < senders; ++from) all.send(from, tag, 1000);
  all.run();
  EXPECT_EQ(all.delivered(), 0U);
  EXPECT_GT(all.receiving_side().memory().used(), limit_of_machine - 1500) << "memory ran out";
  for (std::int32_t tag = messages - 1; tag >= 0; --tag)
    for (peer_number from = 0; from < senders; ++from) all.post(from, tag);
  EXPECT_EQ(all.delivered(), senders * static_cast<std::uint64_t>(messages));
  EXPECT_TRUE(all.is_idle());
  EXPECT_LE(most_counted(), limit);
  EXPECT_GT(most_counted(), limit / 2) << "the count is of something";
  EXPECT_EQ(all.receiving_side().memory().used(), 0U);
  EXPECT_EQ(counted(), all.at_start()) << "all of it was given back";
}

TEST(flow_footprint, of_65536_peers_is_below_64_bytes_each) {
  constexpr std::size_t peers = 65'536;
  constexpr std::uint64_t records = 64;
  exchange all(peers, records * record_bytes);
  const std::int64_t state_of_receiver = all.at_start();
  for (peer_number from = 0; from < peers; ++from) all.send(from, 0, 0);
  all.run();
  EXPECT_EQ(all.receiving_side().recorded(), records);
  EXPECT_EQ(all.receiving_side().marked(), peers - records);
  EXPECT_LE(most_counted(), state_of_receiver + static_cast<std::int64_t>(records * record_bytes))
      << "refusals are bits";
  for (std::size_t i = 0; i < peers; ++i) all.post(any_source, any_tag);
  EXPECT_EQ(all.delivered(), peers);
  EXPECT_TRUE(all.is_idle());
  // Told at the pace at which they are served, not all for every message that goes.
  EXPECT_LT(all.receiving_side().count().restarts, 3 * peers);
  EXPECT_LT(all.receiving_side().count().requests, 4 * peers);

  // What the process keeps for its own sends to all of them, when they are done.
  reset_count();
  std::unique_ptr<sender> mine;
  {
    const counting here;
    mine = std::make_unique<sender>(peers);
  }
  const std::int64_t state_of_sender = counted();
  std::printf("per peer: receiving %.1f bytes, sending %.1f bytes; %.2f restarts per message\n",
              static_cast<double>(state_of_receiver) / peers, static_cast<double>(state_of_sender) / peers,
              static_cast<double>(all.receiving_side().count().restarts) / peers);
  EXPECT_GT(state_of_receiver, static_cast<std::int64_t>(4 * peers));
  EXPECT_GT(state_of_sender, static_cast<std::int64_t>(16 * peers));
  EXPECT_LE(state_of_receiver + state_of_sender, static_cast<std::int64_t>(64 * peers));
  std::vector<outgoing> out;
  for (peer_number to = 0; to < peers; ++to) {
    mine->send(to, {.token = to, .bytes = 8, .context = 0, .tag = 0}, out);
    packet cts;
    cts.kind = packet_kind::cts;
    cts.request = out.front().what.request;
    mine->on_packet(to, cts, out);
    ASSERT_EQ(out.back().message, to);
    out.clear();
  }
  EXPECT_TRUE(mine->is_idle());
}

}  // namespace
}  // namespace tri::flow
