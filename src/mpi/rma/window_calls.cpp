// Synchronization of intercepted windows: fences, locks, posts and starts.
#include <mpi.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/rma/windows.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

using held = access_epochs::held;

auto waiting(session& in) {
  return [&in](auto&& done) { in.ranks().wait(done); };
}

// Accesses are plain loads and stores, and complete when their calls return. This orders them against what follows on
// this rank, so that two ranks that each write and then read the other's memory cannot both miss the write. The other
// side's accesses are ordered by its own fence, or by the lock or counter that notifies it. pairs: window.order
void order_accesses() { std::atomic_thread_fence(std::memory_order_seq_cst); }

// A rank that reads the same again and again waits for another one, which may need this core, or the MPI library's
// attention.
void poll_progress(session& in, window& on) {
  constexpr std::uint32_t reads_between_polls = 64;
  in.ranks().progress();
  const std::uint32_t reads = on.reads.in_a_row();
  in.ranks().polled(reads == 0);
  if (reads > 0 && reads % reads_between_polls == 0) {
    int found = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
}

bool is_target(const window& on, int rank) { return rank == MPI_PROC_NULL || on.has(rank); }

void release(window_part& part, held how) {
  if (how == held::exclusive) part.lock.unlock_exclusive();
  if (how == held::shared) part.lock.unlock_shared();
}

int flush(session& in, window& on) {
  if (!on.epochs.is_passive()) return MPI_ERR_RMA_SYNC;
  order_accesses();
  poll_progress(in, on);
  return MPI_SUCCESS;
}

int flush(session& in, window& on, int rank) {
  if (!is_target(on, rank)) return MPI_ERR_RANK;
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (!on.epochs.is_passive(static_cast<std::uint32_t>(rank))) return MPI_ERR_RMA_SYNC;
  return flush(in, on);
}

// The window's ranks of a group.
std::vector<std::uint32_t> members_of(MPI_Group group, const window& on) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> in_group(static_cast<std::size_t>(size)), in_window(in_group.size());
  std::iota(in_group.begin(), in_group.end(), 0);
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Win_get_group(on.handle, &all);
  PMPI_Group_translate_ranks(group, size, in_group.data(), all, in_window.data());
  PMPI_Group_free(&all);
  return {in_window.begin(), in_window.end()};
}

// A start that knows all posts to have been made: they say the same.
bool has_no_check(int assertion) { return (assertion & MPI_MODE_NOCHECK) != 0; }

bool are_members(const std::vector<std::uint32_t>& ranks, const window& on) {
  for (const std::uint32_t rank : ranks)
    if (!on.has(static_cast<int>(rank))) return false;
  return true;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Win_fence(int assertion, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (!on.epochs.fence((assertion & MPI_MODE_NOSUCCEED) == 0)) return MPI_ERR_RMA_SYNC;
        order_accesses();
        on.ranks.barrier(waiting(in));
        order_accesses();
        return MPI_SUCCESS;
      },
      [&] {
        if (const int error = entry_barriers::of_window(handle); error != MPI_SUCCESS) return error;
        return PMPI_Win_fence(assertion, handle);
      });
}

TRIREME_EXPORTED int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (kind != MPI_LOCK_SHARED && kind != MPI_LOCK_EXCLUSIVE) return MPI_ERR_LOCKTYPE;
        if (!is_target(on, rank)) return MPI_ERR_RANK;
        if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
        const auto target = static_cast<std::uint32_t>(rank);
        const held how = (assertion & MPI_MODE_NOCHECK) != 0 ? held::unchecked
                         : kind == MPI_LOCK_SHARED           ? held::shared
                                                             : held::exclusive;
        if (!on.epochs.lock(target, how)) return MPI_ERR_RMA_SYNC;
        endpoint& self = in.ranks().own();
        if (how == held::exclusive) on.ranks.part(target).lock.lock_exclusive(self, waiting(in));
        if (how == held::shared) on.ranks.part(target).lock.lock_shared(self, waiting(in));
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_lock(kind, rank, assertion, handle); });
}

TRIREME_EXPORTED int MPI_Win_unlock(int rank, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (!is_target(on, rank)) return MPI_ERR_RANK;
        if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
        const auto target = static_cast<std::uint32_t>(rank);
        const held how = on.epochs.unlock(target);
        if (how == held::nothing) return MPI_ERR_RMA_SYNC;
        order_accesses();
        release(on.ranks.part(target), how);
        poll_progress(in, on);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_unlock(rank, handle); });
}

TRIREME_EXPORTED int MPI_Win_lock_all(int assertion, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        const held how = (assertion & MPI_MODE_NOCHECK) != 0 ? held::unchecked : held::shared;
        if (!on.epochs.lock_all(how)) return MPI_ERR_RMA_SYNC;
        if (how == held::unchecked) return MPI_SUCCESS;
        for (std::uint32_t rank = 0; rank < on.ranks.size(); ++rank)
          on.ranks.part(rank).lock.lock_shared(in.ranks().own(), waiting(in));
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_lock_all(assertion, handle); });
}

