// Arrays of every kind: 1 to 6 dimensions, dense and sparse, placement maps, insertion and deletion while
// messages fly.
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

template <int N>
struct cell : array_element<cell<N>, index<N>> {
  std::int64_t weight = 0;
  explicit cell(int factor) {
    for (int d = 0; d < N; ++d) weight = weight * 7 + factor * (this->this_index()[d] + 1);
  }
  std::int64_t value() { return weight; }
  std::string name() { return this->describe(); }
  int where() { return this_pe(); }
};

template <int N>
std::int64_t expected_weights(const std::vector<int>& sizes, int factor, int dimension = 0, std::int64_t so_far = 0) {
  if (dimension == N) return so_far;
  std::int64_t total = 0;
  for (int i = 0; i < sizes[static_cast<std::size_t>(dimension)]; ++i)
    total += expected_weights<N>(sizes, factor, dimension + 1, so_far * 7 + factor * (i + 1));
  return total;
}

template <int N>
void one_shape(extents sizes, const char* last_name) {
  auto dense = make_array<cell<N>>(sizes, 3);
  check_equal(dense.template reduce<&cell<N>::value>(sum).get(), expected_weights<N>(sizes.of, 3));
  index<N> last;
  for (int d = 0; d < N; ++d) last[d] = sizes.of[static_cast<std::size_t>(d)] - 1;
  check(dense[last].template call<&cell<N>::name>().get().find(last_name) != std::string::npos, "wrong index in name");
  // The same indices in a sparse array.
  auto sparse = make_sparse_array<cell<N>>();
  sparse.insert(last, 5);
  index<N> first;
  sparse.insert_on(pe_count() - 1, first, 5);
  check_equal(sparse[first].template call<&cell<N>::where>().get(), pe_count() - 1);
  check_equal(sparse[last].template call<&cell<N>::where>().get(), 0);
  check(sparse[last].template call<&cell<N>::name>().get().find(last_name) != std::string::npos, "wrong sparse name");
  std::int64_t both = 0, w = 0;
  for (int d = 0; d < N; ++d) w = w * 7 + 5 * (last[d] + 1);
  both = w;
  w = 0;
  for (int d = 0; d < N; ++d) w = w * 7 + 5;
  both += w;
  check_equal(sparse.template reduce<&cell<N>::value>(sum).get(), both);
}

void dimensions() {
  one_shape<1>({37}, "(36)");
  one_shape<2>({5, 7}, "(4,6)");
  one_shape<3>({2, 3, 4}, "(1,2,3)");
  one_shape<4>({2, 3, 2, 3}, "(1,2,1,2)");
  one_shape<5>({2, 1, 2, 3, 2}, "(1,0,1,2,1)");
  one_shape<6>({2, 1, 2, 3, 2, 2}, "(1,0,1,2,1,1)");
  auto negative = make_sparse_array<cell<2>>();
  negative.insert({-4, 9}, 1);
  check_equal(negative(-4, 9).call<&cell<2>::value>().get(), -3 * 7 + 10);
}
const case_entry dimensions_case{"dimensions", &dimensions};

void placements() {
  constexpr int n = 23;
  const auto places = [](placement map) {
    return make_array<cell<1>>({n}, map, 1).reduce<&cell<1>::where>(gather).get();
  };
  const auto blocks = places(block());
  const auto turns = places(round_robin());
  const auto own = places(placed_by<index<1>>([](const index<1>& i, int pes) { return (i[0] / 3) % pes; }));
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    check(blocks[at] * n / pe_count() <= i && i < (blocks[at] + 1) * n / pe_count(), "block map");
    check_equal(turns[at], i % pe_count());
    check_equal(own[at], (i / 3) % pe_count());
  }
  check_throws<std::out_of_range>([] { make_array<cell<1>>({4}, 1)(4).send<&cell<1>::value>(); },
                                  "index (4) is outside of the array of 4 elements (indices start at 0)");
  check_throws<std::out_of_range>(
      [] {
        make_array<cell<3>>({4, 5, 6}, 1)(1, -1, 2).send<&cell<3>::value>();
      },
      "index (1,-1,2) is outside of the array of 4 x 5 x 6 elements");
  check_throws<std::invalid_argument>(
      [] {
        static_cast<void>(make_array<cell<3>>({4, 5}, 1));
      },
      "2 extents given; the index has 3 dimensions");
  check_throws<std::invalid_argument>([] { static_cast<void>(make_array<cell<1>>({0}, 1)); },
                                      "extent 0 given; every extent must be at least 1");
}
const case_entry placements_case{"placements", &placements};

// Elements come and go while messages fly; the model is a plain map.
struct leaf : array_element<leaf, index<1>> {
  std::int64_t received = 0;
  void add(int value) { received += value; }
  std::int64_t finish() {
    erase_this();
    return received;
  }
  std::int64_t total() { return received; }
  int one() { return 1; }
};

