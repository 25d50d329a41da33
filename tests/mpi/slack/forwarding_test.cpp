// The layer that measures waits in MPI, before an MPI library made for the test: every argument arrives as it was
// given, the result comes back, and each blocking call is reported once, under its name and with its number of
// elements.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "omp/slack_entry.h"

namespace {

using testing::ElementsAreArray;

using word = std::uint64_t;
std::vector<word> arrived;
struct report {
  std::string operation;
  std::uint64_t count;
  double nanoseconds;
};
std::vector<report> reports;
int depth_seen = 0;

template <class... Words>
int arrive(Words... words) {
  arrived = {words...};
  return 77;
}

}  // namespace

#define PUBLIC extern "C" [[gnu::visibility("default")]]

PUBLIC void trireme_slack_waited(const char* operation, uint64_t count, double nanoseconds) {
  reports.push_back({operation, count, nanoseconds});
}

// The profiling names of an MPI library.
PUBLIC int PMPI_Barrier(word a) { return arrive(a); }
PUBLIC int PMPI_Wait(word a, word b) { return arrive(a, b); }
PUBLIC int PMPI_Waitall(word a, word b, word c) { return arrive(a, b, c); }
PUBLIC int PMPI_Probe(word a, word b, word c, word d) { return arrive(a, b, c, d); }
PUBLIC int PMPI_Bcast(word a, word b, word c, word d, word e) { return arrive(a, b, c, d, e); }
PUBLIC int PMPI_Allreduce(word a, word b, word c, word d, word e, word f) { return arrive(a, b, c, d, e, f); }
PUBLIC int PMPI_Recv(word a, word b, word c, word d, word e, word f, word g) { return arrive(a, b, c, d, e, f, g); }
PUBLIC int PMPI_Gather(word a, word b, word c, word d, word e, word f, word g, word h) {
  return arrive(a, b, c, d, e, f, g, h);
}
PUBLIC int PMPI_Alltoallv(word a, word b, word c, word d, word e, word f, word g, word h, word i) {
  return arrive(a, b, c, d, e, f, g, h, i);
}
PUBLIC int PMPI_Sendrecv(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k,
                         word l) {
  return arrive(a, b, c, d, e, f, g, h, i, j, k, l);
}
// A Fortran binding that calls the C function, as that of MPICH does.
PUBLIC int MPI_Allreduce(word a, word b, word c, word d, word e, word f);
PUBLIC void pmpi_allreduce_(word a, word, word c, word d, word e, word f, word error) {
  ++depth_seen;
  EXPECT_EQ(MPI_Allreduce(a, 3, c, d, e, f), 77);
  arrived.push_back(error);
}
PUBLIC void pmpi_sendrecv_(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k,
                           word l, word error) {
  arrive(a, b, c, d, e, f, g, h, i, j, k, l, error);
}

// What the layer puts in front of them.
PUBLIC int MPI_Barrier(word);
PUBLIC int MPI_Wait(word, word);
PUBLIC int MPI_Waitall(word, word, word);
PUBLIC int MPI_Probe(word, word, word, word);
PUBLIC int MPI_Bcast(word, word, word, word, word);
PUBLIC int MPI_Recv(word, word, word, word, word, word, word);
PUBLIC int MPI_Gather(word, word, word, word, word, word, word, word);
PUBLIC int MPI_Alltoallv(word, word, word, word, word, word, word, word, word);
PUBLIC int MPI_Sendrecv(word, word, word, word, word, word, word, word, word, word, word, word);
PUBLIC int MPI_Ssend(word, word, word, word, word, word);
PUBLIC void mpi_allreduce_(word, word, word, word, word, word, word);
PUBLIC void mpi_sendrecv_(word, word, word, word, word, word, word, word, word, word, word, word, word);

namespace {

// Words that differ in every half, as pointers do.
constexpr word at(std::size_t place) { return 0x1111222233330000u + 0x0000000100000001u * place; }

template <class... Words, std::size_t... Place>
int call_with_places(int (*function)(Words...), std::index_sequence<Place...>) {
  return function(at(Place)...);
}

// `count_place`: of the number of elements, from 1 on; 0: the call has none.
template <class... Words>
void expect_call(int (*function)(Words...), const char* name, std::size_t count_place) {
  std::vector<word> given;
  for (std::size_t place = 0; place < sizeof...(Words); ++place) given.push_back(at(place));
  reports.clear();
  EXPECT_EQ(call_with_places(function, std::index_sequence_for<Words...>{}), 77) << name;
  EXPECT_EQ(arrived, given) << name;
  ASSERT_EQ(reports.size(), 1u) << name;
  EXPECT_EQ(reports[0].operation, name);
  EXPECT_GE(reports[0].nanoseconds, 0.0);
  const std::uint64_t count = count_place == 0 ? 0 : static_cast<std::uint32_t>(given[count_place - 1]);
  EXPECT_EQ(reports[0].count, count) << name;
}

TEST(mpi_calls, pass_on_every_argument_and_are_reported_once) {
  expect_call(&MPI_Barrier, "MPI_Barrier", 0);
  expect_call(&MPI_Wait, "MPI_Wait", 0);
  expect_call(&MPI_Waitall, "MPI_Waitall", 1);
  expect_call(&MPI_Probe, "MPI_Probe", 0);
  expect_call(&MPI_Bcast, "MPI_Bcast", 2);
  expect_call(&MPI_Allreduce, "MPI_Allreduce", 3);
  expect_call(&MPI_Recv, "MPI_Recv", 2);
  expect_call(&MPI_Gather, "MPI_Gather", 2);
  expect_call(&MPI_Alltoallv, "MPI_Alltoallv", 0);
  expect_call(&MPI_Sendrecv, "MPI_Sendrecv", 2);
}

TEST(mpi_calls, of_fortran_are_reported_once_even_if_the_binding_calls_the_c_function) {
  reports.clear();
  const std::int32_t count = 12;
  const auto pointer = reinterpret_cast<word>(&count);
  mpi_allreduce_(at(1), at(2), pointer, at(4), at(5), at(6), at(7));
  EXPECT_EQ(depth_seen, 1);
  EXPECT_THAT(arrived, ElementsAreArray({at(1), word{3}, pointer, at(4), at(5), at(6), at(7)}));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].operation, "MPI_Allreduce");
  EXPECT_EQ(reports[0].count, 12u);
  reports.clear();
  mpi_sendrecv_(at(1), pointer, at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13));
  EXPECT_THAT(arrived, ElementsAreArray({at(1), pointer, at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10),
                                         at(11), at(12), at(13)}));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].count, 12u);
}

TEST(mpi_calls_death, a_function_that_the_library_lacks_ends_the_program_with_its_name) {
  EXPECT_EXIT(MPI_Ssend(0, 0, 0, 0, 0, 0), testing::ExitedWithCode(127),
              "the program calls MPI_Ssend, but no MPI library that is loaded has PMPI_Ssend");
}

}  // namespace
