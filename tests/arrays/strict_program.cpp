// Strict accesses on every PE of a job: litmus tests of sequential consistency, whose words lie on all PEs in turn.
#include <cstdint>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "trireme/arrays.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

constexpr std::int64_t rounds = 150;

/// Words that are used once each, those of a round on PEs that differ from round to round.
struct litmus_words {
  global_array<int, 1> x{position<1>(2 * rounds), tiles(1)};
  global_array<int, 1> y{position<1>(rounds * pe_count()), tiles(1)};
  global_array<int, 1> seen{position<1>(4 * rounds)};
  static std::int64_t of_y(std::int64_t round) { return round * pe_count() + round / pe_count() % pe_count(); }
  void free() const {
    barrier().get();
    for (const auto& words : {x, y, seen}) words.free().get();
  }
};

/// All PEs at once in each round.
template <class Round>
void for_rounds(Round&& run) {
  for (std::int64_t round = 0; round < rounds; ++round) {
    team::world().barrier().get();
    run(round);
  }
  barrier().get();
}

// Store buffering: one of the two must see the other's store.
void store_buffering() {
  const int first = 0, second = pe_count() - 1;
  if (first == second) return;
  const litmus_words words;
  for_rounds([&](std::int64_t round) {
    const auto x = [&] { return words.x(round); };
    const auto y = [&] { return words.y(words.of_y(round)); };
    if (this_pe() == first) {
      strict(x()) = 1;
      words.seen(2 * round) = strict(y());
    }
    if (this_pe() == second) {
      strict(y()) = 1;
      words.seen(2 * round + 1) = strict(x());
    }
  });
  for (std::int64_t round = 0; round < rounds; ++round)
    check(words.seen(2 * round) == 1 || words.seen(2 * round + 1) == 1,
          "neither has seen the other's store in round " + std::to_string(round));
  words.free();
}

// Message passing: what was written before the flag, in relaxed order, is there when the flag is.
void message_passing() {
  const int writer = 0, reader = pe_count() - 1;
  if (writer == reader) return;
  const litmus_words words;
  for_rounds([&](std::int64_t round) {
    if (this_pe() == writer) {
      words.x(round) = static_cast<int>(round) + 1;
      words.x(round + rounds) += static_cast<int>(round) + 2;
      strict(words.y(words.of_y(round))) = 1;
    }
    if (this_pe() == reader) {
      while (strict(words.y(words.of_y(round))) == 0) {
      }
      check_equal(int{words.x(round)}, static_cast<int>(round) + 1);
      check_equal(int{words.x(round + rounds)}, static_cast<int>(round) + 2);
    }
  });
  words.free();
}

// Independent reads of independent writes: two readers agree on which store came first.
void independent_reads() {
  if (pe_count() < 4) return;
  const litmus_words words;
  for_rounds([&](std::int64_t round) {
    const auto x = [&] { return words.x(round); };
    const auto y = [&] { return words.y(words.of_y(round)); };
    switch (this_pe()) {
      case 0:
        strict(x()) = 1;
        break;
      case 1:
        strict(y()) = 1;
        break;
      case 2:
        words.seen(4 * round) = strict(x());
        words.seen(4 * round + 1) = strict(y());
        break;
      case 3:
        words.seen(4 * round + 2) = strict(y());
        words.seen(4 * round + 3) = strict(x());
        break;
      default:
        break;
    }
  });
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto seen = [&](std::int64_t i) { return int{words.seen(4 * round + i)}; };
    check(!(seen(0) == 1 && seen(1) == 0 && seen(2) == 1 && seen(3) == 0), "the readers saw different orders");
  }
  words.free();
}

struct reader : group_member<reader> {
  int reads(global_array<int, 1> words, std::int64_t at) {
    return words.local(position<1>(at)) == nullptr ? -1 : int{words(at)};
  }
  // In a coroutine; the value before counts as a strict read.
  task<int> writes(global_array<int, 1> words, std::int64_t at) {
    words(at) = 5;
    auto written = strict(words(at)).put(6);  // the reference has ended before it has
    co_await std::move(written);
    co_return co_await strict(words(at)).get();
  }
};

// Another PE than the owner sees it as soon as the statement has ended; relaxed writes are seen after a fence.
void writes_are_in_place_on_return() {
  const global_array<int, 1> words(position<1>(pe_count()), tiles(1));
  barrier().get();
  if (this_pe() == 0) {
    const auto members = make_group<reader>();
    for (int owner = 0; owner < pe_count(); ++owner) {
      const int looks = owner / pes_per_process() * pes_per_process() + (owner + 1) % pes_per_process();
      const auto look = [&] { return members[looks].call<&reader::reads>(words, owner).get(); };
      strict(words(owner)) = 1;
      check_equal(look(), 1);
      check_equal(strict(words(owner)).fetch_add(2), 1);
      check_equal(look(), 3);
      check_equal(strict(words(owner)).compare_exchange(3, 8), 3);
      check_equal(strict(words(owner)).fetch_xor(1), 8);
      check_equal(strict(words(owner)).fetch_or(2), 9);
      check_equal(strict(words(owner)).fetch_and(3), 11);
      check_equal(look(), 3);
      words(owner) = 4;
      fence().get();
      check_equal(look(), 4);
      check_equal(members[looks].call<&reader::writes>(words, (owner + 1) % pe_count()).get(), 6);
      const auto kept = strict(words(owner));  // outlives the reference that it was made of
      kept = 2;
      check_equal(look(), 2);
      kept = strict(words((owner + 1) % pe_count()));
      check_equal(look(), pe_count() == 1 ? 2 : 6);
    }
  }
  barrier().get();
  words.free().get();
}

constexpr test_case cases[] = {{"store_buffering", &store_buffering},
                               {"message_passing", &message_passing},
                               {"independent_reads", &independent_reads},
                               {"writes_are_in_place_on_return", &writes_are_in_place_on_return}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
