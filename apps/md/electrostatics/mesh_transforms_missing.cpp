// The transforms of a program that was built without FFTW: see mesh_transforms.hpp.
#include <stdexcept>

#include "md/electrostatics/mesh_transforms.hpp"

namespace md {

bool have_mesh_transforms() { return false; }

struct mesh_transforms::plans {};

mesh_transforms::mesh_transforms(const int3& points) : points_(points) {
  throw std::runtime_error("particle-mesh Ewald needs FFTW, which this program was built without");
}
mesh_transforms::~mesh_transforms() = default;

void mesh_transforms::plane_forward(double*, complex*) const {}
void mesh_transforms::plane_backward(complex*, double*) const {}
void mesh_transforms::row_forward(complex*) const {}
void mesh_transforms::row_backward(complex*) const {}

}  // namespace md
