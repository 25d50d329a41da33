# What the project uses from elsewhere, and the parts of the product that can be left out. Nothing is left out silently: what
# is missing ends the configuration, all of it in one message, with the Debian packages (scripts/deps.sh build installs them)
# and, for a part, with the option that leaves it out. `trireme info` lists the parts: TRIREME_PARTS are its rows, in C++
# (tools/trireme/build_parts.cpp.in).
#
# trireme_missing(<found> <what> PACKAGES <Debian packages> [OPTION <option>])
#   If the variable <found> is false, <what> is missing.
# trireme_check_missing()
#   Ends the configuration if anything was missing.
# trireme_part(<name> DETAIL <text> [OPTION <option>] [LOADED <file>])
#   One row of TRIREME_PARTS. LOADED is the library that is not there where the part was not built.
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  message(FATAL_ERROR "Trireme needs a processor with 64-bit addresses; those of this compiler have ${CMAKE_SIZEOF_VOID_P} bytes")
endif()

option(TRIREME_WITH_OPENMPI "the MPI drop-in for programs of Open MPI, and messages between hosts through it" ON)
option(TRIREME_WITH_MPICH "the MPI drop-in for programs of MPICH, and messages between hosts through it" ON)
option(TRIREME_WITH_PMIX "programs can be started by mpirun of Open MPI and by srun" ON)

# What is installed, upgraded or removed shows in the next build, which then configures again.
if(EXISTS /var/lib/dpkg/status)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS /var/lib/dpkg/status)
endif()
# CMake looks again for what it did not find, but keeps what it once found: forget the programs and modules that are gone.
get_cmake_property(cached CACHE_VARIABLES)
foreach(variable IN LISTS cached)
  get_property(type CACHE ${variable} PROPERTY TYPE)
  if((type STREQUAL "FILEPATH" AND IS_ABSOLUTE "${${variable}}" AND NOT EXISTS "${${variable}}")
     OR variable MATCHES "^__pkg_config_checked_")
    unset(${variable} CACHE)
  endif()
endforeach()

set(TRIREME_MISSING "")
function(trireme_missing found what)
  cmake_parse_arguments(ARG "" "OPTION" "PACKAGES" ${ARGN})
  if(${found})
    return()
  endif()
  list(JOIN ARG_PACKAGES " " packages)
  set(line "  ${what} (Debian: ${packages})")
  if(ARG_OPTION)
    string(APPEND line ", or leave it out with -D${ARG_OPTION}=OFF")
  endif()
  set(TRIREME_MISSING "${TRIREME_MISSING}${line}\n" PARENT_SCOPE)
endfunction()

set(TRIREME_PARTS "")
function(trireme_part name)
  cmake_parse_arguments(ARG "" "DETAIL;OPTION;LOADED" "" ${ARGN})
  set(built true)
  if(ARG_OPTION AND NOT ${ARG_OPTION})
    set(built false)
    string(APPEND ARG_DETAIL "; switched off by ${ARG_OPTION}=OFF when this was built")
  elseif(ARG_LOADED AND NOT TRIREME_SANITIZE STREQUAL "")
    set(built false)
    string(APPEND ARG_DETAIL "; no part of builds with TRIREME_SANITIZE=${TRIREME_SANITIZE}")
  endif()
  set(TRIREME_PARTS "${TRIREME_PARTS}  {\"${name}\", ${built}, \"${ARG_DETAIL}\", \"${ARG_LOADED}\"},\n" PARENT_SCOPE)
endfunction()

function(trireme_check_missing)
  if(TRIREME_MISSING)
    message(FATAL_ERROR "Trireme cannot be built here. What is missing:\n${TRIREME_MISSING}"
      "On Debian, `scripts/deps.sh build` installs all of it.")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  trireme_missing(PKG_CONFIG_FOUND "pkg-config, which finds the rest" PACKAGES pkg-config)
  trireme_check_missing()
