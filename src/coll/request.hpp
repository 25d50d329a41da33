// What a collective is asked to do, the same on all ranks; which buffers it reads and writes.
//
//   collective       input                              output
//   broadcast        root: vector                       others: vector
//   scatter          root: all blocks                   own block
//   gather           own block                          root: all blocks
//   allgather        own block                          all blocks
//   reduce           vector                             root: vector
//   allreduce        vector                             vector
//   reduce_scatter   all blocks                         own block
//   alltoall         a block for each rank              a block of each rank
//   scan, exscan     vector                             vector (exscan: none on rank 0)
//   barrier          -                                  -
//
// Blocks lie packed, by rank. Contents are packed elements; what runs the plan knows the layouts of datatypes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coll/plan.hpp"
#include "coll/shape.hpp"

namespace tri::coll {

enum class collective : std::uint8_t {
  broadcast,
  scatter,
  gather,
  allgather,
  reduce,
  allreduce,
  reduce_scatter,
  alltoall,
  scan,
  exscan,
  barrier,
};

std::string_view name_of(collective what);
std::span<const collective> all_collectives();
/// Throws std::invalid_argument with the names that there are.
collective collective_of(std::string_view name);

bool has_root(collective what);
bool reduces(collective what);

/// How many elements the block of each rank has.
class block_layout {
 public:
  static block_layout uniform(std::uint64_t elements);
  static block_layout of_table(std::span<const std::uint64_t> elements_of_ranks);

  std::uint64_t begin(int rank) const {  // of the number of ranks: that of all elements
    return begins_.empty() ? elements_ * static_cast<std::uint64_t>(rank) : begins_[static_cast<std::size_t>(rank)];
  }
  bool is_uniform() const { return begins_.empty(); }
  std::uint64_t entries() const { return begins_.empty() ? 0 : begins_.size() - 1; }  // of the table

 private:
  std::uint64_t elements_ = 0;
  std::vector<std::uint64_t> begins_;
};

struct request {
  collective what = collective::barrier;
  shape hosts;
  int root = 0;
  block_layout blocks;       ///< a vector is the block of a uniform layout
  std::uint32_t extent = 1;  ///< bytes of an element: no reduction splits one
  bool in_place = false;     ///< input and output of a rank are one buffer, as MPI_IN_PLACE says; see real_place()
  bool commutative = true;   ///< else contributions are combined in the order of ranks

  std::uint64_t begin_of(int rank) const { return blocks.begin(rank) * extent; }
  std::uint64_t bytes_of(int rank) const { return begin_of(rank + 1) - begin_of(rank); }
  std::uint64_t all_bytes() const { return begin_of(hosts.ranks()); }
  std::uint64_t vector_bytes() const { return bytes_of(0); }

  /// In place, a part of one buffer is the other: the input of gather and allgather is the block of the rank in its
  /// output, that of a reduction or alltoall the output itself; the output of scatter is the block in the input of the
  /// root, that of reduce_scatter the beginning of the input. Returns the place in the larger one.
  place real_place(place of) const;

  std::uint64_t input_bytes(int rank) const;
  std::uint64_t output_bytes(int rank) const;
  /// Throws std::invalid_argument with the value that is wrong and those that would be right.
  void check() const;
};

}  // namespace tri::coll
