// Contributions of elements that are not all there: some are still being made, others end.
#include <chrono>
#include <cstdint>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

// Contributions begin while the array is still being made elsewhere: the constructor of one PE's elements is slow.
struct eager : array_element<eager, index<1>> {
  explicit eager(callback<int> target) {
    if (this_pe() != 0) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
      while (std::chrono::steady_clock::now() < until) {
      }
    }
    contribute(1, sum, target);
  }
  void again(callback<int> target) { contribute(this_index()[0], sum, target); }
};
void eager_contributions() {
  for (int round = 0; round < 2 * pe_count(); ++round) {  // the PE that collects them changes with the array's number
    future<int> done;
    const int n_eager = 4 * pe_count();
    auto made = make_array<eager>({n_eager}, callback<int>(done.get_promise()));
    check_equal(done.get(), n_eager);
    quiescence().get();
    for (int time = 0; time < 2; ++time) {
      future<int> done_again;
      made.broadcast<&eager::again>(callback<int>(done_again.get_promise()));
      check_equal(done_again.get(), n_eager * (n_eager - 1) / 2);
    }
    future<int> alone;
    make_sparse_array<eager>().insert_on(round % pe_count(), {5}, callback<int>(alone.get_promise()));
    check_equal(alone.get(), 1);
  }
}
const case_entry eager_case{"eager_contributions", &eager_contributions};

// Elements that contribute and end, and elements that end without contributing.
struct mortal : array_element<mortal, index<1>> {
  void last_words(callback<int> target) {
    if (this_index()[0] % 3 == 0) {
      erase_this();
      return;
    }
    contribute(1, sum, target);
    if (this_index()[0] % 3 == 1) erase_this();
  }
  int one() { return 1; }
};
void mortal_contributions() {
  for (int round = 0; round < 2 * pe_count(); ++round) {
    future<int> done;
    auto made = make_array<mortal>({30}, round_robin());
    made.broadcast<&mortal::last_words>(callback<int>(done.get_promise()));
    check_equal(done.get(), 20);
    quiescence().get();
    check_equal(made.reduce<&mortal::one>(sum).get(), 10);
  }
}
const case_entry mortal_case{"mortal_contributions", &mortal_contributions};

}  // namespace
}  // namespace tri::testing
