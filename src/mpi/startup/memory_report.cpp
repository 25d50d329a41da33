#include "mpi/startup/memory_report.hpp"

#include "mpi/abi/exported.hpp"
#include "mpi/heap/user_heap.hpp"
#include "mpi/startup/user_memory.hpp"

TRIREME_EXPORTED tri::mpi::memory_report trireme_mpi_memory_report() {
  tri::mpi::start_user_heap();
  const tri::mpi::user_heap_state& heap = tri::mpi::user_heap();
  return {heap.reason, heap.static_data_reason, &tri::mpi::shared_address_of_user_memory};
}
