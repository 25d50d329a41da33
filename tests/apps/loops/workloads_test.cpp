// Sweep, finite elements and Fourier transform (K94): the same bits by every schedule, and the values of other code for
// the same problem; a wrong result is found.
#include <map>
#include <set>
#include <stdexcept>

#include "every_method.hpp"
#include "grids/spectral.hpp"
#include "grids/transport_sweep.hpp"
#include "sparse/finite_elements.hpp"

namespace kernels {
namespace {

template <class Kernel>
void expect_wrong_is_found(Kernel& of) {
  of.run_serial();
  of.reset();
  method how("static");
  of.run(how);
  test::expect_right(of);
  of.run(how);  // goes on from there
  EXPECT_FALSE(of.check().front().right) << of.problem();
}

TEST(transport_sweep, has_the_bits_of_the_serial_program_by_every_schedule) {
  for (const transport_sweep_size& size : {transport_sweep_size{1, 2}, {2, 3}, {9, 2}, {4, 0}}) {
    transport_sweep box(size);
    test::expect_same_with_every_method(box);
  }
  transport_sweep box({7, 2});
  expect_wrong_is_found(box);
}

TEST(finite_elements, agrees_with_the_assembled_matrix_by_every_schedule) {
  for (const finite_elements_size& size : {finite_elements_size{1, 3}, {12, 4}}) {
    finite_elements mesh(size);
    test::expect_same_with_every_method(mesh);
  }
  finite_elements mesh({6, 20});
  expect_wrong_is_found(mesh);
}

TEST(finite_elements, has_a_mesh_without_order) {
  const finite_elements mesh({20, 0});
  ASSERT_EQ(mesh.elements().size(), 800u);
  std::set<std::uint32_t> vertices;
  std::map<std::uint32_t, int> uses;
  int near = 0;
  for (const auto& element : mesh.elements()) {
    vertices.insert(element.begin(), element.end());
    for (const std::uint32_t vertex : element) ++uses[vertex];
    near += element[0] + 22 > element[1] && element[1] + 22 > element[0] ? 1 : 0;
  }
  EXPECT_EQ(vertices.size(), 441u);
  EXPECT_LT(near, 150) << "neighbours lie anywhere";
  std::set<int> numbers;
  for (const auto& [vertex, count] : uses) numbers.insert(count);
  EXPECT_GE(numbers.size(), 5u) << "vertices have different numbers of elements";
}

TEST(spectral, agrees_with_the_definition_by_every_schedule) {
  for (const spectral_size& size : {spectral_size{1, 1}, {8, 3}, {32, 2}}) {
    spectral field(size);
    test::expect_same_with_every_method(field);
  }
  spectral field({16, 1});
  expect_wrong_is_found(field);
}

TEST(workloads, sizes_that_make_no_problem_are_refused) {
  EXPECT_THROW(transport_sweep({0, 1}), std::invalid_argument);
  EXPECT_THROW(transport_sweep({3, -1}), std::invalid_argument);
  EXPECT_THROW(finite_elements({0, 1}), std::invalid_argument);
  EXPECT_THAT(
      [] {
        spectral({24, 1});
      },
      testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr("a power of two, such as 32")));
}

}  // namespace
}  // namespace kernels