endif()
pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc)
trireme_missing(hwloc_FOUND "hwloc, which pkg-config knows as hwloc" PACKAGES libhwloc-dev)
pkg_check_modules(ucx QUIET ucx)  # its header; the library is loaded at run time
trireme_missing(ucx_FOUND "UCX, which pkg-config knows as ucx" PACKAGES libucx-dev)
find_package(fmt QUIET)
trireme_missing(fmt_FOUND "fmt" PACKAGES libfmt-dev)
find_package(CLI11 QUIET)
trireme_missing(CLI11_FOUND "CLI11" PACKAGES libcli11-dev)
find_package(nlohmann_json QUIET)
trireme_missing(nlohmann_json_FOUND "nlohmann_json" PACKAGES nlohmann-json3-dev)
if(TRIREME_TESTS)
  find_package(GTest QUIET)
  trireme_missing(GTest_FOUND "GoogleTest and GoogleMock, for the tests (-DTRIREME_TESTS=OFF builds none)"
    PACKAGES libgtest-dev libgmock-dev)
endif()
# Its library is loaded at run time, where a launcher of that kind is; we need the header only. (The package's link flags
# would put an rpath into every program.)
if(TRIREME_WITH_PMIX)
  pkg_check_modules(pmix QUIET pmix>=4)
  trireme_missing(pmix_FOUND "PMIx 4 or newer, which pkg-config knows as pmix" PACKAGES libpmix-dev OPTION TRIREME_WITH_PMIX)
endif()
include(TriremeMpi)
# A part where it is installed; -DTRIREME_WITH_HDF5=ON demands it. Of its own plug-in, so programs do not link it.
pkg_search_module(hdf5 QUIET IMPORTED_TARGET hdf5-serial hdf5)
if(NOT DEFINED TRIREME_WITH_HDF5)
  set(TRIREME_WITH_HDF5 ${hdf5_FOUND})
endif()
if(TRIREME_WITH_HDF5)
  trireme_missing(hdf5_FOUND "HDF5, which pkg-config knows as hdf5" PACKAGES libhdf5-dev OPTION TRIREME_WITH_HDF5)
endif()
# The same; its library is loaded at run time, we need the header only. It has no file for pkg-config.
find_path(TRIREME_METIS_INCLUDE metis.h)
if(NOT DEFINED TRIREME_WITH_METIS)
  if(TRIREME_METIS_INCLUDE)
    set(TRIREME_WITH_METIS ON)
  else()
    set(TRIREME_WITH_METIS OFF)
  endif()
endif()
if(TRIREME_WITH_METIS)
  trireme_missing(TRIREME_METIS_INCLUDE "METIS, whose header is metis.h" PACKAGES libmetis-dev OPTION TRIREME_WITH_METIS)
endif()
# The same, for the long-range forces of apps/md.
pkg_search_module(fftw QUIET IMPORTED_TARGET fftw3)
if(NOT DEFINED TRIREME_WITH_FFTW)
  set(TRIREME_WITH_FFTW ${fftw_FOUND})
endif()
if(TRIREME_WITH_FFTW)
  trireme_missing(fftw_FOUND "FFTW 3, which pkg-config knows as fftw3" PACKAGES libfftw3-dev OPTION TRIREME_WITH_FFTW)
endif()
trireme_check_missing()

# Libraries that are loaded into unmodified programs are not built for the sanitizers: LOADED.
trireme_part(objects DETAIL "objects and loops: the library that programs link")
trireme_part(openmp LOADED libtrireme-omp.so DETAIL "drop-in for OpenMP programs (trireme exec --omp)")
trireme_part(openmpi LOADED libtrireme-mpi-openmpi.so OPTION TRIREME_WITH_OPENMPI
  DETAIL "drop-in for programs of Open MPI (trireme exec), messages between hosts through it")
trireme_part(mpich LOADED libtrireme-mpi-mpich.so OPTION TRIREME_WITH_MPICH
  DETAIL "drop-in for programs of MPICH (trireme exec), messages between hosts through it")
trireme_part(mpi_abi LOADED libtrireme-mpi-standard.so
  DETAIL "drop-in for programs of MPI 5.0's standard ABI (trireme exec)")
trireme_part(ucx DETAIL "messages between hosts through UCX")
trireme_part(pmix OPTION TRIREME_WITH_PMIX DETAIL "programs can be started by mpirun of Open MPI and by srun")
trireme_part(hdf5 LOADED libtrireme-hdf5.so OPTION TRIREME_WITH_HDF5 DETAIL "global arrays in files of HDF5")
trireme_part(metis OPTION TRIREME_WITH_METIS DETAIL "balancing by graph partitioning")
