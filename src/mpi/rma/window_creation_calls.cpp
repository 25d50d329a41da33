// The calls that make and free windows. All ranks agree, by what each of them has to offer, whether a window is ours.
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "arena/window.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/rma/windows.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/session.hpp"
#include "mpi/startup/user_memory.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::mpi {
namespace {

// A rank's contribution to a window, broadcast to all. Addresses are valid in all processes.
struct contribution {
  window_part* part = nullptr;  // null: this rank cannot take part
  window_memory memory;
};

// The state of the calling rank while a window is created. Unused parts are released. The library is called without the
// guard: other threads may have to progress before the other ranks arrive.
class window_creation {
 public:
  window_creation(session& in, MPI_Comm comm) : in_(in), comm_(comm) {
    const call_guard guard(in_);
    const communicator* const known = communicators::find_on_one_host(comm);
    if (known == nullptr || known->size() == 1) return;  // one rank: nothing to gain
    rank_ = static_cast<std::uint32_t>(known->rank);
    all_.resize(static_cast<std::size_t>(known->size()));
  }
  ~window_creation() {
    const call_guard guard(in_);
    if (mine_.part != nullptr) release_window_part(in_.ranks().blocks(), mine_.part);
    if (block_ != nullptr) in_.ranks().blocks().release(block_);
  }
  window_creation(const window_creation&) = delete;
  window_creation& operator=(const window_creation&) = delete;

  bool is_intercepted() const { return !all_.empty(); }
  std::uint32_t rank() const { return rank_; }
  int size() const { return static_cast<int>(all_.size()); }

  /// Memory of the program. False when others cannot access it.
  void offer(void* base, MPI_Aint bytes, MPI_Aint unit) {
    void* const shared = bytes > 0 ? shared_address_of_user_memory(base, static_cast<std::size_t>(bytes)) : nullptr;
    if (bytes < 0 || (bytes > 0 && shared == nullptr)) return;
    offer_part({static_cast<std::byte*>(shared), bytes, unit});
  }
  /// Memory that we allocate.
  void offer_new(MPI_Aint bytes, MPI_Aint unit) {
    if (bytes < 0) return;
    try {
      const call_guard guard(in_);
      block_ = static_cast<std::byte*>(
          in_.ranks().blocks().allocate(std::max<std::size_t>(static_cast<std::size_t>(bytes), 1)));
    } catch (const arena::arena_exhausted&) {
      return;
    }
    offer_part({block_, bytes, unit});
  }
  /// Memory mapped at different addresses in each process; `set_memory` gives the address.
  void offer_part(const window_memory& memory) {
    try {
      const call_guard guard(in_);
      mine_ = {make_window_part(in_.ranks().blocks(), in_.ranks().own(), static_cast<std::uint32_t>(all_.size())),
               memory};
    } catch (const arena::arena_exhausted&) {
      mine_ = {};
    }
  }
  /// Collective: true, for all, if every rank has offered something.
  bool everybody_can() {
    PMPI_Allgather(&mine_, sizeof mine_, MPI_BYTE, all_.data(), sizeof mine_, MPI_BYTE, comm_);
    return std::all_of(all_.begin(), all_.end(), [](const contribution& each) { return each.part != nullptr; });
  }
  /// Collective, too.
  bool everybody(bool fits) const {
    int mine = fits ? 1 : 0, all = 0;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm_);
    return all == 1;
  }
  void set_memory(int rank, const window_memory& memory) { all_[static_cast<std::size_t>(rank)].memory = memory; }
  std::byte* block() const { return block_; }

  void finish(MPI_Win library, int flavor) {
    std::vector<window_part*> parts;
    parts.reserve(all_.size());
    for (const contribution& each : all_) parts.push_back(each.part);
    auto made = std::make_unique<window>(library, flavor, std::move(parts), rank_);
    for (const contribution& each : all_) made->memory.push_back(each.memory);
    made->own_block = std::exchange(block_, nullptr);
    mine_ = {};
    const call_guard guard(in_);
    windows::add(std::move(made));
  }

 private:
  session& in_;
  MPI_Comm comm_;
  std::uint32_t rank_ = 0;
  std::vector<contribution> all_;
  contribution mine_;
  std::byte* block_ = nullptr;
};

// With barriers before its members synchronize in the library.
template <class Library>
int of_library(MPI_Comm comm, const MPI_Win* made, Library&& library) {
  const int number = entry_barriers::take_number(comm);
  const int error = library();
  if (error == MPI_SUCCESS) entry_barriers::add(*made, comm, number);
  return error;
}

