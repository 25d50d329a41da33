// What a user can do when memory is exhausted, depending on how the program was started: our programs have options, an
// MPI program under the drop-in has none.
#pragma once

#include <string>

namespace tri::arena {

struct error_hints {
  /// The limit of address space forbids a window.
  std::string address_space = "raise it or choose a smaller --tri-arena-window-bytes";
  /// The window has no gap that is large enough.
  std::string window = "raise --tri-arena-window-bytes";
  /// The process has reached its limit.
  std::string limit = "raise --tri-arena-limit-bytes, use more processes, or send less at once";
};

}  // namespace tri::arena
