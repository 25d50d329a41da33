#include "mpi/rma/typed_memory.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mpi/datatypes/layout/transfer.hpp"

namespace tri::mpi {
namespace {

typed_buffer described(const typed_memory& memory) { return {memory.type->shape.get(), memory.count, memory.address}; }

}  // namespace

touched_bytes bytes_touched(std::uint64_t count, const buffer_type& type) {
  if (count == 0 || type.bytes == 0) return {};
  if (type.is_plain) return {0, static_cast<std::int64_t>(count * type.bytes)};
  MPI_Count first = 0, length = 0, lower = 0, extent = 0;
  if (type.shape != nullptr) {
    first = type.shape->true_lower_bound;
    length = type.shape->true_extent;
    extent = type.shape->extent;
  } else {
    PMPI_Type_get_true_extent_x(type.handle, &first, &length);
    PMPI_Type_get_extent_x(type.handle, &lower, &extent);
  }
  const std::int64_t last = static_cast<std::int64_t>(count - 1) * extent;
  return {first + std::min<std::int64_t>(last, 0), first + length + std::max<std::int64_t>(last, 0)};
}

bool begins_at_buffer(const buffer_type& type) { return type.bytes > 0 && bytes_touched(1, type).first == 0; }

void pack(const typed_memory& from, std::byte* to) {
  if (from.bytes() == 0) return;
  if (from.type->is_plain)
    std::memcpy(to, from.address, from.bytes());
  else if (from.type->shape != nullptr)
    pack(described(from), 0, from.bytes(), to);
  else
    pack(from.address, static_cast<MPI_Count>(from.count), *from.type, to);
}

void unpack(const std::byte* from, const typed_memory& to) {
  if (to.bytes() == 0) return;
  if (to.type->is_plain)
    std::memcpy(to.address, from, to.bytes());
  else if (to.type->shape != nullptr)
    unpack(described(to), 0, to.bytes(), from);
  else
    unpack(from, to.bytes(), to.address, static_cast<MPI_Count>(to.count), *to.type);
}

void copy_elements(const typed_memory& from, const typed_memory& to) {
  const std::size_t bytes = std::min(from.bytes(), to.bytes());
  const bool from_known = from.type->is_plain || from.type->shape != nullptr;
  const bool to_known = to.type->is_plain || to.type->shape != nullptr;
  if (bytes == 0) return;
  if (from.type->is_plain && to.type->is_plain) {
    std::memmove(to.address, from.address, bytes);
  } else if (from.type->is_plain && to_known) {
    unpack(described(to), 0, bytes, from.address);
  } else if (to.type->is_plain && from_known) {
    pack(described(from), 0, bytes, to.address);
  } else if (from_known && to_known) {
    copy(described(from), described(to), 0, bytes);
  } else {
    std::vector<std::byte> packed(std::max(from.bytes(), to.bytes()));
    pack(from, packed.data());
    unpack(packed.data(), bytes, to.address, static_cast<MPI_Count>(to.count), *to.type);
  }
}

}  // namespace tri::mpi
