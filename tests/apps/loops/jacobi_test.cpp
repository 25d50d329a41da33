// Jacobi in slabs (K21): the same bits as a serial program by every schedule. First touch (K22): with contiguous blocks
// the thread that relaxes a plane is the one that wrote it first.
#include "grids/jacobi.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "every_method.hpp"

namespace kernels {
namespace {

TEST(jacobi_slabs, have_the_bits_of_the_serial_program_by_every_schedule) {
  for (const jacobi_size& size : {jacobi_size{1, 1, 3}, jacobi_size{3, 5, 4}, jacobi_size{37, 9, 7}}) {
    jacobi grid(size);
    test::expect_same_with_every_method(grid);
  }
}

TEST(jacobi_slabs, a_wrong_point_is_found) {
  jacobi grid({6, 4, 3});
  grid.run_serial();
  method how("static");
  grid.run(how);
  test::expect_right(grid);
  grid.run(how);  // three steps too many
  EXPECT_FALSE(grid.check().front().right);
}

TEST(jacobi_slabs, no_steps_leave_the_initial_values) {
  jacobi grid({5, 4, 0});
  test::expect_same_with_every_method(grid);
}

// Lets every participant go on only when all have come to their first plane, so that nobody is done before another came
// and has taken that one's block over.
class everybody_came {
 public:
  void wait(int participant) {
    std::unique_lock guard(lock_);
    came_.insert(participant);
    changed_.notify_all();
    changed_.wait(guard, [&] { return came_.size() == static_cast<std::size_t>(tri::loop_participants()); });
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::set<int> came_;
};

TEST(first_touch, of_a_plane_is_by_the_thread_that_relaxes_it) {
  constexpr int planes = 30;
  jacobi grid({planes, 4, 1});
  const auto owners_of = [](const std::function<void(const jacobi::plane_observer&)>& run) {
    everybody_came gate;
    std::mutex lock;
    std::multimap<int, int> owners;
    run([&](int plane, int participant) {
      gate.wait(participant);
      const std::lock_guard guard(lock);
      owners.emplace(plane, participant);
    });
    return owners;
  };
  const auto writers = owners_of([&](const auto& observer) { grid.first_touch(observer); });
  method how("static");
  const auto users = owners_of([&](const auto& observer) { grid.run(how, observer); });
  ASSERT_EQ(writers.size(), std::size_t{planes});  // each plane once
  EXPECT_EQ(writers, users);
  std::set<int> participants;
  int last = -1;
  for (int plane = 1; plane <= planes; ++plane) {
    ASSERT_EQ(writers.count(plane), 1u);
    const int owner = writers.find(plane)->second;
    EXPECT_GE(owner, last) << "slabs are contiguous";
    last = owner;
    participants.insert(owner);
  }
  EXPECT_EQ(participants.size(), static_cast<std::size_t>(tri::loop_participants()));
}

TEST(jacobi_slabs, sizes_that_make_no_grid_are_refused) {
  EXPECT_THROW(jacobi({0, 4, 1}), std::invalid_argument);
  EXPECT_THROW(jacobi({4, 0, 1}), std::invalid_argument);
  EXPECT_THROW(jacobi({4, 4, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace kernels
