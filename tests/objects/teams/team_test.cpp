// Teams inside one process: what a run leaves behind, what a report says, where messages wait.
#include "trireme/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "objects/counted.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/detail/objects/pe_objects.hpp"

namespace tri::testing {
namespace {

struct member : group_member<member> {
  // Four PEs. The result of a split goes from PE 0 to PE 2 and from there to PE 3, a broadcast in the new team from PE
  // 0 to PE 3. PE 2 stops between the two, until the broadcast was sent.
  static inline std::atomic<int> broadcasts{0};
  int begun = 0;
  task<int> rounds(int n) {
    for (; begun < n;) {
      auto split = team::world().split(0, (this_pe() + 1) % 4 < 2 ? 0 : 1);  // ranks: 0, 3, 1, 2
      ++begun;
      if (this_pe() == 3) this_array()(2).send<&member::stop>(begun);
      const team made = co_await split;
      auto sent = made.broadcast(std::string("early"), 0);
      if (this_pe() == 0) ++broadcasts;
      check_equal(co_await sent, "early");
      co_await made.free();
    }
    co_return 1;
  }
  void stop(int round) {
    while (begun == round && broadcasts < round) std::this_thread::yield();
  }

  task<> fails_as_another(std::string text) {
    try {
      co_await team::world().barrier();
    } catch (const team_error& error) {
      check_equal(error.what(), text);
      co_return;
    }
    throw std::runtime_error("nothing was thrown");
  }
  task<int> incomplete(counted own) {
    if (this_pe() != 1) co_await team::world().allgather(own);
    co_return 1;
  }
  task<int> waits_for_one() {
    if (this_pe() != 1) co_await team::world().allreduce(1, sum);
    co_return 1;
  }
  task<int> move_only() {
    const team world = team::world();
    std::vector<std::unique_ptr<int>> all;
    for (int rank = 0; rank < world.size() && world.rank() == 0; ++rank) all.push_back(std::make_unique<int>(rank));
    auto own = co_await world.scatter(std::move(all), 0);
    check_equal(*own, world.rank());
    const auto back = co_await world.gather(std::move(own), world.size() - 1);
    for (std::size_t i = 0; i < back.size(); ++i) check_equal(*back[i], static_cast<int>(i));
    co_return 1;
  }
};

TEST(team, messages_wait_for_members_that_do_not_know_it_yet) {
  EXPECT_EQ(run_on_pes(4,
                       [] {
                         const auto members = make_group<member>();
                         check_equal(members.reduce<&member::rounds>(sum, 200).get(), 4);
                         quiescence().get();
                       }),
            0);
  member::broadcasts = 0;
}

TEST(team, a_call_finds_that_a_message_was_of_another_collective) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         const std::string text =
                             "tri::team: collective 0 of a team of 2: the members do not call the same: rank 0 calls "
                             "gather of double with root 0, rank 1 barrier with root 0";
                         const auto members = make_group<member>();
                         auto failed = members[1].call<&member::fails_as_another>(text);
                         quiescence().get();
                         check_throws<team_error>([] { team::world().gather(1.5, 0).get(); }, text);
                         failed.get();
                       }),
            0);
}

TEST(team, scattered_and_gathered_values_are_moved) {
  EXPECT_EQ(run_on_pes(3, [] { check_equal(make_group<member>().reduce<&member::move_only>(sum).get(), 3); }), 0);
}

TEST(team, collectives_that_are_not_completed_end_with_the_run) {
  EXPECT_EQ(run_on_pes(4,
                       [] {
                         make_group<member>().broadcast<&member::incomplete>(counted());
                         quiescence().get();
                         check(alive.load() > 4, "values wait in the tree");
                       }),
            0);
  EXPECT_EQ(alive.load(), 0);
}

TEST(team, a_report_names_who_is_missing) {
  EXPECT_EQ(run_on_pes(3,
                       [] {
                         make_group<member>().broadcast<&member::waits_for_one>();
                         quiescence().get();
                         const std::string text = objects::pe_objects::of(sched::this_pe()).describe_waiting();
                         check(text.find("allreduce of int by") != std::string::npos, text);
                         check(text.find("(0, rank 0 of 3) waits for rank 1\n") != std::string::npos ||
                                   text.ends_with("(0, rank 0 of 3) waits for rank 1"),
                               text);
                       }),
            0);
}

}  // namespace
}  // namespace tri::testing
