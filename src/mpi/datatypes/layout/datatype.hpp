// The description of an MPI datatype: one function per constructor of MPI, 64-bit counts and displacements. The value
// represents the resulting type map: shape of the bytes, signature, bounds. It is in private memory; `encode`
// (layout_encoder.hpp) turns it into the layout that messages use. Every constructor throws std::invalid_argument for
// arguments that MPI forbids (naming the value and the valid range) and std::overflow_error for sizes above 2^63.
// Values never change and may be copied and shared by any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpi/datatypes/layout/element_kind.hpp"
#include "mpi/datatypes/layout/type_shape.hpp"
#include "mpi/datatypes/layout/type_signature.hpp"

namespace tri::mpi {

enum class array_order { c, fortran };                // c: the last dimension is contiguous
enum class distribution { none, block, cyclic };      // of one dimension of a distributed array
inline constexpr std::int64_t default_argument = -1;  // MPI_DISTRIBUTE_DFLT_DARG

class datatype {
 public:
  using counts = std::span<const std::int64_t>;

  // --- constructors ---
  static datatype basic(element_kind kind);
  /// MPI_LB and MPI_UB: no bytes, but a bound of what contains them.
  static datatype lower_marker();
  static datatype upper_marker();

  static datatype contiguous(std::int64_t count, const datatype& old);
  /// stride in extents of `old`
  static datatype vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype& old);
  static datatype hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes,
                          const datatype& old);
  static datatype indexed(counts block_lengths, counts displacements, const datatype& old);
  static datatype hindexed(counts block_lengths, counts displacements_bytes, const datatype& old);
  static datatype indexed_block(std::int64_t block_length, counts displacements, const datatype& old);
  static datatype hindexed_block(std::int64_t block_length, counts displacements_bytes, const datatype& old);
  static datatype structure(counts block_lengths, counts displacements_bytes, std::span<const datatype> types);
  static datatype subarray(counts sizes, counts subsizes, counts starts, array_order order, const datatype& old);
  /// The part of a global array owned by process `rank` of `processes`; ranks are laid out over the process grid in C
  /// order whatever `order` is, as in MPI_Type_create_darray.
  static datatype darray(std::int64_t processes, std::int64_t rank, counts sizes,
                         std::span<const distribution> distributions, counts arguments, counts process_grid,
                         array_order order, const datatype& old);
  static datatype resized(const datatype& old, std::int64_t lower_bound, std::int64_t extent);

  /// The same with the bounds that an MPI library reports: libraries differ in how they pad.
  datatype with_bounds(std::int64_t lower_bound, std::int64_t extent) const;

  // --- properties ---
  std::uint64_t size() const { return shape_.empty() ? 0 : shape_.body->bytes; }  ///< packed bytes
  std::int64_t lower_bound() const { return bounds_.lower; }
  std::int64_t extent() const { return bounds_.upper - bounds_.lower; }
  std::int64_t true_lower_bound() const;  ///< of the bytes alone; 0 without bytes
  std::int64_t true_extent() const;
  std::uint32_t alignment() const { return alignment_; }  ///< the largest of its basic elements
  /// LB or UB by itself.
  bool is_marker() const { return !bounds_.any && (bounds_.lower_marked || bounds_.upper_marked); }
  const placed_shape& shape() const { return shape_; }
  const shared_signature& elements() const { return signature_; }

 private:
  // Where copies of a type begin: what bounds are made of.
  struct bounds {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    bool lower_marked = false;  // by LB, UB or resized: independent of the bytes
    bool upper_marked = false;
    bool any = false;  // false: neither bytes nor markers, so no bounds of others depend on it
  };
  // The bounds of several parts together.
  class bounds_union;

  datatype(placed_shape shape, shared_signature elements, const bounds& where, std::uint32_t alignment);
  static datatype copies(placed_shape shape, std::uint64_t instances, std::int64_t first, std::int64_t last,
                         const datatype& old);

  placed_shape shape_;
  shared_signature signature_;
  bounds bounds_;
  std::uint32_t alignment_ = 1;
};

}  // namespace tri::mpi
