// The memory and the strides of the mesh (mesh_transforms.hpp), with or without FFTW.
#include <algorithm>
#include <new>

#include "md/electrostatics/mesh_transforms.hpp"

namespace md {
namespace {

constexpr std::align_val_t alignment{64};

// Whole cache lines, in doubles.
std::size_t rounded_up(std::size_t doubles) { return (doubles + 7) / 8 * 8; }

std::size_t count(int points) { return static_cast<std::size_t>(points); }

}  // namespace

mesh_memory::mesh_memory(std::size_t doubles)
    : data_(static_cast<double*>(::operator new[](doubles * sizeof(double), alignment))) {
  std::fill(data_.get(), data_.get() + doubles, 0.0);
}

void mesh_memory::release::operator()(double* data) const { ::operator delete[](data, alignment); }

std::size_t mesh_transforms::plane_stride() const { return rounded_up(count(points_[0]) * count(points_[1])); }
std::size_t mesh_transforms::plane_modes_stride() const { return rounded_up(2 * modes_x() * count(points_[1])); }
std::size_t mesh_transforms::row_stride() const { return rounded_up(2 * modes_x() * count(points_[2])); }

}  // namespace md
