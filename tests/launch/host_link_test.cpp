// The frames between launcher and agent: cut anywhere, damaged, behind the output of a login.
#include "launch/host_link.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "boot/bootstrap_messages.hpp"
#include "support/refusal.hpp"

namespace tri::launch {
namespace {

using ::testing::HasSubstr;
using testing::refusal_of;

link_message example() {
  return {link_kind::printed, 7, -5, std::string("text\0with a zero", 16), {"", "one", std::string(3000, 'x')}};
}

TEST(host_link, frames_arrive_in_any_pieces) {
  const std::string sent = encode_frame(example()) + encode_frame({.kind = link_kind::heartbeat});
  for (const std::size_t piece : {1u, 7u, 24u, 1000u, 100000u}) {
    std::string bytes;
    std::vector<link_message> got;
    for (std::size_t at = 0; at < sent.size(); at += piece) {
      bytes += sent.substr(at, piece);
      while (const auto message = take_frame(bytes)) got.push_back(*message);
    }
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].kind, link_kind::printed);
    EXPECT_EQ(got[0].process, 7);
    EXPECT_EQ(got[0].number, -5);
    EXPECT_EQ(got[0].text, example().text);
    EXPECT_EQ(got[0].words, example().words);
    EXPECT_EQ(got[1].kind, link_kind::heartbeat);
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(host_link, what_is_wrong_is_refused) {
  const std::string good = encode_frame(example());
  std::string bad = good;
  bad[4] = 100;
  EXPECT_THAT(refusal_of([&] { take_frame(bad); }), HasSubstr("a message between hosts of kind 100"));
  bad = good;
  bad[3] = 127;
  EXPECT_THAT(refusal_of([&] { take_frame(bad); }), HasSubstr("says that it has"));
  bad = good;
  bad[6] = 9;  // words
  EXPECT_THAT(refusal_of([&] { take_frame(bad); }), HasSubstr("a word in a message between hosts is cut off"));
  bad = good;
  bad[6] = 2;
  EXPECT_THAT(refusal_of([&] { take_frame(bad); }), HasSubstr("longer than its header says"));
}

TEST(host_link, random_bytes_are_read_or_refused) {
  std::mt19937 random(1);
  const std::string good = encode_frame({link_kind::start, 1, 2, "abc", {"d", "ef"}});
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const std::size_t size = bytes.size();
    try {
      const auto message = take_frame(bytes);
      EXPECT_EQ(bytes.size(), message ? size - encode_frame(*message).size() : size);
    } catch (const boot::protocol_error&) {
    }
  }
}

TEST(host_link, greetings_find_each_other_behind_what_a_login_prints) {
  EXPECT_EQ(greeting_of_launcher("abc"), "trireme-launcher 2 abc\n");
  EXPECT_EQ(token_of_greeting("trireme-launcher 2 abc"), "abc");
  const std::string chatter = "Welcome to trireme-agent 9!\nabc\n";
  const std::string whole = chatter + greeting_of_agent("abc") + "rest";
  std::string bytes;
  for (const char each : whole.substr(0, whole.size() - 5)) {
    bytes += each;
    EXPECT_FALSE(take_agent_greeting(bytes, "abc"));
  }
  bytes += whole.substr(whole.size() - 5);
  EXPECT_TRUE(take_agent_greeting(bytes, "abc"));
  EXPECT_EQ(bytes, "rest");
  bytes = greeting_of_agent("another token");
  EXPECT_FALSE(take_agent_greeting(bytes, "abc"));
}

TEST(host_link, another_version_is_named) {
  EXPECT_EQ(refusal_of([] { token_of_greeting("trireme-launcher 3 abc"); }),
            "the launcher speaks version '3' of the protocol between hosts instead of 2; install the same version of "
            "Trireme on both");
  EXPECT_THAT(refusal_of([] { token_of_greeting("hello"); }), HasSubstr("no launcher is at the other end"));
  std::string bytes = "trireme-agent 12 abc\n";
  EXPECT_THAT(refusal_of([&] { take_agent_greeting(bytes, "abc"); }), HasSubstr("the agent speaks version '12'"));
  bytes.assign(2'000'000, 'x');
  EXPECT_THAT(refusal_of([&] { take_agent_greeting(bytes, "abc"); }), HasSubstr("the login prints without end"));
}

TEST(host_link, keeps_what_does_not_fit_and_sees_the_end) {
  int there[2], back[2];
  ASSERT_EQ(pipe2(there, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(back, O_CLOEXEC), 0);
  host_link one{os::unique_fd(back[0]), os::unique_fd(there[1])};
  std::optional<host_link> other(std::in_place, os::unique_fd(there[0]), os::unique_fd(back[1]));
  const std::string text(1'000'000, 'y');
  one.send({.kind = link_kind::printed, .text = text});
  EXPECT_TRUE(one.waiting());
  std::optional<link_message> got;
  while (!got) {
    EXPECT_TRUE(other->receive());
    got = take_frame(other->received());
    one.flush();
  }
  EXPECT_FALSE(one.waiting());
  EXPECT_EQ(got->text, text);
  EXPECT_TRUE(one.receive());
  other.reset();
  EXPECT_FALSE(one.receive());
}

}  // namespace
}  // namespace tri::launch
