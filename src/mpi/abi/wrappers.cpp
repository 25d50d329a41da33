#include "mpi/abi/wrappers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "os/dynamic_section.hpp"

namespace tri::mpi {
namespace {

// Calls that send, receive, or take a request or a window: these must not be split between the drop-in and the library.
constexpr std::array functions{"MPI_Send",
                               "MPI_Isend",
                               "MPI_Bsend",
                               "MPI_Ibsend",
                               "MPI_Ssend",
                               "MPI_Issend",
                               "MPI_Rsend",
                               "MPI_Irsend",
                               "MPI_Recv",
                               "MPI_Irecv",
                               "MPI_Sendrecv",
                               "MPI_Send_init",
                               "MPI_Recv_init",
                               "MPI_Start",
                               "MPI_Startall",
                               "MPI_Probe",
                               "MPI_Iprobe",
                               "MPI_Mprobe",
                               "MPI_Improbe",
                               "MPI_Mrecv",
                               "MPI_Imrecv",
                               "MPI_Wait",
                               "MPI_Waitall",
                               "MPI_Waitany",
                               "MPI_Waitsome",
                               "MPI_Test",
                               "MPI_Testall",
                               "MPI_Testany",
                               "MPI_Testsome",
                               "MPI_Request_free",
                               "MPI_Cancel",
                               "MPI_Barrier",
                               "MPI_Bcast",
                               "MPI_Reduce",
                               "MPI_Allreduce",
                               "MPI_Gather",
                               "MPI_Gatherv",
                               "MPI_Scatter",
                               "MPI_Scatterv",
                               "MPI_Allgather",
                               "MPI_Allgatherv",
                               "MPI_Alltoall",
                               "MPI_Alltoallv",
                               "MPI_Ibarrier",
                               "MPI_Ibcast",
                               "MPI_Ireduce",
                               "MPI_Iallreduce",
                               "MPI_Iallgather",
                               "MPI_Ialltoall",
                               "MPI_Scan",
                               "MPI_Exscan",
                               "MPI_Iscan",
                               "MPI_Iexscan",
                               "MPI_Reduce_scatter",
                               "MPI_Reduce_scatter_block",
                               "MPI_Ireduce_scatter",
                               "MPI_Ireduce_scatter_block",
                               "MPI_Win_create",
                               "MPI_Win_allocate",
                               "MPI_Win_free",
                               "MPI_Win_fence",
                               "MPI_Win_lock",
                               "MPI_Win_unlock",
                               "MPI_Put",
                               "MPI_Get",
                               "MPI_Accumulate",
                               "MPI_Fetch_and_op"};

const char own_object = 0;

struct question {
  ElfW(Addr) base;
  std::string name;
  bool is_used;
};
int look(dl_phdr_info* object, std::size_t, void* argument) {
  auto& asked = *static_cast<question*>(argument);
  const auto base = reinterpret_cast<const void*>(asked.base);
  // A program that is not position-independent is loaded at 0, but begins elsewhere.
  Dl_info itself{};
  if (object->dlpi_phnum == 0 || dladdr(object->dlpi_phdr, &itself) == 0 || itself.dli_fbase != base) return 0;
  os::dynamic_section(*object).for_each_wanted(
      [&](std::string_view wanted, const ElfW(Sym)&) { asked.is_used |= wanted == asked.name; });
  return 1;
}

// Whether the object that begins there calls this function of another one.
bool uses(const void* base, const std::string& function) {
  question asked{reinterpret_cast<ElfW(Addr)>(base), function, false};
  dl_iterate_phdr(&look, &asked);
  return asked.is_used;
}

}  // namespace

std::optional<wrapper> wrapper_in_front() {
  Dl_info own{};
  if (dladdr(&own_object, &own) == 0) return std::nullopt;
  for (const char* const function : functions) {
    void* const first = dlsym(RTLD_DEFAULT, function);
    Dl_info found{};
    if (first == nullptr || dladdr(first, &found) == 0 || found.dli_fbase == own.dli_fbase) continue;
    // A wrapper that calls the next definition (RTLD_NEXT) reaches us.
    if (!uses(found.dli_fbase, std::string("P") + function)) continue;
    return wrapper{function, found.dli_fname != nullptr ? found.dli_fname : "?"};
  }
  return std::nullopt;
}

}  // namespace tri::mpi
