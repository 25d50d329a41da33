// Reads and writes frames without a socket: every way in which a stream can be cut, every field at its limits and
// beyond, and any damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "wire/tcp/frame_stream.hpp"
#include "wire/tcp/send_queue.hpp"

namespace tri::wire::test {
namespace {

constexpr std::size_t longest_packet = 5000;

frame_stream all_frames() {
  return frame_stream()
      .packet(3, 5)
      .packet(0, 0)
      .announce(7, 2, 20)
      .packet(4, 0)
      .body(7, 20)
      .announce(8, 0, 1)
      .announce(9, 1, 3)
      .body(9, 3)
      .packet(0, 2)
      .body(8, 1)
      .announce(7, 1, 2)
      .body(7, 2);
}

std::string read_in_one(const frame_stream& stream) {
  frame_decoder decoder(frame_side::by_connector, longest_packet);
  frame_reader reader;
  EXPECT_TRUE(give(decoder, reader, stream.bytes())) << decoder.fault();
  EXPECT_TRUE(decoder.is_between_frames());
  return reader.log;
}

TEST(frame_decoder, a_stream_cut_at_any_two_places_is_the_same) {
  const frame_stream stream = all_frames();
  const std::string expected = read_in_one(stream);
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 12);
  const std::span<const std::byte> bytes = stream.bytes();
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      frame_decoder decoder(frame_side::by_connector, longest_packet);
      frame_reader reader;
      ASSERT_TRUE(give(decoder, reader, bytes.first(first)));
      ASSERT_TRUE(give(decoder, reader, bytes.subspan(first, second - first)));
      ASSERT_TRUE(give(decoder, reader, bytes.subspan(second)));
      ASSERT_EQ(reader.log, expected) << "cut at " << first << " and " << second;
      ASSERT_TRUE(decoder.is_between_frames());
    }
  }
}

TEST(frame_decoder, a_stream_of_single_bytes_is_the_same) {
  const frame_stream stream = all_frames();
  frame_decoder decoder(frame_side::by_connector, longest_packet);
  frame_reader reader;
  for (const std::byte& each : stream.bytes()) ASSERT_TRUE(give(decoder, reader, {&each, 1}));
  EXPECT_EQ(reader.log, read_in_one(stream));
}

TEST(frame_decoder, random_streams_in_random_pieces) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    frame_stream stream;
    std::uint32_t names = 0;
    for (int i = 0; i < 40; ++i) {
      const auto header = static_cast<std::uint16_t>(random() % (longest_frame_header + 1));
      const std::uint64_t body = random() % 3 == 0 ? random() % (longest_packet + 1) : random() % 40;
      if (random() % 3 != 0) {
        stream.packet(header, body);
      } else {
        stream.announce(++names, header, body + 1);
        stream.body(names, body + 1);
      }
    }
    const std::string expected = read_in_one(stream);
    frame_decoder decoder(frame_side::by_connector, longest_packet);
    frame_reader reader;
    std::span<const std::byte> rest = stream.bytes();
    const std::size_t longest_piece = 1 + random() % 9000;
    while (!rest.empty()) {
      const std::size_t piece = std::min<std::size_t>(rest.size(), 1 + random() % longest_piece);
      ASSERT_TRUE(give(decoder, reader, rest.first(piece)));
      rest = rest.subspan(piece);
    }
    ASSERT_EQ(reader.log, expected) << "round " << round;
  }
}

// Wherever a frame is not whole, the stream must not end.
TEST(frame_decoder, knows_where_a_stream_may_end) {
  const frame_stream stream = frame_stream().packet(2, 3).announce(1, 1, 4).body(1, 4);
  const std::vector<std::size_t> ends = {0, 21, 38, 58};
  for (std::size_t size = 0; size <= stream.bytes().size(); ++size) {
    frame_decoder decoder(frame_side::by_connector, longest_packet);
    frame_reader reader;
    ASSERT_TRUE(give(decoder, reader, std::span(stream.bytes()).first(size)));
    EXPECT_EQ(decoder.is_between_frames(), std::find(ends.begin(), ends.end(), size) != ends.end()) << size;
  }
}

std::string fault_of(frame_side by, const frame_stream& stream, std::set<std::uint32_t> offered = {}) {
  frame_decoder decoder(by, longest_packet);
  frame_reader reader(std::move(offered));
  return give(decoder, reader, stream.bytes()) ? "none" : decoder.fault();
}

