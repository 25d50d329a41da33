#include "mpi/datatypes/read_datatype.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpi/datatypes/named_datatypes.hpp"

namespace tri::mpi {
namespace {

std::string name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_get_name(type, name, &length) != MPI_SUCCESS || length == 0)
    return "without a name";
  return fmt::format("'{}'", name);
}

[[noreturn]] void refuse(MPI_Datatype type, const std::string& why) {
  throw unsupported_datatype(fmt::format("the datatype {} {}", name_of(type), why));
}

// The arguments that a datatype was made with, in the order of its constructor. MPI returns them sorted by type; where
// counts may be large (MPI-4), counts and displacements of such types are in an array of their own.
class constructor_arguments {
 public:
  explicit constructor_arguments(MPI_Datatype type) {
#if MPI_VERSION >= 4
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    if (PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner_) != MPI_SUCCESS)
      refuse(type, "has no envelope");
    if (combiner_ == MPI_COMBINER_NAMED) return;
    resize(integers, addresses, counts, types);
    std::vector<MPI_Count> large(counts_.size());
    if (PMPI_Type_get_contents_c(type, integers, addresses, counts, types, integers_.data(), addresses_.data(),
                                 large.data(), types_.data()) != MPI_SUCCESS)
      refuse(type, "cannot be decoded (MPI_Type_get_contents failed)");
    counts_.assign(large.begin(), large.end());
#else
    int integers = 0, addresses = 0, types = 0;
    if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner_) != MPI_SUCCESS)
      refuse(type, "has no envelope");
    if (combiner_ == MPI_COMBINER_NAMED) return;
    resize(integers, addresses, 0, types);
    if (PMPI_Type_get_contents(type, integers, addresses, types, integers_.data(), addresses_.data(), types_.data()) !=
        MPI_SUCCESS)
      refuse(type, "cannot be decoded (MPI_Type_get_contents failed)");
#endif
  }
  // Handles of derived types must be released by us; predefined ones must not.
  ~constructor_arguments() {
    for (MPI_Datatype& type : types_) {
      if (type == MPI_DATATYPE_NULL) continue;
      int integers = 0, addresses = 0, types = 0, combiner = 0;
#if MPI_VERSION >= 4
      MPI_Count large_integers = 0, large_addresses = 0, counts = 0, large_types = 0;
      PMPI_Type_get_envelope_c(type, &large_integers, &large_addresses, &counts, &large_types, &combiner);
      static_cast<void>(integers + addresses + types);
#else
      PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
      if (!predefined(combiner)) PMPI_Type_free(&type);
    }
  }
  constructor_arguments(const constructor_arguments&) = delete;
  constructor_arguments& operator=(const constructor_arguments&) = delete;

  static bool predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }

  int combiner() const { return combiner_; }
  const std::vector<MPI_Datatype>& types() const { return types_; }

  std::int64_t integer() { return integers_.at(next_integer_++); }
  std::int64_t count() { return counts_.empty() ? integer() : counts_.at(next_count_++); }
  // In bytes. Calls of MPI-1 from Fortran had integers for them.
  std::int64_t displacement() {
    if (!counts_.empty()) return count();
    return addresses_.empty() ? integer() : static_cast<std::int64_t>(addresses_.at(next_address_++));
  }
  template <std::int64_t (constructor_arguments::*Next)()>
  std::vector<std::int64_t> several(std::int64_t number) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(number));
    for (std::int64_t& value : values) value = (this->*Next)();
    return values;
  }
  std::vector<std::int64_t> integers(std::int64_t number) { return several<&constructor_arguments::integer>(number); }
  std::vector<std::int64_t> counts(std::int64_t number) { return several<&constructor_arguments::count>(number); }
  std::vector<std::int64_t> displacements(std::int64_t number) {
    return several<&constructor_arguments::displacement>(number);
  }

 private:
  template <class Number>
  void resize(Number integers, Number addresses, Number counts, Number types) {
    integers_.resize(static_cast<std::size_t>(integers));
    addresses_.resize(static_cast<std::size_t>(addresses));
    counts_.resize(static_cast<std::size_t>(counts));
    types_.resize(static_cast<std::size_t>(types), MPI_DATATYPE_NULL);
  }

  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<std::int64_t> counts_;
  std::vector<MPI_Datatype> types_;
  std::size_t next_integer_ = 0;
  std::size_t next_address_ = 0;
  std::size_t next_count_ = 0;
};

array_order order_of(std::int64_t order) { return order == MPI_ORDER_FORTRAN ? array_order::fortran : array_order::c; }

// What MPI_Type_create_f90_* returned: numbers of the requested precision.
datatype fortran_number(MPI_Datatype type, constructor_arguments& arguments) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  const int combiner = arguments.combiner();
  const std::int64_t digits = arguments.integer();
  constexpr std::int64_t digits_of_extended = 18;
  if (combiner == MPI_COMBINER_F90_REAL && bytes == 16 && digits <= digits_of_extended)
    return datatype::basic(element_kind::float80);
  if (combiner == MPI_COMBINER_F90_COMPLEX && bytes == 32 && digits <= digits_of_extended)
    return datatype::basic(element_kind::complex_float80);
  const number_class what = combiner == MPI_COMBINER_F90_REAL      ? number_class::real
                            : combiner == MPI_COMBINER_F90_COMPLEX ? number_class::complex
                                                                   : number_class::integer;
  const std::optional<element_kind> kind = kind_of(what, bytes);
  if (!kind) refuse(type, fmt::format("is a Fortran number of {} bytes, which this machine does not have", bytes));
  return datatype::basic(*kind);
}

