// The forms of one collective call: blocking, nonblocking, persistent. All have one body, an expression that uses `in`,
// `known` and `how` (a session, a communicator, a completion). For sources that define MPI's functions.
#pragma once

#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/persistent_collective.hpp"

#define TRIREME_LIST(...) __VA_ARGS__

// Not every library has them. `captures`: the types that a request of the communicator `of` keeps.
#define TRIREME_PERSISTENT_FORM(prefix, name, parameters, arguments, size, captures, body)                            \
  extern "C" [[gnu::weak]] int P##prefix##_##name(TRIREME_LIST parameters, MPI_Info info, MPI_Request* request);      \
  TRIREME_EXPORTED int prefix##_##name(TRIREME_LIST parameters, MPI_Info info, MPI_Request* request) {                \
    return collectives::persistent(                                                                                   \
        comm, request,                                                                                                \
        [&]([[maybe_unused]] communicator& of, [[maybe_unused]] collectives::kept_types& kept) {                      \
          return [= TRIREME_LIST captures](session& in, communicator& known, const completion& how) { return body; }; \
        },                                                                                                            \
        [&] { return P##prefix##_##name(TRIREME_LIST arguments, info, request); }, TRIREME_LIST size);                \
  }

// Open MPI 4.1 has them as an extension, with another prefix; the drop-in serves Open MPI 5 as well.
#if defined(OPEN_MPI)
#define TRIREME_PERSISTENT_FORMS(name, parameters, arguments, size, captures, body) \
  TRIREME_PERSISTENT_FORM(MPIX, name, parameters, arguments, size, captures, body)  \
  TRIREME_PERSISTENT_FORM(MPI, name, parameters, arguments, size, captures, body)
#else
#define TRIREME_PERSISTENT_FORMS(name, parameters, arguments, size, captures, body) \
  TRIREME_PERSISTENT_FORM(MPI, name, parameters, arguments, size, captures, body)
#endif

// `size`: (count, type) of the statistics.
#define TRIREME_COLLECTIVE(name, nonblocking_name, suffix, parameters, arguments, size, captures, body)       \
  TRIREME_EXPORTED int MPI_##name##suffix(TRIREME_LIST parameters) {                                          \
    const completion how;                                                                                     \
    return collective(                                                                                        \
        comm, true, [&](session& in, communicator& known) { return body; },                                   \
        [&] { return PMPI_##name##suffix arguments; }, TRIREME_LIST size);                                    \
  }                                                                                                           \
  TRIREME_EXPORTED int MPI_##nonblocking_name##suffix(TRIREME_LIST parameters, MPI_Request* request) {        \
    const completion how(request);                                                                            \
    return collective(                                                                                        \
        comm, false, [&](session& in, communicator& known) { return body; },                                  \
        [&] { return PMPI_##nonblocking_name##suffix(TRIREME_LIST arguments, request); }, TRIREME_LIST size); \
  }                                                                                                           \
  TRIREME_PERSISTENT_FORMS(name##_init##suffix, parameters, arguments, size, captures, body)
