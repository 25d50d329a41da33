#include "mpi/comm/communicator_hints.hpp"

#include <array>
#include <string_view>

#include "mpi/abi/exported.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::communicator_hints {
namespace {

constexpr const char* key = "post_comm_access";

struct named_order {
  const char* name;
  touch_order order;
};
constexpr std::array<named_order, 3> orders = {
    {{"lo-to-hi", touch_order::low_first}, {"hi-to-lo", touch_order::high_first}, {"random", touch_order::unknown}}};

}  // namespace

std::optional<touch_order> in(MPI_Info info) {
  if (info == MPI_INFO_NULL) return std::nullopt;
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  if (PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found) != MPI_SUCCESS || found == 0)
    return std::nullopt;
  for (const named_order& each : orders)
    if (std::string_view(value.data()) == each.name) return each.order;
  return std::nullopt;
}

void set(MPI_Comm comm, touch_order touched) {
  session* const active = session::active();
  if (active == nullptr) return;
  const call_guard guard(*active);
  if (communicator* const known = communicators::find_any(comm)) known->touched = touched;
}

}  // namespace tri::mpi::communicator_hints

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int error = PMPI_Comm_set_info(comm, info);
  if (error != MPI_SUCCESS) return error;
  if (const auto touched = communicator_hints::in(info)) communicator_hints::set(comm, *touched);
  return error;
}

// The hints in use: this is how a program checks whether its hint was understood.
TRIREME_EXPORTED int MPI_Comm_get_info(MPI_Comm comm, MPI_Info* used) {
  const int error = PMPI_Comm_get_info(comm, used);
  session* const active = session::active();
  if (error != MPI_SUCCESS || active == nullptr) return error;
  const call_guard guard(*active);
  const communicator* const known = communicators::find_any(comm);
  if (known == nullptr) return error;
  for (const auto& each : communicator_hints::orders)
    if (each.order == known->touched) PMPI_Info_set(*used, communicator_hints::key, each.name);
  return error;
}