class reader {
 public:
  datatype read(MPI_Datatype type) {
    // A type that occurs twice is read once, if the library returns the same handle for it (Open MPI makes copies). A
    // handle means the same all the while, since none is released before the end.
    if (const auto known = read_.find(type); known != read_.end()) return known->second;
    datatype made = construct(type);
    MPI_Count bytes = 0, lower_bound = 0, extent = 0;
    PMPI_Type_size_x(type, &bytes);
    PMPI_Type_get_extent_x(type, &lower_bound, &extent);
    if (static_cast<std::uint64_t>(bytes) != made.size())
      refuse(type,
             fmt::format("has {} bytes according to the MPI library, but {} by its description", bytes, made.size()));
    // A marker's bound follows from its displacement, not from the library's answer.
    if (!made.is_marker()) made = made.with_bounds(lower_bound, extent);
    return read_.emplace(type, std::move(made)).first->second;
  }

 private:
  datatype construct(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) refuse(type, "is MPI_DATATYPE_NULL");
    constructor_arguments& arguments = *opened_.emplace_back(std::make_unique<constructor_arguments>(type));
    const auto old = [&] { return read(arguments.types().at(0)); };
    switch (arguments.combiner()) {
      case MPI_COMBINER_NAMED: {
        const std::optional<datatype> named = named_datatype(type);
        if (!named) refuse(type, "is predefined by the MPI library, but not known here");
        return *named;
      }
      case MPI_COMBINER_F90_REAL:
      case MPI_COMBINER_F90_COMPLEX:
      case MPI_COMBINER_F90_INTEGER:
        return fortran_number(type, arguments);
      case MPI_COMBINER_DUP:
        return old();
      case MPI_COMBINER_CONTIGUOUS:
        return datatype::contiguous(arguments.count(), old());
      case MPI_COMBINER_VECTOR: {
        const std::int64_t count = arguments.count(), length = arguments.count(), stride = arguments.count();
        return datatype::vector(count, length, stride, old());
      }
      case MPI_COMBINER_HVECTOR: {
        const std::int64_t count = arguments.count(), length = arguments.count();
        return datatype::hvector(count, length, arguments.displacement(), old());
      }
      case MPI_COMBINER_INDEXED: {
        const std::int64_t count = arguments.count();
        const std::vector<std::int64_t> lengths = arguments.counts(count);
        return datatype::indexed(lengths, arguments.counts(count), old());
      }
      case MPI_COMBINER_HINDEXED: {
        const std::int64_t count = arguments.count();
        const std::vector<std::int64_t> lengths = arguments.counts(count);
        return datatype::hindexed(lengths, arguments.displacements(count), old());
      }
      case MPI_COMBINER_INDEXED_BLOCK: {
        const std::int64_t count = arguments.count(), length = arguments.count();
        return datatype::indexed_block(length, arguments.counts(count), old());
      }
      case MPI_COMBINER_HINDEXED_BLOCK: {
        const std::int64_t count = arguments.count(), length = arguments.count();
        return datatype::hindexed_block(length, arguments.displacements(count), old());
      }
      case MPI_COMBINER_STRUCT: {
        const std::int64_t count = arguments.count();
        const std::vector<std::int64_t> lengths = arguments.counts(count);
        const std::vector<std::int64_t> displacements = arguments.displacements(count);
        std::vector<datatype> types;
        for (const MPI_Datatype part : arguments.types()) types.push_back(read(part));
        return datatype::structure(lengths, displacements, types);
      }
      case MPI_COMBINER_SUBARRAY:
        return subarray(arguments);
      case MPI_COMBINER_DARRAY:
        return darray(arguments);
      case MPI_COMBINER_RESIZED: {
        const std::int64_t lower_bound = arguments.displacement();
        return datatype::resized(old(), lower_bound, arguments.displacement());
      }
      default:
        refuse(type, fmt::format("was made in a way that is not known here (combiner {})", arguments.combiner()));
    }
  }

  datatype subarray(constructor_arguments& arguments) {
    const std::int64_t dimensions = arguments.integer();
    const std::vector<std::int64_t> sizes = arguments.counts(dimensions), subsizes = arguments.counts(dimensions),
                                    starts = arguments.counts(dimensions);
    return datatype::subarray(sizes, subsizes, starts, order_of(arguments.integer()), read(arguments.types().at(0)));
  }

  datatype darray(constructor_arguments& arguments) {
    const std::int64_t processes = arguments.integer(), rank = arguments.integer(), dimensions = arguments.integer();
    const std::vector<std::int64_t> sizes = arguments.counts(dimensions);
    std::vector<distribution> distributions;
    for (const std::int64_t how : arguments.integers(dimensions))
      distributions.push_back(how == MPI_DISTRIBUTE_BLOCK    ? distribution::block
                              : how == MPI_DISTRIBUTE_CYCLIC ? distribution::cyclic
                                                             : distribution::none);
    std::vector<std::int64_t> distribution_arguments = arguments.integers(dimensions);
    for (std::int64_t& argument : distribution_arguments)
      if (argument == MPI_DISTRIBUTE_DFLT_DARG) argument = default_argument;
    const std::vector<std::int64_t> grid = arguments.integers(dimensions);
    return datatype::darray(processes, rank, sizes, distributions, distribution_arguments, grid,
                            order_of(arguments.integer()), read(arguments.types().at(0)));
  }

  std::map<MPI_Datatype, datatype> read_;
  std::vector<std::unique_ptr<constructor_arguments>> opened_;
};

}  // namespace

datatype read_datatype(MPI_Datatype type) {
  try {
    return reader().read(type);
  } catch (const std::invalid_argument& error) {
    refuse(type, fmt::format("cannot be described: {}", error.what()));
  } catch (const std::overflow_error& error) {
    refuse(type, fmt::format("cannot be described: {}", error.what()));
  }
}

}  // namespace tri::mpi
