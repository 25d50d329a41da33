// See mesh_slab.hpp.
#include "md/electrostatics/mesh_slab.hpp"

#include <algorithm>

namespace md {
namespace {

// Calls visit(plane of the block, plane of the mesh) for the planes of the block that are in the range.
template <class F>
void for_each_plane(const mesh_block& block, int mesh_planes, const mesh_range& planes, const F& visit) {
  for (int z = 0; z < block.size[2]; ++z) {
    const int at = wrapped(block.low[2] + z, mesh_planes);
    if (planes.contains(at)) visit(static_cast<std::size_t>(z), at);
  }
}

// Calls visit(points of the block, points of the plane, count) for each stretch of consecutive points.
template <class F>
void for_each_stretch(const mesh_block& block, const int3& points, const F& visit) {
  for (int y = 0; y < block.size[1]; ++y) {
    const int row = wrapped(block.low[1] + y, points[1]);
    int x = 0;
    while (x < block.size[0]) {
      const int at = wrapped(block.low[0] + x, points[0]);
      const int count = std::min(block.size[0] - x, points[0] - at);
      visit(static_cast<std::size_t>(y) * static_cast<std::size_t>(block.size[0]) + static_cast<std::size_t>(x),
            static_cast<std::size_t>(row) * static_cast<std::size_t>(points[0]) + static_cast<std::size_t>(at),
            static_cast<std::size_t>(count));
      x += count;
    }
  }
}

}  // namespace

mesh_range even_part(int points, int part, int parts) {
  const auto border = [&](int at) { return static_cast<int>(std::int64_t{points} * at / parts); };
  return {border(part), border(part + 1) - border(part)};
}

std::size_t points_in(const mesh_block& block, int mesh_planes, const mesh_range& planes) {
  std::size_t count = 0;
  for_each_plane(block, mesh_planes, planes, [&](std::size_t, int) { ++count; });
  return count * block.plane_points();
}

void copy_out(const mesh_block& block, int mesh_planes, const mesh_range& planes, const double* values, double* part) {
  const std::size_t points = block.plane_points();
  for_each_plane(block, mesh_planes, planes,
                 [&](std::size_t z, int) { part = std::copy_n(values + z * points, points, part); });
}

void copy_in(const mesh_block& block, int mesh_planes, const mesh_range& planes, const double* part, double* values) {
  const std::size_t points = block.plane_points();
  for_each_plane(block, mesh_planes, planes, [&](std::size_t z, int) {
    std::copy_n(part, points, values + z * points);
    part += points;
  });
}

mesh_slab::mesh_slab(const mesh_transforms& transforms, const mesh_range& planes)
    : transforms_(&transforms),
      planes_(planes),
      modes_(static_cast<std::size_t>(planes.count) * transforms.plane_modes_stride()),
      values_(static_cast<std::size_t>(planes.count) * transforms.plane_stride()) {}

complex* mesh_slab::modes(int at) {
  return reinterpret_cast<complex*>(modes_.data() + static_cast<std::size_t>(at) * transforms_->plane_modes_stride());
}

const complex* mesh_slab::modes(int at) const {
  return reinterpret_cast<const complex*>(modes_.data() +
                                          static_cast<std::size_t>(at) * transforms_->plane_modes_stride());
}

void mesh_slab::clear() {
  std::fill_n(values_.data(), static_cast<std::size_t>(planes_.count) * transforms_->plane_stride(), 0.0);
}

void mesh_slab::add(const mesh_block& block, const double* part) {
  for_each_plane(block, transforms_->points()[2], planes_, [&](std::size_t, int at) {
    double* const to = plane(at - planes_.first);
    for_each_stretch(block, transforms_->points(), [&](std::size_t from, std::size_t point, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to[point + i] += part[from + i];
    });
    part += block.plane_points();
  });
}

void mesh_slab::forward() {
  for (int z = 0; z < planes_.count; ++z) transforms_->plane_forward(plane(z), modes(z));
}

void mesh_slab::copy_rows(const mesh_range& rows, complex* to) const {
  const std::size_t modes_x = transforms_->modes_x();
  for (int y = rows.first; y < rows.first + rows.count; ++y) {
    for (int z = 0; z < planes_.count; ++z) {
      to = std::copy_n(modes(z) + static_cast<std::size_t>(y) * modes_x, modes_x, to);
    }
  }
}

void mesh_slab::set_rows(const mesh_range& rows, const complex* from) {
  const std::size_t modes_x = transforms_->modes_x();
  for (int y = rows.first; y < rows.first + rows.count; ++y) {
    for (int z = 0; z < planes_.count; ++z, from += modes_x) {
      std::copy_n(from, modes_x, modes(z) + static_cast<std::size_t>(y) * modes_x);
    }
  }
}

void mesh_slab::backward() {
  for (int z = 0; z < planes_.count; ++z) transforms_->plane_backward(modes(z), plane(z));
}

void mesh_slab::extract(const mesh_block& block, double* part) const {
  for_each_plane(block, transforms_->points()[2], planes_, [&](std::size_t, int at) {
    const double* const from = plane(at - planes_.first);
    for_each_stretch(block, transforms_->points(), [&](std::size_t to, std::size_t point, std::size_t count) {
      std::copy_n(from + point, count, part + to);
    });
    part += block.plane_points();
  });
}

}  // namespace md
