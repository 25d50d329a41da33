// The blocking calls of MPI by their C and Fortran names: each is timed and forwarded under its profiling name. This
// code is independent of the types of an MPI implementation. Every argument of these functions is an integer of at most
// 64 bits or a pointer, so it is passed in one register or one 8-byte stack slot, and is forwarded unchanged; that
// holds for MPICH, whose handles are integers, and for Open MPI, whose handles are pointers (64-bit x86 and Arm on
// Linux). Fortran (names as gfortran and flang make them): all arguments are pointers, with the error code as one more.
#include <cstdint>
#include <utility>

#include "mpi/slack/wait_time_reports.hpp"

static_assert(sizeof(void*) == 8, "arguments are passed on as 8-byte words");

namespace {

using word = std::uint64_t;

template <std::size_t>
using a_word = word;
template <class Result, std::size_t... Index>
auto function_of(std::index_sequence<Index...>) -> Result (*)(a_word<Index>...);

template <class Result, class... Words>
Result pass_on(tri::mpi_slack::profiled_function& profiled, const char* operation, std::int64_t count, Words... words) {
  using exact = decltype(function_of<Result>(std::make_index_sequence<sizeof...(Words)>{}));
  const tri::mpi_slack::blocking_call timed(operation, count);
  return reinterpret_cast<exact>(profiled.get())(words...);
}

// An `int` in the lower half of its word; in Fortran behind a pointer.
std::int64_t count_in(word argument) { return static_cast<std::int32_t>(argument); }
std::int64_t count_behind(word argument) {
  return argument != 0 ? *reinterpret_cast<const std::int32_t*>(argument) : 0;  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

#define TRIREME_WORDS_1 word w1
#define TRIREME_PASSED_1 w1
#define TRIREME_WORDS_2 word w1, word w2
#define TRIREME_PASSED_2 w1, w2
#define TRIREME_WORDS_3 word w1, word w2, word w3
#define TRIREME_PASSED_3 w1, w2, w3
#define TRIREME_WORDS_4 word w1, word w2, word w3, word w4
#define TRIREME_PASSED_4 w1, w2, w3, w4
#define TRIREME_WORDS_5 word w1, word w2, word w3, word w4, word w5
#define TRIREME_PASSED_5 w1, w2, w3, w4, w5
#define TRIREME_WORDS_6 word w1, word w2, word w3, word w4, word w5, word w6
#define TRIREME_PASSED_6 w1, w2, w3, w4, w5, w6
#define TRIREME_WORDS_7 word w1, word w2, word w3, word w4, word w5, word w6, word w7
#define TRIREME_PASSED_7 w1, w2, w3, w4, w5, w6, w7
#define TRIREME_WORDS_8 word w1, word w2, word w3, word w4, word w5, word w6, word w7, word w8
#define TRIREME_PASSED_8 w1, w2, w3, w4, w5, w6, w7, w8
#define TRIREME_WORDS_9 word w1, word w2, word w3, word w4, word w5, word w6, word w7, word w8, word w9
#define TRIREME_PASSED_9 w1, w2, w3, w4, w5, w6, w7, w8, w9
#define TRIREME_WORDS_10 word w1, word w2, word w3, word w4, word w5, word w6, word w7, word w8, word w9, word w10
#define TRIREME_PASSED_10 w1, w2, w3, w4, w5, w6, w7, w8, w9, w10
#define TRIREME_WORDS_12 \
  word w1, word w2, word w3, word w4, word w5, word w6, word w7, word w8, word w9, word w10, word w11, word w12
#define TRIREME_PASSED_12 w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12
#define TRIREME_WORDS_13                                                                                         \
  word w1, word w2, word w3, word w4, word w5, word w6, word w7, word w8, word w9, word w10, word w11, word w12, \
      word w13
#define TRIREME_PASSED_13 w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13

// Name in C, name in Fortran, arguments in C and in Fortran, number of elements (where it is known from one argument).
#define TRIREME_BLOCKING(name, fortran, c_arguments, fortran_arguments, c_count, fortran_count) \
  TRIREME_PUBLIC int MPI_##name(TRIREME_WORDS_##c_arguments) {                                  \
    static tri::mpi_slack::profiled_function profiled("PMPI_" #name);                           \
    return pass_on<int>(profiled, "MPI_" #name, c_count, TRIREME_PASSED_##c_arguments);         \
  }                                                                                             \
  TRIREME_PUBLIC void mpi_##fortran##_(TRIREME_WORDS_##fortran_arguments) {                     \
    static tri::mpi_slack::profiled_function profiled("pmpi_" #fortran "_");                    \
    pass_on<void>(profiled, "MPI_" #name, fortran_count, TRIREME_PASSED_##fortran_arguments);   \
  }

TRIREME_BLOCKING(Recv, recv, 7, 8, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Send, send, 6, 7, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Ssend, ssend, 6, 7, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Rsend, rsend, 6, 7, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Bsend, bsend, 6, 7, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Sendrecv, sendrecv, 12, 13, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Sendrecv_replace, sendrecv_replace, 9, 10, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Mrecv, mrecv, 5, 6, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Probe, probe, 4, 5, 0, 0)
TRIREME_BLOCKING(Mprobe, mprobe, 5, 6, 0, 0)
TRIREME_BLOCKING(Wait, wait, 2, 3, 0, 0)
TRIREME_BLOCKING(Waitall, waitall, 3, 4, count_in(w1), count_behind(w1))
TRIREME_BLOCKING(Waitany, waitany, 4, 5, count_in(w1), count_behind(w1))
TRIREME_BLOCKING(Waitsome, waitsome, 5, 6, count_in(w1), count_behind(w1))
TRIREME_BLOCKING(Barrier, barrier, 1, 2, 0, 0)
TRIREME_BLOCKING(Bcast, bcast, 5, 6, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Reduce, reduce, 7, 8, count_in(w3), count_behind(w3))
TRIREME_BLOCKING(Allreduce, allreduce, 6, 7, count_in(w3), count_behind(w3))
TRIREME_BLOCKING(Scan, scan, 6, 7, count_in(w3), count_behind(w3))
TRIREME_BLOCKING(Exscan, exscan, 6, 7, count_in(w3), count_behind(w3))
TRIREME_BLOCKING(Gather, gather, 8, 9, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Gatherv, gatherv, 9, 10, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Scatter, scatter, 8, 9, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Scatterv, scatterv, 9, 10, 0, 0)
TRIREME_BLOCKING(Allgather, allgather, 7, 8, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Allgatherv, allgatherv, 8, 9, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Alltoall, alltoall, 7, 8, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Alltoallv, alltoallv, 9, 10, 0, 0)
TRIREME_BLOCKING(Alltoallw, alltoallw, 9, 10, 0, 0)
TRIREME_BLOCKING(Reduce_scatter, reduce_scatter, 6, 7, 0, 0)
TRIREME_BLOCKING(Reduce_scatter_block, reduce_scatter_block, 6, 7, count_in(w3), count_behind(w3))
TRIREME_BLOCKING(Neighbor_allgather, neighbor_allgather, 7, 8, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Neighbor_allgatherv, neighbor_allgatherv, 8, 9, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Neighbor_alltoall, neighbor_alltoall, 7, 8, count_in(w2), count_behind(w2))
TRIREME_BLOCKING(Neighbor_alltoallv, neighbor_alltoallv, 9, 10, 0, 0)
TRIREME_BLOCKING(Neighbor_alltoallw, neighbor_alltoallw, 9, 10, 0, 0)
TRIREME_BLOCKING(Win_fence, win_fence, 2, 3, 0, 0)
TRIREME_BLOCKING(Win_wait, win_wait, 1, 2, 0, 0)
TRIREME_BLOCKING(Win_complete, win_complete, 1, 2, 0, 0)
TRIREME_BLOCKING(Win_start, win_start, 3, 4, 0, 0)
TRIREME_BLOCKING(Win_lock, win_lock, 4, 5, 0, 0)
TRIREME_BLOCKING(Win_unlock, win_unlock, 2, 3, 0, 0)
TRIREME_BLOCKING(Win_flush, win_flush, 2, 3, 0, 0)
TRIREME_BLOCKING(Win_unlock_all, win_unlock_all, 1, 2, 0, 0)
