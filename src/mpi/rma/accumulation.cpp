#include "mpi/rma/accumulation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "mpi/datatypes/layout/memory_segments.hpp"
#include "mpi/datatypes/layout/transfer.hpp"
#include "mpi/rma/engine/shared_work.hpp"

namespace tri::mpi {
namespace {

// The library computes: it knows all types, and its loops are vectorized. Counts of its calls are int, hence the steps.
constexpr std::size_t most_at_once = 1 << 20;

// From this many elements on, excluding all other ranks once is cheaper than an atomic instruction for each.
constexpr std::size_t long_run = 512;

// Contiguous elements without holes, which no other rank changes meanwhile.
void reduce_alone(engine& ranks, std::byte* target, const element_type& element, reduction operation, MPI_Op handle,
                  const std::byte* operands, std::byte* before, std::size_t bytes) {
  if (has_plain_loop(operation, element.kind) && !element.is_pair) {
    if (!reduce_together(ranks, operation, element.kind, target, operands, before, bytes))
      reduce_plainly(operation, element.kind, target, operands, before, bytes / element.bytes);
    return;
  }
  if (before != nullptr) std::memcpy(before, target, bytes);
  if (operation == reduction::nothing) return;
  if (operation == reduction::replace) {
    std::memcpy(target, operands, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t count = std::min((bytes - at) / element.bytes, most_at_once);
    PMPI_Reduce_local(operands + at, target + at, static_cast<int>(count), element.handle, handle);
    at += count * element.bytes;
  }
}

// Elements in many segments: packed, reduced and unpacked in steps that stay in the cache.
void reduce_packed(engine& ranks, const typed_memory& target, const element_type& element, reduction operation,
                   MPI_Op handle, const std::byte* operands, std::byte* before) {
  const typed_buffer memory{target.type->shape.get(), target.count, target.address};
  alignas(64) std::array<std::byte, std::size_t{16} * 1024> step;
  const std::size_t at_once = step.size() / element.bytes * element.bytes;
  for (std::size_t at = 0; at < target.bytes(); at += at_once) {
    const std::size_t bytes = std::min(at_once, target.bytes() - at);
    pack(memory, at, bytes, step.data());
    reduce_alone(ranks, step.data(), element, operation, handle, operands == nullptr ? nullptr : operands + at,
                 before == nullptr ? nullptr : before + at, bytes);
    unpack(memory, at, bytes, step.data());
  }
}

// Pairs have holes in memory, which packed ones have not: in between they are unpacked as the predefined type.
void reduce_pairs(const typed_memory& target, const element_type& element, reduction operation, MPI_Op handle,
                  const std::byte* operands, std::byte* before) {
  std::vector<std::byte> packed(target.bytes());
  pack(target, packed.data());
  if (before != nullptr) std::copy(packed.begin(), packed.end(), before);
  if (operation == reduction::nothing) return;
  if (operation == reduction::replace) {
    unpack(operands, target);
    return;
  }
  const std::size_t count = packed.size() / element.bytes;
  std::vector<std::byte> theirs(count * element.extent), ours(count * element.extent);
  const buffer_type& type = datatypes::find(element.handle);
  const typed_memory there{theirs.data(), count, &type};
  unpack(packed.data(), there);
  unpack(operands, {ours.data(), count, &type});
  for (std::size_t at = 0; at < count; at += most_at_once)
    PMPI_Reduce_local(ours.data() + at * element.extent, theirs.data() + at * element.extent,
                      static_cast<int>(std::min(count - at, most_at_once)), element.handle, handle);
  pack(there, packed.data());
  unpack(packed.data(), target);
}

}  // namespace

void accumulate(engine& ranks, const typed_memory& target, const element_type& element, reduction operation,
                MPI_Op handle, const std::byte* operands, std::byte* before, accumulate_order order) {
  if (target.bytes() == 0) return;
  if (element.is_pair) {
    order.locked([&] { reduce_pairs(target, element, operation, handle, operands, before); });
    return;
  }
  const bool by_instructions = is_single_instruction(element.kind);
  if (!by_instructions && !target.type->is_plain) {
    order.locked([&] { reduce_packed(ranks, target, element, operation, handle, operands, before); });
    return;
  }
  const auto in_segments = [&](auto&& reduce) {
    if (target.type->is_plain) {
      reduce(target.start(), operands, before, target.bytes());
      return;
    }
    memory_segments segments({target.type->shape.get(), target.count, target.address}, 0, target.bytes());
    std::array<iovec, 64> found;
    std::size_t at = 0;
    while (const std::size_t count = segments.next(found, target.bytes())) {
      for (std::size_t i = 0; i < count; ++i) {
        reduce(static_cast<std::byte*>(found[i].iov_base), operands == nullptr ? nullptr : operands + at,
               before == nullptr ? nullptr : before + at, found[i].iov_len);
        at += found[i].iov_len;
      }
    }
  };
  const auto alone = [&](std::byte* segment, const std::byte* by, std::byte* was, std::size_t bytes) {
    reduce_alone(ranks, segment, element, operation, handle, by, was, bytes);
  };
  if (by_instructions && target.bytes() / element.bytes >= long_run) {
    order.alone([&] { in_segments(alone); });
    return;
  }
  in_segments([&](std::byte* segment, const std::byte* by, std::byte* was, std::size_t bytes) {
    if (is_single_instruction(element.kind, segment))
      order.by_instructions(
          [&] { reduce_atomically(operation, element.kind, segment, by, was, bytes / element.bytes); });
    else
      order.locked([&] { alone(segment, by, was, bytes); });
  });
}

void compare_and_swap(void* target, const element_type& element, const void* expected, const void* desired,
                      void* before, accumulate_order order) {
  if (element.is_single_instruction() && is_single_instruction(element.kind, target)) {
    order.by_instructions([&] { compare_and_swap_atomically(element.kind, target, expected, desired, before); });
    return;
  }
  order.locked([&] {
    std::memcpy(before, target, element.bytes);
    if (std::memcmp(before, expected, element.bytes) == 0) std::memcpy(target, desired, element.bytes);
  });
}

}  // namespace tri::mpi
