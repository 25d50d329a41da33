// Teams against a sequential model: all members draw the same random program of collectives on teams of teams, call
// them without waiting for one before the next, and compare each result with that of the model. Some must fail, on all.
#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr auto concatenated = by([](std::string a, const std::string& b) { return std::move(a) + b; });

/// What a PE gives to a step.
std::int64_t number_of(int step, int pe) { return (std::int64_t{step} * 1'000'003 + pe * 7919) % 1000 - 300; }
std::string text_of(int step, int pe) {
  return std::to_string(pe) + (step % 3 == 0 ? std::string(static_cast<std::size_t>(step % 700), 'y') : "") + ";";
}
std::vector<std::int64_t> numbers_of(int step, int pe) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(step % 6));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = number_of(step + static_cast<int>(i), pe);
  return all;
}
int colour_of(int step, int pe) { return static_cast<int>(number_of(step, pe) + 300) % 4 - 1; }
int key_of(int step, int pe) { return static_cast<int>(number_of(step + 1, pe)) % 3; }

/// A team as everybody knows it, and the handle of members.
struct known_team {
  std::vector<int> pes;  // by rank
  team handle;
};

class program {
 public:
  explicit program(std::uint64_t seed) : random_(seed), own_(seed * 1000 + static_cast<std::uint64_t>(this_pe())) {
    known_team world{{}, team::world()};
    for (int pe = 0; pe < pe_count(); ++pe) world.pes.push_back(pe);
    teams_.push_back(world);
  }
  task<> run(int steps) {
    std::vector<task<>> under_way;
    for (int step = 0; step < steps; ++step) {
      const std::size_t which = random_() % teams_.size();
      const int kind = static_cast<int>(random_() % 15);
      const int root = static_cast<int>(random_() % teams_[which].pes.size());
      if (own_() % 4 == 0) co_await after(std::chrono::microseconds(own_() % 100));
      if (kind == 14) {
        if (which != 0) co_await end(which);
      } else if (kind == 13) {
        co_await split(which, step);
      } else if (teams_[which].handle) {
        under_way.push_back(kind < 11 ? collective(teams_[which], kind, step, root)
                                      : failing(teams_[which], kind == 11, root));
      }
      if (own_() % 5 == 0) under_way = co_await all_of(std::move(under_way));
    }
    co_await all_of(std::move(under_way));
    while (teams_.size() > 1) co_await end(teams_.size() - 1);
  }

 private:
  static task<std::vector<task<>>> all_of(std::vector<task<>> under_way) {
    for (auto& each : under_way) co_await std::move(each);
    co_return std::vector<task<>>();
  }
  task<> end(std::size_t which) {
    const known_team gone = teams_[which];
    teams_.erase(teams_.begin() + static_cast<std::ptrdiff_t>(which));
    if (gone.handle) co_await gone.handle.free();
  }
  task<> split(std::size_t which, int step) {
    const known_team of = teams_[which];
    team made;
    if (of.handle) made = co_await of.handle.split(colour_of(step, this_pe()), key_of(step, this_pe()));
    for (int colour = 0; colour < 3; ++colour) {
      known_team next;
      for (const int pe : of.pes)
        if (colour_of(step, pe) == colour) next.pes.push_back(pe);
      std::ranges::stable_sort(next.pes, {}, [&](int pe) { return key_of(step, pe); });
      if (next.pes.empty()) continue;
      if (std::ranges::find(next.pes, this_pe()) != next.pes.end()) next.handle = made;
      if (next.handle) check_equal(next.handle.pe_of(next.handle.rank()), this_pe());
      teams_.push_back(next);
    }
  }

  /// The member of that rank calls another collective than the others, or gives a vector of another length.
  static task<> failing(known_team of, bool calls_another, int odd) {
    const team on = of.handle;
    const bool is_odd = on.rank() == odd;
    if (on.size() == 1) co_return;
    try {
      if (is_odd && calls_another) {
        co_await on.barrier();
      } else {
        const std::vector<int> own(is_odd ? 3 : 2);
        co_await on.allreduce(own, elementwise(sum));
      }
    } catch (const team_error&) {
      co_return;
    }
    failed("a collective that must fail does not", std::source_location::current());
  }

  template <class Value>
  static auto values(const std::vector<int>& pes, int step, Value&& value) {
    std::vector<decltype(value(0, 0))> all;
    for (const int pe : pes) all.push_back(value(step, pe));
    return all;
  }
  static std::string joined(const std::vector<std::string>& all, std::size_t end) {
    std::string text;
    for (std::size_t i = 0; i < end; ++i) text += all[i];
    return text;
  }

  static task<> collective(known_team of, int kind, int step, int root) {
    const team on = of.handle;
    const std::vector<int>& pes = of.pes;
    const auto rank = static_cast<std::size_t>(on.rank());
    const int here = this_pe(), root_pe = pes[static_cast<std::size_t>(root)];
    const bool is_root = on.rank() == root;
    const auto numbers = values(pes, step, number_of);
    const auto texts = values(pes, step, text_of);
    const auto of_root = is_root ? texts : std::vector<std::string>();
    switch (kind) {
      case 0:
        co_await on.barrier();
        break;
      case 1:
        check_equal(co_await on.broadcast(text_of(step, here), root), text_of(step, root_pe));
        break;
      case 2:
        check_equal(co_await on.broadcast(numbers_of(step, here), root), numbers_of(step, root_pe));
        break;
      case 3: {
        const auto found = co_await on.reduce(number_of(step, here), sum, root);
        check(found == (is_root ? std::optional(total(numbers)) : std::nullopt), "reduce");
        break;
      }
      case 4: {
        auto expected = numbers_of(step, pes[0]);
        for (std::size_t i = 1; i < pes.size(); ++i)
          for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += numbers_of(step, pes[i])[k];
        check_equal(co_await on.allreduce(numbers_of(step, here), elementwise(sum)), expected);
        break;
      }
      case 5:
        check_equal(co_await on.allreduce(text_of(step, here), ordered(concatenated)), joined(texts, texts.size()));
        break;
      case 6:
        check_equal(co_await on.gather(text_of(step, here), root), of_root);
        break;
      case 7:
        check_equal(co_await on.allgather(number_of(step, here)), numbers);
        break;
      case 8:
        check_equal(co_await on.scatter(of_root, root), text_of(step, here));
        break;
      case 9:
        check_equal(co_await on.scan(text_of(step, here), concatenated), joined(texts, rank + 1));
        break;
      default: {
        const auto found = co_await on.exscan(number_of(step, here), maximum);
        const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(rank);
        check(found == (rank == 0 ? std::nullopt : std::optional(*std::max_element(numbers.begin(), end))), "exscan");
      }
    }
  }
  static std::int64_t total(const std::vector<std::int64_t>& numbers) {
    std::int64_t all = 0;
    for (const std::int64_t each : numbers) all += each;
    return all;
  }

  std::mt19937_64 random_;  // the same on all PEs
  std::mt19937_64 own_;
  std::vector<known_team> teams_;
};

struct random_member : group_member<random_member> {
  task<int> run(int first_seed, int seeds, int steps) {
    for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
      program drawn(static_cast<std::uint64_t>(seed));
      co_await drawn.run(steps);
    }
    co_return 1;
  }
};

void teams_do_as_the_model() {
  const auto members = make_group<random_member>();
  check_equal(members.reduce<&random_member::run>(sum, 1, 12, 120).get(), pe_count());
  quiescence().get();
}
const case_entry random_case{"teams_do_as_the_model", &teams_do_as_the_model};

}  // namespace
}  // namespace tri::testing
