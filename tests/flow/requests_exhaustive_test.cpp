// All interleavings of a few initiators of one-sided requests and one target: everything is executed once and in the
// order of its initiator, slots never exceed the pool, a request is refused at most once, nobody is passed by for long.
#include <gmock/gmock.h>

#include <cstddef>
#include <vector>

#include "explore/in_place.hpp"
#include "request_world.hpp"

namespace tri::flow {
namespace {

struct shape {
  std::vector<std::size_t> requests;
  std::size_t most_slots;
  std::size_t most_unanswered;
  bool late_notes;
  bool late_answers;
};

void of_each_pool(const shape& what) {
  std::size_t states = 0;
  for (std::size_t slots = 1; slots <= what.most_slots; ++slots) {
    for (std::size_t unanswered = 1; unanswered <= what.most_unanswered; ++unanswered) {
      const request_scope scope{.requests = what.requests,
                                .slots = slots,
                                .most_unanswered = unanswered,
                                .late_notes = what.late_notes,
                                .late_answers = what.late_answers};
      const auto result = explore::explore_all_in_place(request_world<>(scope), 4'000'000);
      EXPECT_EQ(result.failure(), "") << slots << " slots, " << unanswered << " unanswered";
      EXPECT_TRUE(result.complete) << slots << " slots, " << unanswered << " unanswered";
      EXPECT_GT(result.ends, 0U);
      states += result.states;
    }
  }
  testing::Test::RecordProperty("states", static_cast<int>(states));
}

TEST(every_interleaving_of_requests, of_two_initiators_with_two_each) { of_each_pool({{2, 2}, 3, 2, true, true}); }

TEST(every_interleaving_of_requests, of_one_initiator_with_four) { of_each_pool({{4}, 3, 4, true, true}); }

TEST(every_interleaving_of_requests, of_two_initiators_with_three_each) {
  of_each_pool({{3, 3}, 2, 3, true, false});
  of_each_pool({{3, 2}, 2, 3, false, true});
}

TEST(every_interleaving_of_requests, of_three_requests_and_two_with_everything_late) {
  of_each_pool({{3, 2}, 2, 2, true, true});
}

TEST(every_interleaving_of_requests, of_three_initiators) {
  of_each_pool({{2, 2, 1}, 2, 2, true, false});
  of_each_pool({{2, 2, 2}, 2, 2, false, false});
}

}  // namespace
}  // namespace tri::flow
