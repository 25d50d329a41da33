// Stacks for virtual threads: mapped with a guard page below, and reused. A context that ends returns its stack to the
// carrier that ran it, so that contexts that never wait run one after another on one warm stack.
//
// The size is the one without virtual threads: OMP_STACKSIZE (or GOMP_STACKSIZE), otherwise the limit of `ulimit -s`.
// Virtual thread 0 replaces the program's first thread, whose stack is that of the process, and gets at least that
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tri::omp {

struct stack_area {
  void* bottom = nullptr;  // lowest usable address
  std::size_t size = 0;
};

struct stack_sizes {
  std::size_t each = 0;
  std::size_t first = 0;  // of virtual thread 0
};
/// From the texts of OMP_STACKSIZE and GOMP_STACKSIZE (null: not set), as the native runtime reads them, and the limit
/// of the process (`unlimited`: there is none). Whole pages.
inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};
stack_sizes choose_stack_sizes(const char* omp_text, const char* gomp_text, std::uint64_t process_limit);

/// Ends the process with a message when the system has no memory for it.
stack_area map_stack(std::size_t size);

/// Spare stacks of one carrier; only its thread uses it.
class stack_shelf {
 public:
  stack_area take(std::size_t size);
  /// Stacks beyond `most` go to a common pool that all carriers check before they map another.
  void put_back(stack_area stack, std::size_t most);

 private:
  std::vector<stack_area> spare_;
};

}  // namespace tri::omp
