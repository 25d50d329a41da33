// Checkpoints keep what binds arrays together, maps with state, and arrays whose elements messages create.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/placement_map.hpp"

namespace tri::testing {
namespace {

class from_and_to : public ::testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(checkpoint_collections, from_and_to,
                         ::testing::Values(std::pair(1, 1), std::pair(3, 3), std::pair(3, 2), std::pair(2, 4)),
                         [](const auto& shape) {
                           return std::to_string(shape.param.first) + "_to_" + std::to_string(shape.param.second);
                         });

// ---- bound arrays

struct body : array_element<body, index<1>> {
  int value = 0;
  void set(int number) { value = number; }
  void go(int pe) { migrate_to(pe); }
  void leave() { erase_this(); }
  int place() const { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
struct halo : array_element<halo, index<1>> {
  array<body> bodies;
  halo() = default;
  explicit halo(array<body> partners) : bodies(partners) {}
  int value_of_partner() const {
    const body* const partner = bodies(this_index()[0]).local();
    return partner == nullptr ? -1000 : partner->value;
  }
  void go(int pe) { migrate_to(pe); }
  int count(callback<int> to) {
    contribute(1, sum, to);
    return 1;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(bodies);
  }
};
struct bound_state {
  array<body> bodies;
  array<halo> halos;
};

constexpr int bound_elements = 12;
void check_bound(const bound_state& state) {
  for (int i = 1; i < bound_elements; ++i) check_equal(state.halos(i).call<&halo::value_of_partner>().get(), 10 * i);
  check_throws<remote_error>([&] { state.halos(0).call<&halo::value_of_partner>().get(); }, "was deleted");
  check_throws<remote_error>([&] { state.bodies(0).call<&body::place>().get(); }, "was deleted");
  future<int> contributed;
  check_equal(state.halos.reduce<&halo::count>(sum, contributed.get_promise()).get(), bound_elements - 1);
  check_equal(contributed.get(), bound_elements - 1);
}

TEST_P(from_and_to, bound_arrays_are_still_bound) {
  const auto [from, to] = GetParam();
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(from,
                       [&] {
                         bound_state state;
                         state.bodies = make_array<body>({bound_elements});
                         state.halos = make_bound_array<halo>(state.bodies, state.bodies);
                         for (int i = 0; i < bound_elements; ++i) {
                           state.bodies(i).send<&body::set>(10 * i);
                           if (i % 3 == 1) state.halos(i).send<&halo::go>((i * 5) % pe_count());
                         }
                         state.bodies(0).send<&body::leave>();
                         tri::checkpoint(folder.checkpoint(), state).get();
                         check_bound(state);
                       }),
            0);
  ASSERT_EQ(restart_on_pes(to, folder,
                           [&, same = from == to] {
                             const auto state = restored_state<bound_state>();
                             check_bound(state);
                             if (same)
                               for (int i = 1; i < bound_elements; i += 3)
                                 check_equal(state.bodies(i).call<&body::place>().get(), (i * 5) % pe_count());
                             for (int i = 1; i < bound_elements; ++i) state.bodies(i).send<&body::go>(i % pe_count());
                             quiescence().get();
                             check_bound(state);
                             for (int i = 1; i < bound_elements; ++i)
                               check_equal(state.bodies(i).call<&body::place>().get(), i % pe_count());
                           }),
            0);
}

// ---- maps with state

struct by_table {
  std::vector<int> places;
  int operator()(const index<1>& where, int pes) const {
    return places[static_cast<std::size_t>(where[0]) % places.size()] % pes;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(places);
  }
};
struct mapped : array_element<mapped, index<1>> {
  int place() const { return this_pe(); }
  template <class Archive>
  void serialize(Archive&) {}
};
struct map_state {
  array<mapped> dense;
  array<mapped> on_demand;
};

TEST_P(from_and_to, maps_keep_their_state) {
  const auto [from, to] = GetParam();
  const checkpoint_folder folder;
  const by_table table{{2, 0, 1, 3, 3}};
  const auto check_places = [&](const map_state& state, int first) {
    for (int i = 0; i < 10; ++i) {
      check_equal(state.dense(i).call<&mapped::place>().get(), table(index<1>(i), pe_count()));
      check_equal(state.on_demand(first + i).call<&mapped::place>().get(), table(index<1>(first + i), pe_count()));
    }
  };
  ASSERT_EQ(
      run_on_pes(
          from,
          [&] {
            const placement where = make_placement_map<index<1>>(table);
            const map_state state{make_array<mapped>({10}, where), make_sparse_array<mapped>(create_at_home, where)};
            check_places(state, 0);
            tri::checkpoint(folder.checkpoint(), state).get();
          }),
      0);
  ASSERT_EQ(restart_on_pes(to, folder,
                           [&] {
                             check_places(restored_state<map_state>(), 0);
                             check_places(restored_state<map_state>(), 1000);  // created on demand now
                           }),
            0);
}

// A map that cannot do with fewer PEs.
struct fixed_places {
  int pe = 0;
  int operator()(const index<1>&, int) const { return pe; }
};
TEST(checkpoint_collections, a_map_that_needs_more_pes_is_named) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const auto all = make_array<mapped>({3}, make_placement_map<index<1>>(fixed_places{2}));
                         tri::checkpoint(folder.checkpoint(), all).get();
                       }),
            0);
  EXPECT_EXIT(restart_on_pes(2, folder, [] {}), ::testing::ExitedWithCode(1),
              "cannot restart: .*mapped: placement map: element .* was put on PE 2; there are PEs 0..1");
}

}  // namespace
}  // namespace tri::testing
