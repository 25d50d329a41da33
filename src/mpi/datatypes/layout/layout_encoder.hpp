// Writes the layout of a datatype. Done once per datatype, when it is committed; private memory, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/datatypes/layout/datatype.hpp"
#include "mpi/datatypes/layout/layout.hpp"

namespace tri::mpi {

/// A layout in memory of its own. Its bytes() may be copied into shared memory.
class owned_layout {
 public:
  explicit owned_layout(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  const layout& operator*() const { return *get(); }
  const layout* operator->() const { return get(); }
  const layout* get() const { return reinterpret_cast<const layout*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;
};

owned_layout encode(const datatype& described);

}  // namespace tri::mpi