void insertion_and_deletion() {
  auto leaves = make_sparse_array<leaf>();
  std::map<int, std::int64_t> model;
  std::uint32_t random = 12345;
  const auto draw = [&](std::uint32_t below) {
    return static_cast<int>((random = random * 1664525 + 1013904223) >> 8) % static_cast<int>(below);
  };
  int born = 0;
  for (int step = 0; step < 400; ++step) {
    if (model.size() < 5 || draw(3) == 0) {
      model[born] = 0;
      leaves.insert_on(draw(static_cast<std::uint32_t>(pe_count())), born++);
    } else {
      auto victim = std::next(model.begin(), draw(static_cast<std::uint32_t>(model.size())));
      if (draw(4) == 0) {
        check_equal(leaves(victim->first).call<&leaf::finish>().get(), victim->second);
        model.erase(victim);
      } else {
        leaves(victim->first).send<&leaf::add>(step);
        victim->second += step;
      }
    }
    if (step % 40 == 0) {
      quiescence().get();
      check_equal(leaves.reduce<&leaf::one>(sum).get(), static_cast<int>(model.size()));
    }
  }
  quiescence().get();
  const auto totals = leaves.reduce<&leaf::total>(gather).get();
  std::int64_t expected_sum = 0;
  for (const auto& [number, value] : model) expected_sum += value;
  check_equal(totals.size(), model.size());
  check_equal(std::accumulate(totals.begin(), totals.end(), std::int64_t{0}), expected_sum);
  // An index is free again after its element was deleted.
  const int again = model.begin()->first;
  leaves(again).call<&leaf::finish>().get();
  quiescence().get();
  leaves.insert_on(pe_count() - 1, again);
  quiescence().get();  // until then the home of the index may still know the old one as deleted
  check_equal(leaves(again).call<&leaf::total>().get(), 0);
}
const case_entry insertion_case{"insertion_and_deletion", &insertion_and_deletion};

// Handles of arrays whose class is not defined yet, as members and as parameters.
struct defined_later;
struct early_user : group_member<early_user> {
  array<defined_later> others;
  element_ref<defined_later> one;
  void know(array<defined_later> all, section<defined_later> some);
  int ask();
};
struct defined_later : array_element<defined_later, index<1>> {
  array<defined_later> friends;
  int square() { return this_index()[0] * this_index()[0]; }
};
void early_user::know(array<defined_later> all, section<defined_later>) {
  others = all;
  one = all(3);
}
int early_user::ask() { return others(2).local() != nullptr || one.local() != nullptr ? 1 : 0; }

void handles_of_incomplete_classes() {
  auto users = make_group<early_user>();
  auto later = make_sparse_array<defined_later>();
  for (int i = 0; i < 4; ++i) later.insert_on(i % pe_count(), {i});
  users.broadcast<&early_user::know>(later, later.select({{1}, {2}}));
  quiescence().get();
  check(users.reduce<&early_user::ask>(sum).get() > 0, "nobody found the elements");
  check_equal(later.reduce<&defined_later::square>(sum).get(), 14);
}
const case_entry incomplete_case{"handles_of_incomplete_classes", &handles_of_incomplete_classes};

// An argument that throws while it is packed: the broadcast fails, and only that one.
struct picky {
  picky() = default;
  explicit picky(int copies) : left(copies) {}
  picky(const picky& other) : text(other.text), left(other.left) {
    if (left >= 0 && --*counter == 0) throw std::domain_error("not this one");
  }
  picky(picky&&) = default;
  picky& operator=(picky&&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, left);
  }
  std::string text = "a text that does not fit into an envelope";
  int left = -1;
  static inline int* counter = nullptr;
};
struct picky_target : array_element<picky_target, index<1>> {
  int calls = 0;
  void take(const picky& one) { calls += one.text.empty() ? 0 : 1; }
  int reduced(const picky&) { return calls; }
};
void broadcasts_that_throw() {
  auto all = make_array<picky_target>({2 * pe_count()}, round_robin());
  // The copy that fails is that for the first PE, the second, ..., and for the other hosts.
  const sched::runtime& job = sched::this_pe().job();
  const int packed = job.pes_of_host() + (job.hosts() > 1 ? 1 : 0);
  for (int at = 1; at <= packed; ++at) {
    int copies = at;
    picky::counter = &copies;
    const picky bad(1);
    check_throws<std::domain_error>([&] { all.broadcast<&picky_target::take>(bad); }, "not this one");
    copies = at;
    check_throws<std::domain_error>([&] { static_cast<void>(all.reduce<&picky_target::reduced>(sum, bad).get()); },
                                    "not this one");
    all.broadcast<&picky_target::take>(picky());
    check_equal(all.reduce<&picky_target::reduced>(sum, picky()).get(), 2 * pe_count() * at);
  }
}
const case_entry broadcasts_that_throw_case{"broadcasts_that_throw", &broadcasts_that_throw};

}  // namespace
}  // namespace tri::testing
