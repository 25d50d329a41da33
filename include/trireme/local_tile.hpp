// A tile of a global array in the memory of this host.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <concepts>
#include <cstdint>

#include "trireme/detail/arrays/position.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A tile in the memory of this host: `elements()` of the array lie row by row from data() on, with the leading
/// dimension (steps between rows) of a whole tile.
template <class T, int N>
class local_tile {
 public:
  local_tile(T* data, const region<N>& elements, const position<N>& tile)
      : data_(data), elements_(elements), strides_(arrays::row_major_strides(tile)) {}
  T* data() const { return data_; }
  const region<N>& elements() const { return elements_; }
  std::int64_t extent(int dimension) const { return elements_.last[dimension] - elements_.first[dimension]; }
  std::int64_t stride(int dimension) const { return strides_[dimension]; }
  std::int64_t leading_dimension() const { return N == 1 ? extent(0) : strides_[N == 1 ? 0 : N - 2]; }
  /// The element at this position in the tile.
  template <std::integral... I>
    requires(sizeof...(I) == N)
  T& operator()(I... i) const {
    return data_[arrays::dot(position<N>(i...), strides_)];
  }

 private:
  T* data_;
  region<N> elements_;
  position<N> strides_;
};

}  // namespace tri

#pragma GCC visibility pop
