#include "mpi/datatypes/layout/transfer.hpp"

#include <algorithm>
#include <cstring>

#include "mpi/datatypes/layout/cursor.hpp"

namespace tri::mpi {
namespace {

// A bundle: the bytes packed before they are unpacked. Half of a first-level cache of 32 KiB, leaving room for the
// lines that it touches on both sides. Measured with 4 to 64 KiB (README).
constexpr std::uint64_t bundle_bytes = 16384;

// Block by block when a step moves at least this much on average, otherwise in bundles (README).
constexpr std::uint64_t direct_step = 256;

// How much of the stream is in one segment, and in one row of segments.
struct regularity {
  std::uint64_t block = 0;
  std::uint64_t row = 0;
};
regularity regularity_of(const typed_buffer& what) {
  const layout& type = *what.type;
  // Instances of one block each are one row.
  if (type.blocks == 1) return {type.size, what.bytes()};
  return {type.size / type.blocks, type.size / type.rows};
}

bool direct_is_better(const typed_buffer& from, const typed_buffer& to) {
  const regularity a = regularity_of(from), b = regularity_of(to);
  const std::uint64_t shorter_row = std::min(a.row, b.row);
  const std::uint64_t step = a.block == b.block ? shorter_row : std::min(std::max(a.block, b.block), shorter_row);
  return step >= direct_step;
}

// A row of blocks of one side, and how much of its first block is consumed.
struct open_row {
  std::uintptr_t place = 0;
  std::int64_t stride = 0;
  std::uint64_t length = 0;
  std::uint64_t count = 0;
  std::uint64_t used = 0;

