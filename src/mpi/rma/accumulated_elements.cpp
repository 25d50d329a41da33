#include "mpi/rma/accumulated_elements.hpp"

#include <array>
#include <unordered_map>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/named_datatypes.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, element_type> known;

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

// The predefined type that a datatype consists of. Parts without elements do not count.
MPI_Datatype predefined_part_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (is_predefined(combiner)) {
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return bytes > 0 ? type : MPI_DATATYPE_NULL;
  }
  std::vector<int> of_integers(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> of_addresses(static_cast<std::size_t>(addresses));
  std::vector<MPI_Datatype> of_types(static_cast<std::size_t>(types));
  PMPI_Type_get_contents(type, integers, addresses, types, of_integers.data(), of_addresses.data(), of_types.data());
  MPI_Datatype found = MPI_DATATYPE_NULL;
  for (MPI_Datatype& each : of_types) {
    if (found == MPI_DATATYPE_NULL) found = predefined_part_of(each);
    PMPI_Type_get_envelope(each, &integers, &addresses, &types, &combiner);
    if (!is_predefined(combiner)) PMPI_Type_free(&each);
  }
  return found;
}

bool is_pair(MPI_Datatype type) {
  for (const MPI_Datatype pair : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                                  MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER})
    if (type == pair && pair != MPI_DATATYPE_NULL) return true;
  return false;
}

element_type describe(MPI_Datatype type) {
  element_type made;
  made.handle = predefined_part_of(type);
  if (made.handle == MPI_DATATYPE_NULL) return made;
  MPI_Count bytes = 0;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_size_x(made.handle, &bytes);
  PMPI_Type_get_extent(made.handle, &lower, &extent);
  made.bytes = static_cast<std::size_t>(bytes);
  made.extent = static_cast<std::size_t>(extent);
  made.is_pair = is_pair(made.handle);
  if (const auto named = named_datatype(made.handle)) made.kind = encode(*named)->kind;
  return made;
}

}  // namespace

const element_type& element_type_of(MPI_Datatype type) {
  const auto found = known.find(abi::word(type));
  if (found != known.end()) return found->second;
  return known.emplace(abi::word(type), describe(type)).first->second;
}

const element_type& accumulated_as(MPI_Datatype type) {
  const element_type& found = element_type_of(type);
  if (found.kind != element_kind::byte && found.kind != element_kind::character) return found;
  return element_type_of(abi::integer_of_bytes(found.handle));
}

void forget_element_type(MPI_Datatype type) { known.erase(abi::word(type)); }

std::optional<reduction> reduction_of(MPI_Op operation) {
  const std::array<std::pair<MPI_Op, reduction>, 14> all = {{{MPI_SUM, reduction::sum},
                                                             {MPI_REPLACE, reduction::replace},
                                                             {MPI_NO_OP, reduction::nothing},
                                                             {MPI_PROD, reduction::product},
                                                             {MPI_MIN, reduction::minimum},
                                                             {MPI_MAX, reduction::maximum},
                                                             {MPI_LAND, reduction::logical_and},
                                                             {MPI_LOR, reduction::logical_or},
                                                             {MPI_LXOR, reduction::logical_xor},
                                                             {MPI_BAND, reduction::bits_and},
                                                             {MPI_BOR, reduction::bits_or},
                                                             {MPI_BXOR, reduction::bits_xor},
                                                             {MPI_MINLOC, reduction::minimum_and_place},
                                                             {MPI_MAXLOC, reduction::maximum_and_place}}};
  for (const auto& [handle, meaning] : all)
    if (handle == operation) return meaning;
  return std::nullopt;
}

}  // namespace tri::mpi
