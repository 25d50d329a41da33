// The order of a factorization by tile columns, right-looking: a panel is factored by the PEs that have it and sent to
// the others, which update their columns behind it. With look-ahead the next panel goes out as soon as its own columns
// are updated, so that the others have it before they need it.
#pragma once

#include "dense/matrix.hpp"

namespace dense {

/// Panels that are factored before the update ahead of them is complete.
enum class look_ahead : bool { none, one };

/// `by` has
///   send_panel(k)          factors panel k where it lies; a future of what the update needs of it
///   receive_panel(k, it)   before the updates by panel k
///   update(first, last)    this PE's tile columns of these, by the panel received last
/// Collective over the PEs of the grid.
template <class Algorithm>
void factor_right_looking(const matrix& a, look_ahead depth, Algorithm&& by) {
  const extent panels = tile_rows(a), columns = tile_columns(a);
  auto coming = by.send_panel(0);
  for (extent k = 0; k < panels; ++k) {
    by.receive_panel(k, coming.get());
    const bool is_last = k + 1 == panels;
    if (depth == look_ahead::none || is_last) {
      by.update(k + 1, columns);
      if (!is_last) coming = by.send_panel(k + 1);
    } else {
      by.update(k + 1, k + 2);
      coming = by.send_panel(k + 1);
      by.update(k + 2, columns);
    }
  }
}

}  // namespace dense
