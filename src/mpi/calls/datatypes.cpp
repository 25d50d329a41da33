#include "mpi/calls/datatypes.hpp"

#include <algorithm>
#include <climits>
#include <unordered_map>
#include <vector>

#include "mpi/calls/abi.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, datatype> known;
const datatype* last = nullptr;

bool is_plain(MPI_Datatype handle, std::size_t bytes) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner);
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(handle, &lower, &extent);
  return combiner == MPI_COMBINER_NAMED && lower == 0 && static_cast<std::size_t>(extent) == bytes;
}

}  // namespace

const datatype& datatypes::find(MPI_Datatype handle) {
  if (last != nullptr && last->handle == handle) return *last;
  const auto found = known.find(abi::word(handle));
  if (found != known.end()) return *(last = &found->second);
  datatype made;
  made.handle = handle;
  int bytes = 0;
  if (handle != MPI_DATATYPE_NULL && PMPI_Type_size(handle, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED) {
    made.bytes = static_cast<std::size_t>(bytes);
    made.is_plain = is_plain(handle, made.bytes);
    made.is_valid = true;
  }
  return *(last = &known.emplace(abi::word(handle), made).first->second);
}

void datatypes::forget(MPI_Datatype handle) {
  known.erase(abi::word(handle));
  last = nullptr;
}

void pack(const void* from, int count, const datatype& type, std::byte* to) {
  const std::size_t bytes = static_cast<std::size_t>(count) * type.bytes;
  int place = 0;
  PMPI_Pack(from, count, type.handle, to, static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)), &place,
            MPI_COMM_SELF);
}

// A message may end in the middle of the elements that were asked for, and even of one of them.
void unpack(const std::byte* from, std::size_t bytes, void* to, int count, const datatype& type) {
  if (type.bytes == 0) return;
  const int whole = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(count), bytes / type.bytes));
  int place = 0;
  PMPI_Unpack(from, static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)), &place, to, whole, type.handle,
              MPI_COMM_SELF);
  const std::size_t rest = bytes - static_cast<std::size_t>(whole) * type.bytes;
  if (rest == 0 || whole == count) return;
  // The part of an element: unpack a whole one made of the part and of what is there already.
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type.handle, &lower, &extent);
  std::byte* const element = static_cast<std::byte*>(to) + extent * whole;
  std::vector<std::byte> one(type.bytes);
  pack(element, 1, type, one.data());
  std::copy_n(from + static_cast<std::size_t>(whole) * type.bytes, rest, one.begin());
  place = 0;
  PMPI_Unpack(one.data(), static_cast<int>(one.size()), &place, element, 1, type.handle, MPI_COMM_SELF);
}

}  // namespace tri::mpi
