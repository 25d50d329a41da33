#include "coll/request.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <string>

namespace tri::coll {
namespace {

constexpr std::array every{
    collective::broadcast, collective::scatter,   collective::gather,         collective::allgather,
    collective::reduce,    collective::allreduce, collective::reduce_scatter, collective::alltoall,
    collective::scan,      collective::exscan,    collective::barrier,
};

}  // namespace

std::span<const collective> all_collectives() { return every; }

std::string_view name_of(collective what) {
  switch (what) {
    case collective::broadcast:
      return "broadcast";
    case collective::scatter:
      return "scatter";
    case collective::gather:
      return "gather";
    case collective::allgather:
      return "allgather";
    case collective::reduce:
      return "reduce";
    case collective::allreduce:
      return "allreduce";
    case collective::reduce_scatter:
      return "reduce_scatter";
    case collective::alltoall:
      return "alltoall";
    case collective::scan:
      return "scan";
    case collective::exscan:
      return "exscan";
    case collective::barrier:
      return "barrier";
  }
  return "";
}

collective collective_of(std::string_view name) {
  std::string names;
  for (const collective each : every) {
    if (name_of(each) == name) return each;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(each));
  }
  throw std::invalid_argument(fmt::format("there is no collective '{}'; there are {}", name, names));
}

bool has_root(collective what) {
  return what == collective::broadcast || what == collective::scatter || what == collective::gather ||
         what == collective::reduce;
}

bool reduces(collective what) {
  return what == collective::reduce || what == collective::allreduce || what == collective::reduce_scatter ||
         what == collective::scan || what == collective::exscan;
}

block_layout block_layout::uniform(std::uint64_t elements) {
  block_layout made;
  made.elements_ = elements;
  return made;
}

block_layout block_layout::of_table(std::span<const std::uint64_t> elements_of_ranks) {
  block_layout made;
  made.begins_.assign(1, 0);
  for (const std::uint64_t elements : elements_of_ranks) {
    if (elements > std::numeric_limits<std::uint64_t>::max() - made.begins_.back())
      throw std::invalid_argument("the blocks have more elements than 64 bits count");
    made.begins_.push_back(made.begins_.back() + elements);
  }
  return made;
}

std::uint64_t request::input_bytes(int rank) const {
  switch (what) {
    case collective::broadcast:
      return rank == root ? vector_bytes() : 0;
    case collective::scatter:
      return rank == root ? all_bytes() : 0;
    case collective::gather:
    case collective::allgather:
      return bytes_of(rank);
    case collective::reduce_scatter:
    case collective::alltoall:
      return all_bytes();
    case collective::barrier:
      return 0;
    default:
      return vector_bytes();
  }
}

std::uint64_t request::output_bytes(int rank) const {
  switch (what) {
    case collective::broadcast:
      return rank == root ? 0 : vector_bytes();
    case collective::scatter:
    case collective::reduce_scatter:
      return bytes_of(rank);
    case collective::gather:
      return rank == root ? all_bytes() : 0;
    case collective::allgather:
    case collective::alltoall:
      return all_bytes();
    case collective::reduce:
      return rank == root ? vector_bytes() : 0;
    case collective::exscan:
      return rank == 0 ? 0 : vector_bytes();
    case collective::barrier:
      return 0;
    default:
      return vector_bytes();
  }
}

place request::real_place(place of) const {
  if (!in_place || of.where == buffer::scratch) return of;
  const auto alias = [&](buffer part, std::uint64_t offset) {
    if (of.where != part) return of;
    return place{of.rank, part == buffer::input ? buffer::output : buffer::input, of.offset + offset};
  };
  switch (what) {
    case collective::broadcast:  // one buffer each anyway
    case collective::barrier:
      return of;
    case collective::scatter:
      return of.rank == root ? alias(buffer::output, begin_of(root)) : of;
    case collective::reduce_scatter:
      return alias(buffer::output, 0);
    case collective::gather:
      return of.rank == root ? alias(buffer::input, begin_of(root)) : of;
    case collective::reduce:
      return of.rank == root ? alias(buffer::input, 0) : of;
    case collective::exscan:
      return of.rank > 0 ? alias(buffer::input, 0) : of;  // rank 0 has no output
    case collective::allgather:
      return alias(buffer::input, begin_of(of.rank));
    default:
      return alias(buffer::input, 0);
  }
}

void request::check() const {
  if (has_root(what) && (root < 0 || root >= hosts.ranks()))
    throw std::invalid_argument(
        fmt::format("root {} of {} ranks; it must be 0 to {}", root, hosts.ranks(), hosts.ranks() - 1));
  if (extent == 0) throw std::invalid_argument("elements of 0 bytes; it must be 1 or more");
  const auto ranks = static_cast<std::uint64_t>(hosts.ranks());
  if (!blocks.is_uniform()) {
    if (blocks.entries() != ranks)
      throw std::invalid_argument(fmt::format("blocks of {} ranks are given; there are {}", blocks.entries(), ranks));
    if (what != collective::scatter && what != collective::gather && what != collective::allgather &&
        what != collective::reduce_scatter)
      throw std::invalid_argument(fmt::format("{} takes one count, not one for each rank", name_of(what)));
  }
  // Scratch of some algorithms holds as much again for each host or level, and sums of offsets must not overflow.
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  const std::uint64_t elements = blocks.is_uniform() ? blocks.begin(1) : blocks.begin(static_cast<int>(ranks));
  const std::uint64_t times = blocks.is_uniform() ? ranks : 1;
  if (elements > most / extent / times)
    throw std::invalid_argument(fmt::format("{} elements of {} bytes on {} ranks are more than {} bytes together",
                                            elements, extent, ranks, most));
}

}  // namespace tri::coll
