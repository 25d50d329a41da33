#include "mpi/datatypes/named_datatypes.hpp"

#include <cstdint>
#include <vector>

#ifdef OMPI_MAJOR_VERSION
// Its library has the markers for programs that were built long ago; its header may hide them.
extern "C" {
__attribute__((weak)) extern struct ompi_predefined_datatype_t ompi_mpi_lb;
__attribute__((weak)) extern struct ompi_predefined_datatype_t ompi_mpi_ub;
}
#endif

namespace tri::mpi {
namespace {

// The meaning of a name. The sizes of Fortran numbers, and of C numbers whose size the compiler chooses, come from the
// library; long double differs from a quadruple REAL by name only.
enum class meaning {
  byte,
  packed,
  character,
  wide_character,
  boolean,
  integer,
  unsigned_integer,
  logical,
  real,
  complex,
  long_double,
  complex_long_double,
  lower_marker,
  upper_marker,
};

struct name {
  MPI_Datatype handle;
  meaning means;
};

// Names that a library or its Fortran compiler lacks are not defined, or are MPI_DATATYPE_NULL.
const std::vector<name>& names() {
  static const std::vector<name> all = {
      {MPI_BYTE, meaning::byte},
      {MPI_PACKED, meaning::packed},
      {MPI_CHAR, meaning::character},
      {MPI_SIGNED_CHAR, meaning::integer},
      {MPI_UNSIGNED_CHAR, meaning::unsigned_integer},
      {MPI_WCHAR, meaning::wide_character},
      {MPI_SHORT, meaning::integer},
      {MPI_UNSIGNED_SHORT, meaning::unsigned_integer},
      {MPI_INT, meaning::integer},
      {MPI_UNSIGNED, meaning::unsigned_integer},
      {MPI_LONG, meaning::integer},
      {MPI_UNSIGNED_LONG, meaning::unsigned_integer},
      {MPI_LONG_LONG_INT, meaning::integer},
      {MPI_UNSIGNED_LONG_LONG, meaning::unsigned_integer},
      {MPI_FLOAT, meaning::real},
      {MPI_DOUBLE, meaning::real},
      {MPI_LONG_DOUBLE, meaning::long_double},
      {MPI_C_BOOL, meaning::boolean},
      {MPI_INT8_T, meaning::integer},
      {MPI_INT16_T, meaning::integer},
      {MPI_INT32_T, meaning::integer},
      {MPI_INT64_T, meaning::integer},
      {MPI_UINT8_T, meaning::unsigned_integer},
      {MPI_UINT16_T, meaning::unsigned_integer},
      {MPI_UINT32_T, meaning::unsigned_integer},
      {MPI_UINT64_T, meaning::unsigned_integer},
      {MPI_AINT, meaning::integer},
      {MPI_OFFSET, meaning::integer},
      {MPI_COUNT, meaning::integer},
      {MPI_C_FLOAT_COMPLEX, meaning::complex},
      {MPI_C_DOUBLE_COMPLEX, meaning::complex},
      {MPI_C_LONG_DOUBLE_COMPLEX, meaning::complex_long_double},
      {MPI_CXX_BOOL, meaning::boolean},
      {MPI_CXX_FLOAT_COMPLEX, meaning::complex},
      {MPI_CXX_DOUBLE_COMPLEX, meaning::complex},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, meaning::complex_long_double},
      {MPI_CHARACTER, meaning::character},
      {MPI_LOGICAL, meaning::logical},
      {MPI_INTEGER, meaning::integer},
      {MPI_REAL, meaning::real},
      {MPI_DOUBLE_PRECISION, meaning::real},
      {MPI_COMPLEX, meaning::complex},
      {MPI_DOUBLE_COMPLEX, meaning::complex},
#ifdef MPI_INTEGER1
      {MPI_INTEGER1, meaning::integer},
#endif
#ifdef MPI_INTEGER2
      {MPI_INTEGER2, meaning::integer},
#endif
#ifdef MPI_INTEGER4
      {MPI_INTEGER4, meaning::integer},
#endif
#ifdef MPI_INTEGER8
      {MPI_INTEGER8, meaning::integer},
#endif
#ifdef MPI_INTEGER16
      {MPI_INTEGER16, meaning::integer},
#endif
#ifdef MPI_LOGICAL1
      {MPI_LOGICAL1, meaning::logical},
#endif
#ifdef MPI_LOGICAL2
      {MPI_LOGICAL2, meaning::logical},
#endif
#ifdef MPI_LOGICAL4
      {MPI_LOGICAL4, meaning::logical},
#endif
#ifdef MPI_LOGICAL8
      {MPI_LOGICAL8, meaning::logical},
#endif
#ifdef MPI_REAL2
      {MPI_REAL2, meaning::real},
#endif
#ifdef MPI_REAL4
      {MPI_REAL4, meaning::real},
#endif
#ifdef MPI_REAL8
      {MPI_REAL8, meaning::real},
#endif
#ifdef MPI_REAL16
      {MPI_REAL16, meaning::real},
#endif
#ifdef MPI_COMPLEX4
      {MPI_COMPLEX4, meaning::complex},
#endif
#ifdef MPI_COMPLEX8
      {MPI_COMPLEX8, meaning::complex},
#endif
#ifdef MPI_COMPLEX16
      {MPI_COMPLEX16, meaning::complex},
#endif
#ifdef MPI_COMPLEX32
      {MPI_COMPLEX32, meaning::complex},
#endif
// MPI-3 removed the markers; libraries that still support older programs have them.
#ifdef OMPI_MAJOR_VERSION
      {OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb), meaning::lower_marker},
      {OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub), meaning::upper_marker},
#elif defined(MPI_LB)
      {MPI_LB, meaning::lower_marker},
      {MPI_UB, meaning::upper_marker},
#endif
  };
  return all;
}

