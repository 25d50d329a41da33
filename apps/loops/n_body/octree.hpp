// The tree of Barnes and Hut (Nature 324, 1986): cubes that hold bodies, each cut into eight until few bodies are left,
// with mass and centre of mass. Built by one thread; read by any number.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace kernels {

using vector3 = std::array<double, 3>;

struct bodies {
  std::vector<vector3> position;
  std::vector<vector3> velocity;
  std::vector<double> mass;
  std::size_t size() const { return mass.size(); }
};

/// `count` bodies of total mass 1 distributed like Plummer's model of a star cluster (half of the mass within 1.3
/// units, some far outside), at rest in the mean, in the order of a curve through space. The same for the same seed
/// anywhere.
bodies plummer_cluster(std::uint32_t count, std::uint64_t seed);

class octree {
 public:
  struct node {
    vector3 centre_of_mass{};
    double mass = 0.0;
    double width = 0.0;             ///< edge of the cube
    std::uint32_t first_child = 0;  ///< children are contiguous; 0: none
    std::uint32_t children = 0;
    std::uint32_t first_body = 0;  ///< in order()
    std::uint32_t last_body = 0;
  };

  void build(const bodies& of);
  const std::vector<node>& nodes() const { return nodes_; }  ///< the root first
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  void divide(std::uint32_t number, const vector3& centre, const bodies& of, int depth);

  std::vector<node> nodes_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> sorted_;
};

/// The acceleration of body `self` from all others; cubes that look smaller than `theta` (edge by distance) count as
/// points. Softened: bodies that meet do not fly apart.
vector3 acceleration(const octree& tree, const bodies& of, std::uint32_t self, double theta);

/// What `mass` at distance `delta` adds.
inline void attract(vector3& sum, const vector3& delta, double mass, double inverse_distance) {
  const double factor = mass * inverse_distance * inverse_distance * inverse_distance;
  for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += factor * delta[axis];
}
inline constexpr double softening_squared = 1e-4;

}  // namespace kernels
