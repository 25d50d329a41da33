// An MPI program that calls global arrays between its own MPI calls, and without an MPI library the same with
// collectives of a team in place of MPI's. Arguments: the ranks, the hosts, and none|single|serialized|multiple, what
// MPI is initialized with.
#ifdef TRIREME_MPI_ABI
#include <mpi.h>
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/check.hpp"
#include "trireme/arrays.hpp"
#include "trireme/init.hpp"

namespace tri::testing {
namespace {

int ranks = 0;

#ifdef TRIREME_MPI_ABI
int initialize_mpi(int argc, char** argv, std::string_view level) {
  if (level == "single") return MPI_Init(&argc, &argv);
  int provided = 0;
  return MPI_Init_thread(&argc, &argv, level == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED, &provided);
}

/// Ranks in the order of PEs.
MPI_Comm by_pe() {
  MPI_Comm made = MPI_COMM_NULL;
  check_equal(MPI_Comm_split(MPI_COMM_WORLD, 0, this_pe(), &made), MPI_SUCCESS);
  int size = 0, rank = 0;
  MPI_Comm_size(made, &size);
  MPI_Comm_rank(made, &rank);
  check_equal(size, pe_count());
  check_equal(rank, this_pe());
  return made;
}

// What goes by messages of MPI and what is got from the array are the same; tiles are buffers of MPI.
void the_same_by_messages(MPI_Comm comm) {
  constexpr std::int64_t length = 300;
  const global_array<double, 2> a({ranks, length}, tiles(1, length)), b({ranks, length}, tiles(1, length));
  const int next = (this_pe() + 1) % ranks, before = (this_pe() + ranks - 1) % ranks;
  const auto tile_of = [](const global_array<double, 2>& array) { return (*array.own_tiles().begin()).data(); };
  for (int round = 0; round < 20; ++round) {
    for_each_own(a, [&](const position<2>& at, double& element) {
      element = static_cast<double>(at[0] * 1000 + at[1] + round);
    });
    barrier().get();
    MPI_Sendrecv(tile_of(a), length, MPI_DOUBLE, next, round, tile_of(b), length, MPI_DOUBLE, before, round, comm,
                 MPI_STATUS_IGNORE);
    std::vector<double> got(length);
    a.get({{before, 0}, {before + 1, length}}, got.data()).get();
    for (std::int64_t i = 0; i < length; ++i) check_equal(double{b(this_pe(), i)}, got[static_cast<std::size_t>(i)]);
    barrier().get();
    b.put({{next, 0}, {next + 1, length}}, got.data()).get();
    barrier().get();
    check_equal(double{b(this_pe(), 7)}, double((this_pe() + 2 * ranks - 2) % ranks) * 1000 + 7 + round);
    barrier().get();
  }
  a.free().get();
  b.free().get();
}

void sums_of_both(MPI_Comm comm) {
  const global_array<std::int64_t, 1> sums(position<1>(1));
  std::int64_t tickets = 0;
  for (int round = 1; round <= 50; ++round) {
    tickets += sums(0).fetch_add(1);
    if (round % 10 != 0) continue;
    barrier().get();  // or a rank that waits in MPI would have to serve one that still draws
    std::int64_t all = 0;
    MPI_Allreduce(&tickets, &all, 1, MPI_INT64_T, MPI_SUM, comm);
    const std::int64_t drawn = std::int64_t{ranks} * round;
    check_equal(all, drawn * (drawn - 1) / 2);
    barrier().get();
  }
  sums.free().get();
}

// The last rank waits for a message of MPI that rank 0 sends only after it has got an element of the last rank.
void progress_while_mpi_waits(MPI_Comm comm) {
  const global_array<int, 1> a(position<1>(ranks), tiles(1));
  a(this_pe()) = 100 + this_pe();
  barrier().get();
  const int last = ranks - 1;
  int value = 0;
  if (this_pe() == last && last != 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, 0, 5, comm, &request);
    progress_until([&] {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    check_equal(value, 100 + last);
  } else if (this_pe() == 0) {
    value = a(last);
    if (last != 0) MPI_Send(&value, 1, MPI_INT, last, 5, comm);
  }
  barrier().get();
  a.free().get();
}
#endif

void a_barrier() {
#ifdef TRIREME_MPI_ABI
  MPI_Barrier(MPI_COMM_WORLD);
#else
  team::world().barrier().get();
#endif
}

void everywhere() {
  const global_array<std::int64_t, 1> a(position<1>(10 * ranks), tiles(3));
  for (std::int64_t i = this_pe(); i < a.size(); i += ranks) a(i) = i * i;
  barrier().get();
  a_barrier();  // of MPI, after which arrays work as before
  for (std::int64_t i = 0; i < a.size(); ++i) {
    check_equal(std::int64_t{a(i)}, i * i);
    if (i % 7 == 0) progress();
  }
  barrier().get();
  a.free().get();
}

void run(int argc, char** argv) {
  check_throws<std::logic_error>([] { (void)finalize(); }, "");
  init(argc, argv);
  ranks = std::atoi(argv[1]);
  check_equal(argc, 4);  // what was ours is gone
  check_equal(pe_count(), ranks);
  check_equal(pes_per_process(), 1);
  check_equal(sched::this_pe().job().hosts(), std::atoi(argv[2]));
  check_throws<std::logic_error>([] { init(); }, "is in a job already");
  everywhere();
#ifdef TRIREME_MPI_ABI
  MPI_Comm comm = by_pe();
  the_same_by_messages(comm);
  sums_of_both(comm);
  progress_while_mpi_waits(comm);
  MPI_Comm_free(&comm);
#endif
  const int pe = this_pe();
  check_equal(finalize(), 0);
#ifdef TRIREME_MPI_ABI
  int all = 0;  // MPI goes on
  MPI_Allreduce(&pe, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check_equal(all, ranks * (ranks - 1) / 2);
#endif
  if (pe == 0) std::printf("arrays between calls of MPI: ok\n");
}

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  try {
#ifdef TRIREME_MPI_ABI
    if (tri::testing::initialize_mpi(argc, argv, argv[3]) != MPI_SUCCESS) return 1;
#endif
    tri::testing::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
#ifdef TRIREME_MPI_ABI
    MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    return 1;
  }
#ifdef TRIREME_MPI_ABI
  MPI_Finalize();
#endif
  return 0;
}
