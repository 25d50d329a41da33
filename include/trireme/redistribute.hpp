// A global array dealt otherwise.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/copy.hpp"
#include "trireme/global_array.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A new array with the same elements, dealt otherwise. Collective, for programs in SPMD style: it waits, at the end
/// for all PEs.
template <class T, int N, class... Options>
global_array<T, N> redistribute(const global_array<T, N>& from, const Options&... options) {
  const global_array<T, N> to(from.extents(), options...);
  copy(from, region<N>({}, from.extents()), to, {});
  return to;
}

}  // namespace tri

#pragma GCC visibility pop
