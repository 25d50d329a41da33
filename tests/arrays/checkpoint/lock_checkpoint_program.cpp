// Global locks in checkpoints of a program that has no global array: what knows of them must be linked nevertheless.
//
//   lock_checkpoint_program FOLDER
#include <cstdio>
#include <stdexcept>

#include "support/check.hpp"
#include "trireme/arrays.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

void run(const char* folder) {
  if (is_restarted()) {
    const auto lock = restored_state<global_lock>();
    const auto other = global_lock::made_alone();
    check(!(lock == other), "a new lock is one of before");
    const auto held = lock.acquire().get();
    const auto held_too = other.acquire().get();
    std::puts("both are held");
    return;
  }
  const global_lock lock = global_lock::made_alone();
  {
    const auto held = lock.acquire().get();
    check_throws<remote_error>([&] { checkpoint(folder, lock).get(); }, "is held by PE 0; release it before");
  }
  quiescence().get();
  checkpoint(folder, lock).get();
  std::puts("written");
}

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** words) {
    if (count != 2) throw std::runtime_error("usage: lock_checkpoint_program FOLDER");
    tri::testing::run(words[1]);
  });
}
