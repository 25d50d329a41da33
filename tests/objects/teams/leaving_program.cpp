// What a main program sends by a collective that it does not have to wait for: it leaves though the program makes no
// call from then on. PEs show each other by files that they have come out of the collective, since nothing else may
// run their messages meanwhile. `leaving_program PROCESSES PES [case...]`, in SPMD style.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "support/command_runner.hpp"
#include "trireme/arrays.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;

/// A folder that all PEs see.
class shared_folder {
 public:
  shared_folder() {
    if (this_pe() == 0) made_.emplace();
    folder_ = team::world().broadcast(this_pe() == 0 ? made_->path().string() : "", 0).get();
  }
  /// Afterwards there are connections along the trees of all roots. Without that a first message needs its receiver.
  static void connect_all() {
    for (int root = 0; root < pe_count(); ++root) {
      check_equal(team::world().broadcast(root, root).get(), root);
      (void)team::world().reduce(1, sum, root).get();
      team::world().barrier().get();
    }
  }
  shared_folder(const shared_folder&) = delete;
  shared_folder& operator=(const shared_folder&) = delete;
  ~shared_folder() {
    if (!is_complete_) return;  // an exception: the job ends
    team::world().barrier().get();
  }
  /// Runs a collective on all PEs, at each of which it ends without others once they have called it. Then waits for
  /// them without running messages.
  template <class Collective>
  void leave(Collective&& collective) {
    is_complete_ = false;
    collective();
    std::ofstream(name_of(this_pe())).put('x');
    for (int pe = 0; pe < pe_count(); ++pe)
      while (!fs::exists(name_of(pe))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++number_;
    is_complete_ = true;
  }

 private:
  std::string name_of(int pe) const { return folder_ + "/" + std::to_string(number_) + "_" + std::to_string(pe); }

  std::optional<temporary_folder> made_;
  std::string folder_;
  int number_ = 0;
  bool is_complete_ = true;
};

constexpr int rounds = 2;

// The root has its own value at once.
void the_root_of_a_broadcast() {
  shared_folder::connect_all();
  shared_folder all;
  for (int round = 0; round < rounds; ++round)
    for (int root = 0; root < pe_count(); ++root)
      all.leave([&] {
        auto come = team::world().broadcast(this_pe() == root ? root + 100 : 0, root);
        if (this_pe() == root) check(come.ready(), "the root does not wait");
        check_equal(come.get(), root + 100);
      });
}

void the_root_of_a_scatter() {
  shared_folder::connect_all();
  shared_folder all;
  for (int round = 0; round < rounds; ++round)
    for (int root = 0; root < pe_count(); ++root)
      all.leave([&] {
        std::vector<std::string> values;
        for (int pe = 0; pe < pe_count() && this_pe() == root; ++pe) values.push_back(std::to_string(pe));
        auto come = team::world().scatter(std::move(values), root);
        if (this_pe() == root) check(come.ready(), "the root does not wait");
        check_equal(come.get(), std::to_string(this_pe()));
      });
}

// Those without children have no more to do.
void the_leaves_of_a_reduction() {
  shared_folder::connect_all();
  shared_folder all;
  for (int round = 0; round < rounds; ++round)
    for (int root = 0; root < pe_count(); ++root) {
      all.leave([&] {
        const auto sum_of_all = team::world().reduce(1, sum, root).get();
        if (this_pe() == root) check_equal(sum_of_all.value_or(0), pe_count());
      });
      all.leave([&] {
        const auto of_all = team::world().gather(this_pe(), root).get();
        check_equal(of_all.size(), this_pe() == root ? static_cast<std::size_t>(pe_count()) : 0);
      });
    }
}

// The last one that comes finds that all others have, and does not wait either.
void the_last_of_a_barrier() {
  shared_folder::connect_all();
  shared_folder all;
  const auto others_wait = [] {  // their messages are here when this PE has run some
    for (int step = 0; step < 1000; ++step) progress();
  };
  for (int round = 0; round < rounds; ++round)
    for (int last = 0; last < pe_count(); ++last) {
      all.leave([&] {
        if (this_pe() == last) others_wait();
        team::world().barrier().get();
      });
      all.leave([&] {
        if (this_pe() == last) others_wait();
        check_equal(team::world().allreduce(1, sum).get(), pe_count());
      });
      all.leave([&] {
        if (this_pe() == last) others_wait();
        tri::barrier().get();
      });
    }
}

// Connections are made meanwhile: by receivers that wait.
void the_root_of_the_first_broadcast() {
  shared_folder all;
  for (int root = 0; root < pe_count(); ++root)
    all.leave([&] { check_equal(team::world().broadcast(this_pe() == root ? root : -1, root).get(), root); });
}

constexpr test_case cases[] = {{"the_root_of_the_first_broadcast", the_root_of_the_first_broadcast},
                               {"the_root_of_a_broadcast", the_root_of_a_broadcast},
                               {"the_root_of_a_scatter", the_root_of_a_scatter},
                               {"the_leaves_of_a_reduction", the_leaves_of_a_reduction},
                               {"the_last_of_a_barrier", the_last_of_a_barrier}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
