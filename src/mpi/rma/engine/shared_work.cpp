#include "mpi/rma/engine/shared_work.hpp"

#include <cstring>

namespace tri::mpi {
namespace {

std::uint64_t word(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

void copy_part(const board::task_view& task, std::uint64_t first, std::uint64_t last, int) noexcept {
  const std::uint64_t* const a = task.arguments;
  std::memcpy(reinterpret_cast<std::byte*>(a[0]) + first, reinterpret_cast<const std::byte*>(a[1]) + first,
              last - first);
}
const board::operation_id copy_operation =
    board::operation_table::of_process().chunks.add("mpi: copy for a one-sided operation", &copy_part);

// Chunks begin between elements: their sizes are multiples of all elements' sizes.
void reduce_part(const board::task_view& task, std::uint64_t first, std::uint64_t last, int) noexcept {
  const std::uint64_t* const a = task.arguments;
  const auto kind = static_cast<element_kind>(a[4]);
  auto* const operands = reinterpret_cast<const std::byte*>(a[1]);
  auto* const before = reinterpret_cast<std::byte*>(a[2]);
  reduce_plainly(static_cast<reduction>(a[3]), kind, reinterpret_cast<std::byte*>(a[0]) + first,
                 operands == nullptr ? nullptr : operands + first, before == nullptr ? nullptr : before + first,
                 (last - first) / facts_of(kind).bytes);
}
const board::operation_id reduce_operation =
    board::operation_table::of_process().chunks.add("mpi: reduction of an accumulate", &reduce_part);

}  // namespace

bool copy_together(engine& ranks, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes < ranks.options().sharing.from) return false;
  const std::byte* const target = ranks.shared_address(to, bytes);
  const std::byte* const source = ranks.shared_address(from, bytes);
  if (target == nullptr || source == nullptr) return false;
  return ranks.run_together(copy_operation, {word(target), word(source)}, bytes);
}

bool reduce_together(engine& ranks, reduction operation, element_kind kind, std::byte* target,
                     const std::byte* operands, std::byte* before, std::size_t bytes) {
  if (bytes < ranks.options().sharing.from) return false;
  const auto reached = [&](const std::byte* memory) {
    return memory == nullptr ? nullptr : ranks.shared_address(memory, bytes);
  };
  const std::byte* const there = reached(target);
  const std::byte* const by = reached(operands);
  const std::byte* const was = reached(before);
  if (there == nullptr || (operands != nullptr && by == nullptr) || (before != nullptr && was == nullptr)) return false;
  return ranks.run_together(
      reduce_operation,
      {word(there), word(by), word(was), static_cast<std::uint64_t>(operation), static_cast<std::uint64_t>(kind)},
      bytes);
}

}  // namespace tri::mpi
