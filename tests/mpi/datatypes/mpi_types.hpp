// Descriptions of datatypes made with an MPI library, compiled per ABI.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "mpi/datatypes/type_description.hpp"

namespace tri::mpi::test_types {

inline void succeed(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(call) + ": " + text);
}

/// The library does not make this type.
class refused_by_library : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An MPI_Datatype that frees itself unless it is predefined.
class mpi_type {
 public:
  explicit mpi_type(MPI_Datatype handle, bool predefined = false) : handle_(handle), predefined_(predefined) {}
  mpi_type(mpi_type&& other) noexcept : handle_(other.handle_), predefined_(other.predefined_) {
    other.predefined_ = true;
  }
  mpi_type(const mpi_type&) = delete;
  mpi_type& operator=(const mpi_type&) = delete;
  mpi_type& operator=(mpi_type&&) = delete;
  ~mpi_type() {
    if (!predefined_) MPI_Type_free(&handle_);
  }
  MPI_Datatype get() const { return handle_; }
  void commit() {
    if (!predefined_) succeed(MPI_Type_commit(&handle_), "MPI_Type_commit");
  }

 private:
  MPI_Datatype handle_;
  bool predefined_;
};

inline MPI_Datatype mpi_name_of(element_kind kind) {
  switch (kind) {
    case element_kind::byte:
      return MPI_BYTE;
    case element_kind::int8:
      return MPI_SIGNED_CHAR;
    case element_kind::int16:
      return MPI_SHORT;
    case element_kind::int32:
      return MPI_INT;
    case element_kind::int64:
      return MPI_LONG;
    case element_kind::float32:
      return MPI_FLOAT;
    case element_kind::float64:
      return MPI_DOUBLE;
    case element_kind::float80:
      return MPI_LONG_DOUBLE;
    case element_kind::complex_float64:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      throw std::runtime_error("random types have no elements of this kind");
  }
}

inline mpi_type make(const type_description& from) {
  if (from.made_by == constructor::basic) return mpi_type(mpi_name_of(from.kind), true);
  std::vector<mpi_type> parts;
  std::vector<MPI_Datatype> old;
  for (const type_description& part : from.old) {
    parts.push_back(make(part));
    old.push_back(parts.back().get());
  }
  const auto integers = [](const std::vector<std::int64_t>& values) {
    std::vector<int> made;
    for (const std::int64_t value : values) made.push_back(static_cast<int>(value));
    return made;
  };
  const std::vector<int> lengths = integers(from.lengths), places = integers(from.displacements);
  const std::vector<MPI_Aint> addresses(from.displacements.begin(), from.displacements.end());
  const int count = static_cast<int>(from.count), length = static_cast<int>(from.block_length),
            stride = static_cast<int>(from.stride), blocks = static_cast<int>(from.displacements.size());
  const int order = from.order == array_order::c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
            dimensions = static_cast<int>(from.sizes.size());
  const std::vector<int> sizes = integers(from.sizes), subsizes = integers(from.subsizes),
                         starts = integers(from.starts);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  int status = MPI_SUCCESS;
  switch (from.made_by) {
    case constructor::basic:
      break;
    case constructor::contiguous:
      status = MPI_Type_contiguous(count, old[0], &made);
      break;
    case constructor::vector:
      status = MPI_Type_vector(count, length, stride, old[0], &made);
      break;
    case constructor::hvector:
      status = MPI_Type_create_hvector(count, length, from.stride, old[0], &made);
      break;
    case constructor::indexed:
      status = MPI_Type_indexed(blocks, lengths.data(), places.data(), old[0], &made);
      break;
    case constructor::hindexed:
      status = MPI_Type_create_hindexed(blocks, lengths.data(), addresses.data(), old[0], &made);
      break;
    case constructor::indexed_block:
      status = MPI_Type_create_indexed_block(blocks, length, places.data(), old[0], &made);
      break;
    case constructor::hindexed_block:
      status = MPI_Type_create_hindexed_block(blocks, length, addresses.data(), old[0], &made);
      break;
    case constructor::structure:
      status = MPI_Type_create_struct(blocks, lengths.data(), addresses.data(), old.data(), &made);
      break;
    case constructor::subarray:
      status = MPI_Type_create_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(), order, old[0], &made);
      break;
    case constructor::darray: {
      std::vector<int> distributions, arguments = integers(from.arguments), grid = integers(from.grid);
      for (const distribution how : from.distributions)
        distributions.push_back(how == distribution::block    ? MPI_DISTRIBUTE_BLOCK
                                : how == distribution::cyclic ? MPI_DISTRIBUTE_CYCLIC
                                                              : MPI_DISTRIBUTE_NONE);
      for (int& argument : arguments)
        if (argument == default_argument) argument = MPI_DISTRIBUTE_DFLT_DARG;
      status = MPI_Type_create_darray(static_cast<int>(from.processes), static_cast<int>(from.rank), dimensions,
                                      sizes.data(), distributions.data(), arguments.data(), grid.data(), order, old[0],
                                      &made);
      break;
    }
    case constructor::resized:
      status = MPI_Type_create_resized(old[0], from.lower_bound, from.extent, &made);
      break;
    case constructor::dup:
      status = MPI_Type_dup(old[0], &made);
      break;
  }
  if (status == MPI_ERR_TYPE) throw refused_by_library(to_text(from));
  succeed(status, to_text(from).c_str());
  return mpi_type(made);
}

}  // namespace tri::mpi::test_types