template <class Library>
int create(void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Comm comm, MPI_Win* made, Library&& library) {
  if (const int late = entry_barriers::of_members(comm); late != MPI_SUCCESS) return late;
  const int error = of_library(comm, made, library);
  session* const in = session::active();
  if (error != MPI_SUCCESS || in == nullptr) return error;
  window_creation creation(*in, comm);
  if (!creation.is_intercepted()) return error;
  creation.offer(base, bytes, unit);
  if (creation.everybody_can()) creation.finish(*made, MPI_WIN_FLAVOR_CREATE);
  return error;
}

// The library gets a window on memory of ours, so MPI_Win_get_attr must report how it was created.
template <class Library, class Create>
int allocate(MPI_Aint bytes, MPI_Aint unit, MPI_Comm comm, void* base, MPI_Win* made, Library&& library,
             Create&& create_on) {
  session* const in = session::active();
  if (in == nullptr) return library();
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  window_creation creation(*in, comm);
  if (!creation.is_intercepted()) return of_library(comm, made, library);
  creation.offer_new(bytes, unit);
  if (!creation.everybody_can()) return of_library(comm, made, library);
  // Open MPI has no windows on given memory in some configurations in which it allocates.
  MPI_Errhandler usual = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &usual);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const bool is_made = create_on(creation.block()) == MPI_SUCCESS;
  PMPI_Comm_set_errhandler(comm, usual);
  PMPI_Errhandler_free(&usual);
  if (!creation.everybody(is_made)) return of_library(comm, made, library);
  *static_cast<void**>(base) = creation.block();
  creation.finish(*made, MPI_WIN_FLAVOR_ALLOCATE);
  return MPI_SUCCESS;
}

// The memory is the library's, which maps it where it likes in each process.
template <class Library>
int allocate_shared(MPI_Comm comm, MPI_Win* made, Library&& library) {
  if (const int late = entry_barriers::of_members(comm); late != MPI_SUCCESS) return late;
  const int error = of_library(comm, made, library);
  session* const in = session::active();
  if (error != MPI_SUCCESS || in == nullptr) return error;
  window_creation creation(*in, comm);
  if (!creation.is_intercepted()) return error;
  creation.offer_part({});
  if (!creation.everybody_can()) return error;
  for (int rank = 0; rank < creation.size(); ++rank) {
    MPI_Aint size = 0;
    int its_unit = 1;
    void* its_base = nullptr;
    PMPI_Win_shared_query(*made, rank, &size, &its_unit, &its_base);
    creation.set_memory(rank, {static_cast<std::byte*>(its_base), size, its_unit});
  }
  creation.finish(*made, MPI_WIN_FLAVOR_SHARED);
  return error;
}

// Memory attached later is not known yet: some of it may be accessible through the kernel only.
template <class Library>
int create_dynamic(MPI_Comm comm, MPI_Win* made, Library&& library) {
  if (const int late = entry_barriers::of_members(comm); late != MPI_SUCCESS) return late;
  const int error = of_library(comm, made, library);
  session* const in = session::active();
  if (error != MPI_SUCCESS || in == nullptr || !in->ranks().options().kernel_copies) return error;
  window_creation creation(*in, comm);
  if (!creation.is_intercepted()) return error;
  creation.offer_part({});
  if (creation.everybody_can()) creation.finish(*made, MPI_WIN_FLAVOR_DYNAMIC);
  return error;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made) {
  return create(base, bytes, unit, comm, made, [&] { return PMPI_Win_create(base, bytes, unit, info, comm, made); });
}
TRIREME_EXPORTED int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                                      MPI_Win* made) {
  return allocate(
      bytes, unit, comm, base, made, [&] { return PMPI_Win_allocate(bytes, unit, info, comm, base, made); },
      [&](void* block) { return PMPI_Win_create(block, bytes, unit, info, comm, made); });
}
TRIREME_EXPORTED int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                                             MPI_Win* made) {
  return allocate_shared(comm, made, [&] { return PMPI_Win_allocate_shared(bytes, unit, info, comm, base, made); });
}

TRIREME_EXPORTED int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* made) {
  return create_dynamic(comm, made, [&] { return PMPI_Win_create_dynamic(info, comm, made); });
}

