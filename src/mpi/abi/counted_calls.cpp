#include "mpi/abi/counted_calls.hpp"

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "mpi/abi/abi.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"

namespace tri::mpi {
namespace {

// MPI's own name, the program's name, or the number of ranks. The library has no name for an invalid handle.
std::string name_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return "no communicator";
  if (comm == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  if (comm == MPI_COMM_SELF) return "MPI_COMM_SELF";
  const communicator* const known = communicators::find_any(comm);
  if (known == nullptr) return "of the library";
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  if (length > 0) return name;
  if (known->is_inter())
    return std::to_string(known->own_group_size) + " and " + std::to_string(known->size()) + " ranks";
  return known->size() == 1 ? "1 rank" : std::to_string(known->size()) + " ranks";
}

// For a call passed to the library: the criteria by which the calls themselves decide, in the same order.
left_because reason_of(const counted_call& call) {
  if (call.is_on_window) return left_because::window;
  const communicator* const known = communicators::find_any(call.comm);
  if (known != nullptr && known->is_inter()) return left_because::inter_communicator;
  if (known != nullptr && known->spans_hosts()) return left_because::another_host;
  if (known == nullptr) {
    int is_inter = 0;
    if (call.comm == MPI_COMM_NULL) return left_because::arguments;
    PMPI_Comm_test_inter(call.comm, &is_inter);
    return is_inter != 0 ? left_because::inter_communicator : left_because::communicator;
  }
  const std::string_view name = call.name;
  const bool reduces =
      name.find("educe") != name.npos || name.find("scan") != name.npos || name.find("Scan") != name.npos;
  return reduces ? left_because::reduction : left_because::arguments;
}

size_class size_of(const counted_call& call) {
  if (call.count < 0 || call.type == MPI_DATATYPE_NULL) return size_class::none;
  const buffer_type& type = datatypes::find(call.type);
  return type.is_valid ? size_class_of(static_cast<std::uint64_t>(call.count) * type.bytes) : size_class::none;
}

// One that is freed may leave its handle to another: then that is counted with it, unless it is ours.
using key = std::tuple<const char*, std::uint64_t, size_class, left_because>;
std::map<key, call_count*>& places() {
  static auto& all = *new std::map<key, call_count*>;
  return all;
}

}  // namespace

// With the call guard.
void counted_calls::add(const counted_call& call, bool is_intercepted) {
  add(call, is_intercepted ? left_because::intercepted : reason_of(call));
}
void counted_calls::add(const counted_call& call, left_because reason) {
  const size_class size = size_of(call);
  const communicator* const known = call.is_on_window ? nullptr : communicators::find_any(call.comm);
  const std::uint64_t context = known != nullptr ? known->context : 0;
  const auto [place, is_new] = places().try_emplace({call.name, context, size, reason}, nullptr);
  if (is_new) place->second = counts->add(call.name, call.is_on_window ? "windows" : name_of(call.comm), size, reason);
  if (place->second != nullptr)
    ++place->second->times;
  else
    ++counts->not_counted;
}

}  // namespace tri::mpi
