// See mesh_transforms.hpp. Plans are estimated, never measured: a measured plan could be another one in another
// process, with other roundings.
#include "md/electrostatics/mesh_transforms.hpp"

#include <fftw3.h>

#include <mutex>
#include <new>

namespace md {
namespace {

// Only fftw_execute may be called by two threads at once.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

fftw_complex* raw(complex* values) { return reinterpret_cast<fftw_complex*>(values); }

}  // namespace

bool have_mesh_transforms() { return true; }

struct mesh_transforms::plans {
  fftw_plan plane_forward = nullptr;
  fftw_plan plane_backward = nullptr;
  fftw_plan row_forward = nullptr;
  fftw_plan row_backward = nullptr;

  plans(const int3& points, std::size_t values_size, std::size_t modes_size, std::size_t row_size) {
    mesh_memory values(values_size);
    mesh_memory modes(modes_size > row_size ? modes_size : row_size);
    auto* const transformed = reinterpret_cast<fftw_complex*>(modes.data());
    const int modes_x = points[0] / 2 + 1;
    const std::lock_guard lock(planner());
    plane_forward = fftw_plan_dft_r2c_2d(points[1], points[0], values.data(), transformed, FFTW_ESTIMATE);
    plane_backward = fftw_plan_dft_c2r_2d(points[1], points[0], transformed, values.data(), FFTW_ESTIMATE);
    const auto row = [&](int sign) {
      return fftw_plan_many_dft(1, &points[2], modes_x, transformed, nullptr, modes_x, 1, transformed, nullptr, modes_x,
                                1, sign, FFTW_ESTIMATE);
    };
    row_forward = row(FFTW_FORWARD);
    row_backward = row(FFTW_BACKWARD);
    if (plane_forward == nullptr || plane_backward == nullptr || row_forward == nullptr || row_backward == nullptr) {
      destroy();
      throw std::bad_alloc();  // FFTW has plans for every size, so only memory can be missing
    }
  }
  ~plans() {
    const std::lock_guard lock(planner());
    destroy();
  }
  plans(const plans&) = delete;
  plans& operator=(const plans&) = delete;

  void destroy() const {
    for (const fftw_plan each : {plane_forward, plane_backward, row_forward, row_backward}) {
      if (each != nullptr) fftw_destroy_plan(each);
    }
  }
};

mesh_transforms::mesh_transforms(const int3& points) : points_(points) {
  plans_ = std::make_unique<plans>(points, plane_stride(), plane_modes_stride(), row_stride());
}

mesh_transforms::~mesh_transforms() = default;

void mesh_transforms::plane_forward(double* values, complex* modes) const {
  fftw_execute_dft_r2c(plans_->plane_forward, values, raw(modes));
}
void mesh_transforms::plane_backward(complex* modes, double* values) const {
  fftw_execute_dft_c2r(plans_->plane_backward, raw(modes), values);
}
void mesh_transforms::row_forward(complex* row) const { fftw_execute_dft(plans_->row_forward, raw(row), raw(row)); }
void mesh_transforms::row_backward(complex* row) const { fftw_execute_dft(plans_->row_backward, raw(row), raw(row)); }

}  // namespace md
