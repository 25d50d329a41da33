#include "mpi/datatypes/library_packing.hpp"

#include <algorithm>
#include <vector>

namespace tri::mpi {
namespace {

struct sizes {
  std::size_t bytes = 0;
  MPI_Aint extent = 0;
  explicit sizes(MPI_Datatype type) {
    MPI_Count packed = 0;
    MPI_Aint lower = 0;
    PMPI_Type_size_x(type, &packed);
    PMPI_Type_get_extent(type, &lower, &extent);
    bytes = static_cast<std::size_t>(packed);
  }
};

// Contiguous bytes, any number of them, as one element.
class many_bytes {
 public:
  explicit many_bytes(std::size_t bytes) {
    constexpr std::size_t segment = std::size_t{1} << 20;
    MPI_Datatype segments = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(segment), MPI_BYTE, &segments);
    const int lengths[] = {static_cast<int>(bytes / segment), static_cast<int>(bytes % segment)};
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / segment * segment)};
    const MPI_Datatype types[] = {segments, MPI_BYTE};
    PMPI_Type_create_struct(2, lengths, places, types, &handle_);
    PMPI_Type_commit(&handle_);
    PMPI_Type_free(&segments);
  }
  ~many_bytes() { PMPI_Type_free(&handle_); }
  many_bytes(const many_bytes&) = delete;
  many_bytes& operator=(const many_bytes&) = delete;
  MPI_Datatype get() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

// An element of more bytes than a call may pack: sent as a message to ourselves, whose other side is contiguous. No
// other rank sends on this communicator.
void carry(const void* from, MPI_Datatype from_type, void* to, MPI_Datatype to_type) {
  static const MPI_Comm alone = [] {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_SELF, &made);
    return made;
  }();
  PMPI_Sendrecv(from, 1, from_type, 0, 0, to, 1, to_type, 0, 0, alone, MPI_STATUS_IGNORE);
}

// Calls `segment(first element, elements, their first packed byte)` for as many elements at a time as may be.
template <class Segment>
void in_segments(MPI_Count count, const sizes& of, std::size_t at_once, Segment&& segment) {
  const auto together = static_cast<MPI_Count>(std::clamp<std::size_t>(at_once / of.bytes, 1, INT_MAX));
  for (MPI_Count first = 0; first < count; first += together)
    segment(first * of.extent, static_cast<int>(std::min(together, count - first)),
            static_cast<std::size_t>(first) * of.bytes);
}

}  // namespace

void pack_by_library(const void* from, MPI_Count count, MPI_Datatype type, std::byte* to, std::size_t at_once) {
  const sizes of(type);
  if (of.bytes == 0) return;
  in_segments(count, of, at_once, [&](MPI_Count place, int elements, std::size_t packed) {
    const auto* const start = static_cast<const std::byte*>(from) + place;
    int end = 0;
    if (of.bytes > at_once)
      carry(start, type, to + packed, many_bytes(of.bytes).get());
    else
      PMPI_Pack(start, elements, type, to + packed, static_cast<int>(at_once), &end, MPI_COMM_SELF);
  });
}

void unpack_by_library(const std::byte* from, std::size_t bytes, void* to, MPI_Count count, MPI_Datatype type,
                       std::size_t at_once) {
  const sizes of(type);
  if (of.bytes == 0) return;
  const MPI_Count whole = std::min(count, static_cast<MPI_Count>(bytes / of.bytes));
  in_segments(whole, of, at_once, [&](MPI_Count place, int elements, std::size_t packed) {
    auto* const start = static_cast<std::byte*>(to) + place;
    int end = 0;
    if (of.bytes > at_once)
      carry(from + packed, many_bytes(of.bytes).get(), start, type);
    else
      PMPI_Unpack(from + packed, static_cast<int>(static_cast<std::size_t>(elements) * of.bytes), &end, start, elements,
                  type, MPI_COMM_SELF);
  });
  const std::size_t done = static_cast<std::size_t>(whole) * of.bytes;
  if (done == bytes || whole == count) return;
  // A partial element: a whole one is assembled from the part and the data already there.
  std::byte* const element = static_cast<std::byte*>(to) + whole * of.extent;
  std::vector<std::byte> one(of.bytes);
  pack_by_library(element, 1, type, one.data(), at_once);
  std::copy_n(from + done, bytes - done, one.begin());
  unpack_by_library(one.data(), one.size(), element, 1, type, at_once);
}

}  // namespace tri::mpi