TEST(frame_decoder, wrong_fields_are_named_with_their_values) {
  const auto fault = [](const frame_head& head) {
    return fault_of(frame_side::by_connector, frame_stream().add(head));
  };
  using kind = frame_kind;
  const std::string kinds = ", which must be 1 to 3";
  EXPECT_EQ(fault({.kind = static_cast<kind>(0)}), "its field `kind` is 0" + kinds);
  EXPECT_EQ(fault({.kind = kind::accept}), "its field `kind` is 4" + kinds);
  EXPECT_EQ(fault({.kind = kind::refuse}), "its field `kind` is 5" + kinds);
  EXPECT_EQ(fault({.kind = static_cast<kind>(65535)}), "its field `kind` is 65535" + kinds);
  EXPECT_EQ(fault({.header_bytes = 257}), "its field `header_bytes` is 257, which must be 0 to 256");
  EXPECT_EQ(fault({.header_bytes = 256}), "none");
  EXPECT_EQ(fault({.body_bytes = 5001}), "its field `body_bytes` is 5001, which must be 0 to 5000");
  EXPECT_EQ(fault({.body_bytes = ~std::uint64_t{0}}),
            "its field `body_bytes` is 18446744073709551615, which must be 0 to 5000");
  EXPECT_EQ(fault({.body_bytes = 5000}), "none");
  EXPECT_EQ(fault({.name = 1}), "its field `name` is 1, which must be 0");
  EXPECT_EQ(fault({.kind = kind::announced, .header_bytes = 257, .body_bytes = 1}),
            "its field `header_bytes` is 257, which must be 0 to 256");
  EXPECT_EQ(fault({.kind = kind::announced, .body_bytes = 0}),
            "its field `body_bytes` is 0, which must be 1 to 9223372036854775807");
  EXPECT_EQ(fault({.kind = kind::announced, .body_bytes = std::uint64_t{1} << 63}),
            "its field `body_bytes` is 9223372036854775808, which must be 1 to 9223372036854775807");
  EXPECT_EQ(fault({.kind = kind::announced, .body_bytes = (std::uint64_t{1} << 63) - 1}), "none");
  EXPECT_EQ(fault({.kind = kind::body, .header_bytes = 1, .body_bytes = 1}),
            "its field `header_bytes` is 1, which must be 0");
}

TEST(frame_decoder, bodies_that_were_not_accepted_are_refused) {
  const auto fault = [](const frame_stream& stream) { return fault_of(frame_side::by_connector, stream); };
  EXPECT_EQ(fault(frame_stream().body(7, 20)),
            "its fields `name` and `body_bytes` are 7 and 20, and no such body was accepted");
  for (const std::uint64_t wrong : {0, 19, 21})
    EXPECT_EQ(
        fault(frame_stream().announce(7, 0, 20).body(7, wrong)),
        "its fields `name` and `body_bytes` are 7 and " + std::to_string(wrong) + ", and no such body was accepted");
  EXPECT_EQ(fault(frame_stream().announce(7, 0, 20).body(7, 20).body(7, 20)),
            "its fields `name` and `body_bytes` are 7 and 20, and no such body was accepted");
  EXPECT_EQ(fault(frame_stream().announce(7, 0, 20).announce(7, 0, 3)),
            "its field `name` is 7, which is the name of a body that is still under way");
}

TEST(frame_decoder, answers_are_to_what_was_offered) {
  frame_decoder decoder(frame_side::by_acceptor, longest_packet);
  frame_reader reader({1, 2});
  const frame_stream stream = frame_stream().answer(frame_kind::accept, 2).answer(frame_kind::refuse, 1);
  EXPECT_TRUE(give(decoder, reader, stream.bytes()));
  EXPECT_EQ(reader.log, "accepted 2\nrefused 1\n");
  const auto fault = [](const frame_stream& of) { return fault_of(frame_side::by_acceptor, of, {1}); };
  EXPECT_EQ(fault(frame_stream().answer(frame_kind::accept, 2)),
            "its field `name` is 2, which is not a body that waits for an answer");
  EXPECT_EQ(fault(frame_stream().answer(frame_kind::refuse, 1).answer(frame_kind::refuse, 1)),
            "its field `name` is 1, which is not a body that waits for an answer");
  EXPECT_EQ(fault(frame_stream().packet(0, 0)), "its field `kind` is 1, which must be 4 to 5");
  EXPECT_EQ(fault(frame_stream().add({.kind = frame_kind::accept, .name = 1, .body_bytes = 1})),
            "its field `body_bytes` is 1, which must be 0");
  EXPECT_EQ(fault(frame_stream().add({.kind = frame_kind::accept, .header_bytes = 1, .name = 1})),
            "its field `header_bytes` is 1, which must be 0");
}

