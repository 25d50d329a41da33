// Arguments of Open MPI's Fortran functions, as C has them: all are pointers; handles are numbers that the library
// translates, and a few addresses have meanings.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/exported.hpp"

namespace tri::mpi::fortran {

using fint = MPI_Fint;

// Our requests as Fortran integers: beyond the indices of the library's handle table.
inline constexpr fint first_own_number = 0x40000000;

inline MPI_Request request_of(fint number) {
  return number >= first_own_number ? abi::own_request(static_cast<std::uint32_t>(number - first_own_number))
                                    : PMPI_Request_f2c(number);
}
inline fint number_of(MPI_Request request) {
  return request != MPI_REQUEST_NULL && abi::is_own(request)
             ? first_own_number + static_cast<fint>(abi::slot_of(request))
             : PMPI_Request_c2f(request);
}
inline MPI_Message message_of(fint number) {
  return number >= first_own_number ? abi::own_message(static_cast<std::uint32_t>(number - first_own_number))
                                    : PMPI_Message_f2c(number);
}
inline fint number_of(MPI_Message message) {
  return message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC && abi::is_own_message(message)
             ? first_own_number + static_cast<fint>(abi::slot_of_message(message))
             : PMPI_Message_c2f(message);
}

// A common block of the Fortran interface whose address has a meaning; null in programs without Fortran.
class meaning {
 public:
  explicit meaning(const char* name) : address_(dlsym(RTLD_DEFAULT, name)) {}
  bool is(const void* argument) const { return argument == address_ && address_ != nullptr; }

 private:
  const void* address_;
};

inline void* buffer_of(void* argument) {
  static const meaning bottom("mpi_fortran_bottom_");
  static const meaning in_place("mpi_fortran_in_place_");
  if (bottom.is(argument)) return MPI_BOTTOM;
  return in_place.is(argument) ? MPI_IN_PLACE : argument;
}

inline bool is_ignored(const fint* statuses) {
  static const meaning one("mpi_fortran_status_ignore_");
  static const meaning several("mpi_fortran_statuses_ignore_");
  return one.is(statuses) || several.is(statuses);
}

// A status, or a row of them, between the two forms.
class statuses_of {
 public:
  explicit statuses_of(fint* fortran, int count = 1)
      : fortran_(is_ignored(fortran) ? nullptr : fortran),
        c_(fortran_ != nullptr ? static_cast<std::size_t>(count) : 0) {
    // Fields that are not written must keep their values: above all MPI_ERROR.
    for (std::size_t i = 0; i < c_.size(); ++i) PMPI_Status_f2c(fortran_ + i * integers, &c_[i]);
  }
  MPI_Status* get() { return fortran_ == nullptr ? MPI_STATUS_IGNORE : c_.data(); }
  MPI_Status* all() { return fortran_ == nullptr ? MPI_STATUSES_IGNORE : c_.data(); }
  void copy_out() {
    for (std::size_t i = 0; i < c_.size(); ++i) PMPI_Status_c2f(&c_[i], fortran_ + i * integers);
  }

 private:
  static constexpr std::size_t integers = sizeof(MPI_Status) / sizeof(fint);
  fint* fortran_;
  std::vector<MPI_Status> c_;
};

class request_list {
 public:
  request_list(fint* numbers, fint count) : numbers_(numbers) {
    for (fint i = 0; i < count; ++i) list_.push_back(request_of(numbers[i]));
  }
  MPI_Request* get() { return list_.data(); }
  void copy_out() {
    for (std::size_t i = 0; i < list_.size(); ++i) numbers_[i] = number_of(list_[i]);
  }

 private:
  fint* numbers_;
  std::vector<MPI_Request> list_;
};

inline MPI_Datatype type_of(const fint* number) { return PMPI_Type_f2c(*number); }
inline MPI_Comm comm_of(const fint* number) { return PMPI_Comm_f2c(*number); }
inline void set(fint* error, int value) {
  if (error != nullptr) *error = value;
}
inline fint truth(int flag) { return flag != 0 ? 1 : 0; }  // gfortran's .true.

}  // namespace tri::mpi::fortran

// Defines mpi_<name>_, ompi_<name>_f and pmpi_<name>_ with these parameters. The module mpi_f08 calls the second, and
// for functions with logical arguments the third.
#define TRIREME_FORTRAN(name, parameters, arguments)                            \
  TRIREME_EXPORTED void mpi_##name##_ parameters;                               \
  TRIREME_EXPORTED void ompi_##name##_f parameters { mpi_##name##_ arguments; } \
  TRIREME_EXPORTED void pmpi_##name##_ parameters { mpi_##name##_ arguments; }  \
  TRIREME_EXPORTED void mpi_##name##_ parameters