// Value and index, as the reductions MPI_MINLOC and MPI_MAXLOC have them.
struct pair {
  MPI_Datatype handle;
  MPI_Datatype value;
  MPI_Datatype index;
};
const std::vector<pair>& pairs() {
  static const std::vector<pair> all = {
      {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
      {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
      {MPI_LONG_INT, MPI_LONG, MPI_INT},
      {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
      {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
      {MPI_2INT, MPI_INT, MPI_INT},
      {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
      {MPI_2REAL, MPI_REAL, MPI_REAL},
      {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
#ifdef MPI_2COMPLEX
      {MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX},
      {MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX},
#endif
  };
  return all;
}

std::optional<element_kind> kind_of(const name& what) {
  int bytes = 0;
  PMPI_Type_size(what.handle, &bytes);
  switch (what.means) {
    case meaning::byte:
      return element_kind::byte;
    case meaning::packed:
      return element_kind::packed;
    case meaning::character:
      return element_kind::character;
    case meaning::wide_character:
      return element_kind::wide_character;
    case meaning::boolean:
      return element_kind::boolean;
    case meaning::integer:
      return kind_of(number_class::integer, bytes);
    case meaning::unsigned_integer:
      return kind_of(number_class::unsigned_integer, bytes);
    case meaning::logical:
      return kind_of(number_class::logical, bytes);
    case meaning::real:
      return kind_of(number_class::real, bytes);
    case meaning::complex:
      return kind_of(number_class::complex, bytes);
    case meaning::long_double:
      return element_kind::float80;
    case meaning::complex_long_double:
      return element_kind::complex_float80;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<element_kind> kind_of(number_class what, int bytes) {
  const auto one_of = [&](element_kind first, int smallest, int number) -> std::optional<element_kind> {
    for (int i = 0; i < number; ++i)
      if (smallest << i == bytes) return static_cast<element_kind>(static_cast<int>(first) + i);
    return std::nullopt;
  };
  switch (what) {
    case number_class::integer:
      return one_of(element_kind::int8, 1, 5);
    case number_class::unsigned_integer:
      return one_of(element_kind::uint8, 1, 4);
    case number_class::logical:
      return one_of(element_kind::logical8, 1, 4);
    case number_class::real:
      return bytes == 16 ? std::optional(element_kind::float128) : one_of(element_kind::float16, 2, 3);
    case number_class::complex:
      return bytes == 32 ? std::optional(element_kind::complex_float128) : one_of(element_kind::complex_float16, 4, 3);
  }
  return std::nullopt;
}

std::optional<datatype> named_datatype(MPI_Datatype handle) {
  if (handle == MPI_DATATYPE_NULL) return std::nullopt;
  for (const name& one : names()) {
    if (one.handle != handle) continue;
    if (one.means == meaning::lower_marker) return datatype::lower_marker();
    if (one.means == meaning::upper_marker) return datatype::upper_marker();
    const std::optional<element_kind> kind = kind_of(one);
    if (!kind) return std::nullopt;
    return datatype::basic(*kind);
  }
  for (const pair& one : pairs()) {
    if (one.handle != handle) continue;
    const std::optional<datatype> value = named_datatype(one.value), index = named_datatype(one.index);
    if (!value || !index) return std::nullopt;
    const std::int64_t alignment = index->alignment();
    const std::int64_t place = (value->extent() + alignment - 1) / alignment * alignment;
    const std::vector<std::int64_t> lengths = {1, 1}, places = {0, place};
    return datatype::structure(lengths, places, std::vector{*value, *index});
  }
  return std::nullopt;
}

}  // namespace tri::mpi
