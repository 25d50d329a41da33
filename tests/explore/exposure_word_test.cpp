// The real word of a zero-copy send, with old values (interleavings.hpp): the sender writes its memory again only when
// nothing reads it, and a reader that was let in reads what was exposed.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "explore/of_functions.hpp"
#include "objects/messages/exposure_word.hpp"

namespace tri::objects {
namespace {

using explore::check;
using explore::of_functions;

struct exposed {
  exposure_word word;
  std::uint64_t memory = 1;  // what was exposed; the message has brought it
  int read = 0;              // how often it was read

  void read_it() {
    check(memory == 1, "it was read after it had been withdrawn");
    ++read;
  }
};

void withdraw(exposed& all) {
  while (!all.word.withdraw()) sched_yield();
  all.memory = 2;
}

void expect_sound(std::vector<of_functions<exposed>::body> bodies, void (*at_end)(exposed&), std::uint64_t least_runs) {
  of_functions<exposed> all(std::move(bodies), at_end);
  const explore::interleavings result = explore::run_all(all, {.old_reads = 2});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, least_runs) << result.text();
}

TEST(exposure_word, a_sender_that_withdraws_waits_for_the_reader) {
  expect_sound(
      {[](exposed& all) {
         if (!all.word.begin_use()) return;
         all.read_it();
         all.word.end_use();
       },
       &withdraw},
      [](exposed& all) { check(all.read <= 1 && all.memory == 2, "it was not withdrawn"); }, 3);
}

TEST(exposure_word, a_reader_that_cannot_read_gives_it_back) {
  expect_sound(
      {[](exposed& all) {
         if (!all.word.begin_use()) return;
         all.word.give_back();
         if (!all.word.begin_use()) return;
         all.read_it();
         all.word.end_use();
       },
       &withdraw},
      [](exposed& all) { check(all.memory == 2, "it was not withdrawn"); }, 5);
}

TEST(exposure_word, what_was_read_is_withdrawn_at_once) {
  exposure_word word;
  EXPECT_TRUE(word.begin_use());
  EXPECT_FALSE(word.withdraw());
  word.end_use();
  EXPECT_TRUE(word.withdraw());
  EXPECT_TRUE(word.withdraw());
  EXPECT_FALSE(word.begin_use());
  exposure_word unread;
  EXPECT_TRUE(unread.withdraw());
  EXPECT_FALSE(unread.begin_use());
}

}  // namespace
}  // namespace tri::objects