TRIREME_EXPORTED int MPI_Win_unlock_all(MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        const held how = on.epochs.unlock_all();
        if (how == held::nothing) return MPI_ERR_RMA_SYNC;
        order_accesses();
        for (std::uint32_t rank = 0; rank < on.ranks.size(); ++rank) release(on.ranks.part(rank), how);
        poll_progress(in, on);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_unlock_all(handle); });
}

TRIREME_EXPORTED int MPI_Win_flush(int rank, MPI_Win handle) {
  return on_window(
      handle, [&](session& in, window& on) { return flush(in, on, rank); },
      [&] { return PMPI_Win_flush(rank, handle); });
}
TRIREME_EXPORTED int MPI_Win_flush_local(int rank, MPI_Win handle) {
  return on_window(
      handle, [&](session& in, window& on) { return flush(in, on, rank); },
      [&] { return PMPI_Win_flush_local(rank, handle); });
}
TRIREME_EXPORTED int MPI_Win_flush_all(MPI_Win handle) {
  return on_window(
      handle, [&](session& in, window& on) { return flush(in, on); }, [&] { return PMPI_Win_flush_all(handle); });
}
TRIREME_EXPORTED int MPI_Win_flush_local_all(MPI_Win handle) {
  return on_window(
      handle, [&](session& in, window& on) { return flush(in, on); }, [&] { return PMPI_Win_flush_local_all(handle); });
}

// MPI requires an access epoch here; MPI libraries do not enforce it, and programs that share memory rely on that.
TRIREME_EXPORTED int MPI_Win_sync(MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        order_accesses();
        poll_progress(in, on);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_sync(handle); });
}

TRIREME_EXPORTED int MPI_Win_post(MPI_Group group, int assertion, MPI_Win handle) {
  return on_window(
      handle,
      [&](session&, window& on) {
        if (group == MPI_GROUP_NULL) return MPI_ERR_GROUP;
        const std::vector<std::uint32_t> origins = members_of(group, on);
        if (!are_members(origins, on)) return MPI_ERR_GROUP;
        if (!on.epochs.post()) return MPI_ERR_RMA_SYNC;
        order_accesses();
        on.ranks.post(origins);
        return MPI_SUCCESS;
      },
      [&] {
        const int error = PMPI_Win_post(group, assertion, handle);
        return error != MPI_SUCCESS || has_no_check(assertion) ? error : entry_barriers::posted(handle, group);
      });
}

TRIREME_EXPORTED int MPI_Win_start(MPI_Group group, int assertion, MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (group == MPI_GROUP_NULL) return MPI_ERR_GROUP;
        const std::vector<std::uint32_t> targets = members_of(group, on);
        if (!are_members(targets, on)) return MPI_ERR_GROUP;
        if (!on.epochs.start(targets)) return MPI_ERR_RMA_SYNC;
        on.ranks.start(targets, waiting(in));
        return MPI_SUCCESS;
      },
      [&] {
        if (!has_no_check(assertion))
          if (const int error = entry_barriers::wait_for_posts(handle, group); error != MPI_SUCCESS) return error;
        return PMPI_Win_start(group, assertion, handle);
      });
}

TRIREME_EXPORTED int MPI_Win_complete(MPI_Win handle) {
  return on_window(
      handle,
      [&](session&, window& on) {
        if (!on.epochs.is_started()) return MPI_ERR_RMA_SYNC;
        order_accesses();
        on.ranks.complete(on.epochs.targets());
        on.epochs.complete();
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_complete(handle); });
}

TRIREME_EXPORTED int MPI_Win_wait(MPI_Win handle) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (!on.epochs.is_posted()) return MPI_ERR_RMA_SYNC;
        on.ranks.wait_for_completion(waiting(in));
        on.epochs.exposure_ends();
        order_accesses();
        return MPI_SUCCESS;
      },
      [&] {
        session* const in = session::active();
        if (in == nullptr || !in->must_not_block()) return PMPI_Win_wait(handle);
        const call_guard guard(*in);
        return wait_for_library(*in, [&](int* flag) { return PMPI_Win_test(handle, flag); });
      });
}

TRIREME_EXPORTED int MPI_Win_test(MPI_Win handle, int* flag) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (!on.epochs.is_posted()) return MPI_ERR_RMA_SYNC;
        *flag = on.ranks.all_have_completed() ? 1 : 0;
        in.ranks().polled(*flag != 0);
        if (*flag != 0) {
          on.epochs.exposure_ends();
          order_accesses();
        } else {
          in.ranks().progress();
        }
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_test(handle, flag); });
}
