// What a checkpoint has of global arrays and locks, and what it refuses. Jobs of threads, one after another.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/array_files.hpp"
#include "trireme/arrays.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

template <class T, int N>
std::vector<T> elements_of(const global_array<T, N>& array) {
  std::vector<T> elements(static_cast<std::size_t>(array.size()));
  array.get(region<N>({}, array.extents()), elements.data()).get();
  return elements;
}
template <class T, int N>
std::vector<T> fill_with_numbers(const global_array<T, N>& array) {
  std::vector<T> elements(static_cast<std::size_t>(array.size()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i * 3 + 1);
  array.put(region<N>({}, array.extents()), elements.data()).get();
  return elements;
}

class from_and_to : public ::testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(pes, from_and_to,
                         ::testing::Combine(::testing::Values(1, 2, 4, 6), ::testing::Values(1, 3, 4, 6)));

// A box of a record is cut where tiles end now: tiles of 1 MiB and more are several records.
TEST_P(from_and_to, elements_come_to_whom_they_belong) {
  const auto [from, to] = GetParam();
  const checkpoint_folder folder;
  const auto run_case = [&, before = from, after = to](auto of, auto... options) {
    const auto extents = of;
    std::vector<std::int32_t> expected;
    ASSERT_EQ(run_on_pes(before,
                         [&] {
                           const auto array = global_array<std::int32_t, 2>::made_alone(extents, options...);
                           expected = fill_with_numbers(array);
                           checkpoint(folder.checkpoint(), array).get();
                         }),
              0);
    ASSERT_EQ(restart_on_pes(after, folder,
                             [&] {
                               const auto array = restored_state<global_array<std::int32_t, 2>>();
                               check(elements_of(array) == expected, "elements");
                               // The layout is that of a new array.
                               const auto fresh = global_array<std::int32_t, 2>::made_alone(extents, options...);
                               check(array.where().how() == fresh.where().how(), "the distribution");
                               for (const position<2>& at : {position<2>(0, 0), position<2>(extents[0] - 1, 0)})
                                 check_equal(array.owner(at), fresh.owner(at));
                             }),
              0);
  };
  run_case(position<2>(13, 29));
  run_case(position<2>(13, 29), tiles(3, 4));
  run_case(position<2>(13, 29), tiles(5, 29), halo(2));
  run_case(position<2>(40, 40), tiles(4, 4), host_tiles(8, 8));
  run_case(position<2>(900, 901));
  run_case(position<2>(3, 700001));
}

TEST(array_checkpoint, what_was_freed_stays_freed) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto array = make_global_array<double>(10);
                         quiescence().get();
                         array.free().get();
                         quiescence().get();
                         checkpoint(folder.checkpoint(), array).get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(3, folder,
                           [] {
                             const auto array = restored_state<global_array<double, 1>>();
                             check_throws<std::logic_error>([&] { static_cast<void>(array.own_tiles()); }, "was freed");
                             check(!(make_global_array<double>(10) == array), "its name is given again");
                           }),
            0);
}

TEST(array_checkpoint, arrays_may_be_left_out) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto array = make_global_array<double>(10);
                         quiescence().get();
                         checkpoint_without_arrays(folder.checkpoint(), array.extent(0)).get();
                         checkpoint_without_arrays(in_memory, 3).get();  // nothing: the job does not survive
                         checkpoint_without_arrays(in_memory).get();
                         checkpoint(in_memory).get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(1, folder,
                           [] {
                             check_equal(restored_state<std::int64_t>(), 10);
                             check_equal(
                                 std::string(arrays::describe(make_global_array<double>(4).pointer_to(0).array())),
                                 std::string("global array 2 of those made by PE 0"));
                           }),
            0);
}

TEST(array_checkpoint, a_lock_that_is_held_is_in_the_way) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const global_lock lock = global_lock::made_alone();
                         {
                           const auto held = lock.acquire().get();
                           check_throws<remote_error>(
                               [&] { checkpoint(folder.checkpoint(), lock).get(); },
                               "global lock 1 of those made by PE 0 is held by PE 0; release it before");
                         }
                         quiescence().get();
                         checkpoint(folder.checkpoint(), lock).get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(1, folder,
                           [] {
                             const auto lock = restored_state<global_lock>();
                             const auto other = global_lock::made_alone();
                             check(!(lock == other), "a new lock is one of before");
                             const auto held = lock.acquire().get();
                             const auto held_too = other.acquire().get();
                           }),
            0);
}

struct maker : group_member<maker> {
  global_array<double, 1> array;
  void make() { array = global_array<double, 1>(position<1>(10), tiles(2), halo(1)); }
  void make_lock() { static_cast<void>(global_lock::made_by_all()); }
  void exchange() { static_cast<void>(array.exchange_halo()); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(array);
  }
};

TEST(array_checkpoint, pes_that_have_made_different_arrays_and_locks_are_in_the_way) {
  const checkpoint_folder folder;
  const auto is_refused = [&](const char* why) {
    quiescence().get();
    check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); }, why);
  };
  const char* const others = "has not made the same global arrays and locks as PE 0";
  ASSERT_EQ(
      run_on_pes(2,
                 [&] {
                   const auto makers = make_group<maker>();
                   makers[1].send<&maker::make>();
                   is_refused(others);
                   makers[0].send<&maker::make>();
                   quiescence().get();
                   checkpoint(folder.checkpoint()).get();
                   makers[0].send<&maker::make_lock>();
                   is_refused(others);
                   makers[1].send<&maker::make_lock>();
                   quiescence().get();
                   checkpoint(folder.checkpoint()).get();
                   makers[1].send<&maker::exchange>();
                   is_refused("an exchange of the halo of global array 1 of those made by all PEs is not complete");
                   makers[0].send<&maker::exchange>();
                   quiescence().get();
                   checkpoint(folder.checkpoint()).get();
                 }),
      0);
}

}  // namespace
}  // namespace tri::testing
