// A tile of a global array in the memory of this host.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <concepts>
#include <cstdint>

#include "trireme/detail/arrays/position.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A tile in the memory of this host: `elements()` of the array lie row by row from data() on, with the leading
/// dimension (steps between rows) of a whole tile and its ghost cells.
template <class T, int N>
class local_tile {
 public:
  local_tile(T* data, const region<N>& elements, const position<N>& strides)
      : data_(data), elements_(elements), strides_(strides) {}
  T* data() const { return data_; }
  const region<N>& elements() const { return elements_; }
  std::int64_t extent(int dimension) const { return elements_.last[dimension] - elements_.first[dimension]; }
  std::int64_t stride(int dimension) const { return strides_[dimension]; }
  std::int64_t leading_dimension() const { return N == 1 ? extent(0) : strides_[N == 1 ? 0 : N - 2]; }
  /// The element at this position in the tile. In the halo positions begin before 0 and end behind extent(d): ghost
  /// cells, which exchange_halo fills.
  template <std::integral... I>
    requires(sizeof...(I) == N)
  T& operator()(I... i) const {
    return data_[arrays::dot(position<N>(i...), strides_)];
  }
  /// The element at this position in the array, of this tile or its ghost cells.
  T& at(const position<N>& in_array) const {
    T* found = data_;
    for (int d = 0; d < N; ++d) found += (in_array[d] - elements_.first[d]) * strides_[d];
    return *found;
  }

 private:
  T* data_;
  region<N> elements_;
  position<N> strides_;
};

}  // namespace tri

#pragma GCC visibility pop