  void refill(cursor& where, std::uint64_t limit) {
    portion row;
    where.next_row(limit, row);
    *this = {row.place, row.column_stride, row.length, row.columns, 0};
  }
  std::uint64_t rest_of_block() const { return length - used; }
  std::uintptr_t here() const { return place + used; }
  void take_blocks(std::uint64_t blocks) {
    place += static_cast<std::uintptr_t>(stride) * blocks;
    count -= blocks;
  }
  void take_bytes(std::uint64_t bytes) {
    used += bytes;
    if (used != length) return;
    used = 0;
    take_blocks(1);
  }
};

void copy_directly(const typed_buffer& from, const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes) {
  cursor reading(*from.type, from.count, from.base, offset);
  cursor writing(*to.type, to.count, to.base, offset);
  open_row source, target;
  std::uint64_t not_read = bytes, not_written = bytes;
  const auto refill = [](open_row& row, cursor& where, std::uint64_t& rest) {
    if (row.count != 0) return;
    const std::uint64_t before = where.left();
    row.refill(where, rest);
    rest -= before - where.left();
  };
  for (std::uint64_t left = bytes; left > 0;) {
    refill(source, reading, not_read);
    refill(target, writing, not_written);
    const std::uint64_t readable = source.rest_of_block(), writable = target.rest_of_block();
    std::uint64_t moved = 0;
    if (source.used == 0 && target.used == 0 && source.length == target.length) {
      const std::uint64_t blocks = std::min(source.count, target.count);
      move_blocks(target.place, target.stride, source.place, source.stride, blocks, source.length);
      moved = blocks * source.length;
      source.take_blocks(blocks);
      target.take_blocks(blocks);
    } else if (target.used == 0 && readable >= target.length) {
      const std::uint64_t blocks = std::min(readable / target.length, target.count);
      move_blocks(target.place, target.stride, source.here(), static_cast<std::int64_t>(target.length), blocks,
                  target.length);
      moved = blocks * target.length;
      source.take_bytes(moved);
      target.take_blocks(blocks);
    } else if (source.used == 0 && writable >= source.length) {
      const std::uint64_t blocks = std::min(writable / source.length, source.count);
      move_blocks(target.here(), static_cast<std::int64_t>(source.length), source.place, source.stride, blocks,
                  source.length);
      moved = blocks * source.length;
      source.take_blocks(blocks);
      target.take_bytes(moved);
    } else {
      moved = std::min(readable, writable);
      std::memcpy(reinterpret_cast<void*>(target.here()), reinterpret_cast<const void*>(source.here()), moved);
      source.take_bytes(moved);
      target.take_bytes(moved);
    }
    left -= moved;
  }
}

// Whether both sides have the same geometry, perhaps at other addresses, as the planes of a halo do: programs that
// differ in nothing but where the root is. Only small ones are compared.
bool same_geometry(const typed_buffer& from, const typed_buffer& to) {
  constexpr std::uint64_t small_program = 2048;
  const layout &a = *from.type, &b = *to.type;
  if (from.count != to.count || (a.extent != b.extent && from.count > 1)) return false;
  if (&a == &b) return true;
  if (a.size != b.size || a.blocks != b.blocks || a.signature_root != b.signature_root ||
      a.signature_root > small_program)
    return false;
  layout_node root_of_a = *a.at<layout_node>(a.root), root_of_b = *b.at<layout_node>(b.root);
  root_of_a.displacement = root_of_b.displacement = 0;
  const std::uint64_t rest = a.root + sizeof(layout_node);
  return a.root == b.root && std::memcmp(&root_of_a, &root_of_b, sizeof root_of_a) == 0 &&
         std::memcmp(a.at<std::byte>(rest), b.at<std::byte>(rest), a.signature_root - rest) == 0;
}

void copy_moved(const typed_buffer& from, const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes) {
  const auto origin = [](const typed_buffer& side) {
    return reinterpret_cast<std::uintptr_t>(side.base) +
           static_cast<std::uintptr_t>(side.type->at<layout_node>(side.type->root)->displacement);
  };
  const std::uintptr_t distance = origin(to) - origin(from);
  cursor where(*from.type, from.count, from.base, offset);
  portion found;
  while (bytes > 0) {
    where.next(bytes, found);
    copy_portion(found, distance);
    bytes -= found.bytes;
  }
}

void pack_from(cursor& where, std::uint64_t bytes, std::byte* packed) {
  portion found;
  while (bytes > 0) {
    where.next(bytes, found);
    pack_portion(found, packed);
    packed += found.bytes;
    bytes -= found.bytes;
  }
}

void unpack_to(cursor& where, std::uint64_t bytes, const std::byte* packed) {
  portion found;
  while (bytes > 0) {
    where.next(bytes, found);
    unpack_portion(found, packed);
    packed += found.bytes;
    bytes -= found.bytes;
  }
}

// The address of the stream, when it is one segment of memory.
void* packed_place(const typed_buffer& what, std::uint64_t offset) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(what.base) +
                                 static_cast<std::uintptr_t>(what.type->true_lower_bound) + offset);
}

}  // namespace

void pack(const typed_buffer& from, std::uint64_t offset, std::uint64_t bytes, void* packed) {
  if (bytes == 0) return;
  if (from.type->contiguous(from.count)) {
    std::memcpy(packed, packed_place(from, offset), bytes);
    return;
  }
  cursor where(*from.type, from.count, from.base, offset);
  pack_from(where, bytes, static_cast<std::byte*>(packed));
}

void unpack(const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes, const void* packed) {
  if (bytes == 0) return;
  if (to.type->contiguous(to.count)) {
    std::memcpy(packed_place(to, offset), packed, bytes);
    return;
  }
  cursor where(*to.type, to.count, to.base, offset);
  unpack_to(where, bytes, static_cast<const std::byte*>(packed));
}

void copy(const typed_buffer& from, const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (to.type->contiguous(to.count)) return pack(from, offset, bytes, packed_place(to, offset));
  if (from.type->contiguous(from.count)) return unpack(to, offset, bytes, packed_place(from, offset));
  if (same_geometry(from, to)) return copy_moved(from, to, offset, bytes);
  if (direct_is_better(from, to)) return copy_directly(from, to, offset, bytes);
  alignas(64) std::byte scratch[bundle_bytes];
  cursor reading(*from.type, from.count, from.base, offset);
  cursor writing(*to.type, to.count, to.base, offset);
  while (bytes > 0) {
    const std::uint64_t now = std::min(bytes, bundle_bytes);
    pack_from(reading, now, scratch);
    unpack_to(writing, now, scratch);
    bytes -= now;
  }
}

}  // namespace tri::mpi