TRIREME_EXPORTED int MPI_Win_attach(MPI_Win handle, void* base, MPI_Aint bytes) {
  return on_window(
      handle,
      [&](session& in, window& on) {
        if (on.flavor != MPI_WIN_FLAVOR_DYNAMIC) return MPI_ERR_RMA_FLAVOR;
        if (bytes < 0) return MPI_ERR_SIZE;
        void* const shared = shared_address_of_user_memory(base, static_cast<std::size_t>(bytes));
        try {
          on.ranks.own().attached.attach(in.ranks().blocks(),
                                         {reinterpret_cast<std::uintptr_t>(base), static_cast<std::size_t>(bytes),
                                          static_cast<std::byte*>(shared)});
        } catch (const tri::arena::arena_exhausted&) {
          return MPI_ERR_RMA_ATTACH;
        }
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Win_attach(handle, base, bytes); });
}

TRIREME_EXPORTED int MPI_Win_detach(MPI_Win handle, const void* base) {
  return on_window(
      handle,
      [&](session&, window& on) {
        if (on.flavor != MPI_WIN_FLAVOR_DYNAMIC) return MPI_ERR_RMA_FLAVOR;
        return on.ranks.own().attached.detach(reinterpret_cast<std::uintptr_t>(base)) ? MPI_SUCCESS : MPI_ERR_BASE;
      },
      [&] { return PMPI_Win_detach(handle, base); });
}

#if MPI_VERSION >= 4
TRIREME_EXPORTED int MPI_Win_create_c(void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                                      MPI_Win* made) {
  return create(base, bytes, unit, comm, made, [&] { return PMPI_Win_create_c(base, bytes, unit, info, comm, made); });
}
TRIREME_EXPORTED int MPI_Win_allocate_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                                        MPI_Win* made) {
  return allocate(
      bytes, unit, comm, base, made, [&] { return PMPI_Win_allocate_c(bytes, unit, info, comm, base, made); },
      [&](void* block) { return PMPI_Win_create_c(block, bytes, unit, info, comm, made); });
}
TRIREME_EXPORTED int MPI_Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                                               MPI_Win* made) {
  return allocate_shared(comm, made, [&] { return PMPI_Win_allocate_shared_c(bytes, unit, info, comm, base, made); });
}
#endif

// No accesses are in flight once all have arrived.
TRIREME_EXPORTED int MPI_Win_free(MPI_Win* handle) {
  session* const in = session::active();
  std::unique_ptr<window> gone;
  bool in_use = false;
  if (in != nullptr) {
    const call_guard guard(*in);
    window* const known = windows::find(*handle);
    in_use = known != nullptr && !known->epochs.is_idle();
    if (known != nullptr && !in_use) {
      // Once: where only this rank's delete function has refused, the others wait for it within the library.
      if (!known->all_have_come) known->ranks.barrier([&](auto&& done) { in->ranks().wait(done); });
      gone = windows::remove(*handle);  // before the library gives the handle to another window
    }
  }
  if (in_use) return report_on_window(*handle, MPI_ERR_RMA_SYNC, __func__);
  if (gone == nullptr)
    if (const int error = entry_barriers::of_window(*handle); error != MPI_SUCCESS) return error;
  entry_barriers::remove(*handle);  // so once, too
  const int error = waiting_in_library([&] { return PMPI_Win_free(handle); });
  if (gone == nullptr) return error;
  const call_guard guard(*in);
  if (error != MPI_SUCCESS) {  // a delete function of the program refused: the window lives on, and its memory with it
    gone->all_have_come = true;
    windows::add(std::move(gone));
    return error;
  }
  release_window_part(in->ranks().blocks(), &gone->ranks.own());
  if (gone->own_block != nullptr) in->ranks().blocks().release(gone->own_block);
  return error;
}

TRIREME_EXPORTED int MPI_Win_set_info(MPI_Win handle, MPI_Info info) {
  if (const int error = entry_barriers::of_window(handle); error != MPI_SUCCESS) return error;
  return waiting_in_library([&] { return PMPI_Win_set_info(handle, info); });
}

TRIREME_EXPORTED int MPI_Win_get_attr(MPI_Win handle, int key, void* value, int* is_known) {
  if (key == MPI_WIN_CREATE_FLAVOR) {
    if (session* const in = session::active()) {
      const call_guard guard(*in);
      if (window* const known = windows::find(handle)) {
        *static_cast<void**>(value) = &known->flavor;
        *is_known = 1;
        return MPI_SUCCESS;
      }
    }
  }
  return PMPI_Win_get_attr(handle, key, value, is_known);
}