// Damage is found or makes other frames; it never reads or writes beyond (the address sanitizer watches), and after a
// refusal nothing more is told.
TEST(frame_decoder, any_damage_is_survived) {
  std::mt19937 random(11);
  const std::vector<std::byte> right = all_frames().bytes();
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::vector<std::byte> bytes = right;
    for (unsigned i = 0; i <= random() % 3; ++i)
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
    if (random() % 4 == 0)
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()));
    frame_decoder decoder(random() % 8 == 0 ? frame_side::by_acceptor : frame_side::by_connector, longest_packet);
    frame_reader reader({7, 8});
    std::span<const std::byte> rest = bytes;
    bool taken = true;
    while (taken && !rest.empty()) {
      const std::size_t piece = std::min<std::size_t>(rest.size(), 1 + random() % 50);
      taken = give(decoder, reader, rest.first(piece));
      rest = rest.subspan(piece);
    }
    EXPECT_EQ(taken, decoder.fault().empty());
    refused += taken ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

// ---- the way out

struct told : packet_record {
  int times = 0;
};

// Whatever the kernel takes of them at a time.
TEST(send_queue, writes_frames_in_order_wherever_it_is_interrupted) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<told> tokens(50);
    std::vector<std::byte> expected, written;
    send_queue queue;
    std::size_t pushed = 0;
    const auto push = [&] {
      const auto bytes = [&](std::size_t size) -> std::span<const std::byte> {
        memory.emplace_back(size);
        for (std::byte& each : memory.back()) each = static_cast<std::byte>(random());
        return memory.back();
      };
      const outgoing_frame frame = {.head = {.kind = frame_kind::packet, .name = static_cast<std::uint32_t>(pushed)},
                                    .header = bytes(random() % 4),
                                    .body = bytes(random() % 30),
                                    .token = &tokens[pushed]};
      const auto add = [&](std::span<const std::byte> part) {
        expected.insert(expected.end(), part.begin(), part.end());
      };
      add(std::as_bytes(std::span(&frame.head, 1)));
      add(frame.header);
      add(frame.body);
      // The first bytes may have been written before it was queued.
      const std::size_t before = queue.empty() ? random() % frame.bytes() : 0;
      if (before != 0)
        written.insert(written.end(), expected.end() - static_cast<std::ptrdiff_t>(frame.bytes()),
                       expected.end() - static_cast<std::ptrdiff_t>(frame.bytes() - before));
      queue.push(frame, before);
      ++pushed;
    };
    memory.reserve(100);
    while (pushed < tokens.size() || !queue.empty()) {
      if (pushed < tokens.size() && random() % 2 == 0) push();
      std::array<iovec, 12> pieces;
      const std::size_t count = queue.gather(pieces);
      ASSERT_EQ(count == 0, queue.empty());
      std::size_t left = random() % 60, wrote = 0;
      for (std::size_t i = 0; i < count && left != 0; ++i) {
        const std::size_t taken = std::min(left, pieces[i].iov_len);
        const auto* const from = static_cast<const std::byte*>(pieces[i].iov_base);
        written.insert(written.end(), from, from + taken);
        left -= taken;
        wrote += taken;
      }
      queue.wrote(wrote, [](packet_token token) { ++static_cast<told*>(token)->times; });
    }
    ASSERT_EQ(written, expected);
    for (const told& each : tokens) ASSERT_EQ(each.times, 1);
  }
}

TEST(send_queue, dropped_frames_are_told_once) {
  std::vector<told> tokens(3);
  send_queue queue;
  const auto tell = [](packet_token token) { ++static_cast<told*>(token)->times; };
  for (told& each : tokens) queue.push({.head = {}, .token = &each});
  queue.push({.head = {.kind = frame_kind::accept}});
  queue.wrote(sizeof(frame_head) + 3, tell);
  EXPECT_EQ(tokens[0].times, 1);
  queue.drop(tell);
  EXPECT_TRUE(queue.empty());
  for (const told& each : tokens) EXPECT_EQ(each.times, 1);
  queue.push({.head = {}, .token = &tokens[0]});
  std::array<iovec, 3> pieces;
  ASSERT_EQ(queue.gather(pieces), 1U);
  EXPECT_EQ(pieces[0].iov_len, sizeof(frame_head)) << "what was written of a dropped frame counts for the next one";
}

}  // namespace
}  // namespace tri::wire::test
