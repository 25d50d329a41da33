// A message that goes to many is handed on from host to host, and parts of a reduction come back the same way.
#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::objects {

/// What comes back to a PE that hands a message on.
struct part_of_subtree {
  std::size_t parts = 0;      // of its host, and of those to which it was handed on
  int from = 0;               // the PE that handed it on to us
  std::vector<int> children;  // hosts
};

/// The arguments of such a message behind what its route needs.
template <class Tuple, class... First>
struct prepend;
template <class... P, class... First>
struct prepend<std::tuple<P...>, First...> {
  using type = std::tuple<First..., P...>;
};

}  // namespace tri::objects

#pragma GCC visibility pop
