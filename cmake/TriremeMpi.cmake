# The MPI libraries that parts are built for, one ABI each: TRIREME_MPI_ABIS lists those that are installed. For each
# there is trireme_mpi_abi_<name>, which has its mpi.h and the name as TRIREME_MPI_ABI; programs of its own link
# PkgConfig::mpi_<name> as well, and a drop-in gets the library from the program. TRIREME_MPIRUN_<name> is its launcher.
set(TRIREME_MPI_ABIS "")
foreach(abi_and_package openmpi=ompi-c mpich=mpich)
  string(REPLACE "=" ";" abi_and_package ${abi_and_package})
  list(GET abi_and_package 0 abi)
  list(GET abi_and_package 1 package)
  pkg_check_modules(mpi_${abi} QUIET IMPORTED_TARGET ${package})
  find_program(TRIREME_MPIRUN_${abi} NAMES mpirun.${abi})
  if(NOT mpi_${abi}_FOUND)
    message(STATUS "what needs the headers of ${abi} is not built: pkg-config knows no ${package} (scripts/deps.sh test)")
    continue()
  endif()
  add_library(trireme_mpi_abi_${abi} INTERFACE)
  target_include_directories(trireme_mpi_abi_${abi} SYSTEM INTERFACE ${mpi_${abi}_INCLUDE_DIRS})
  # Without their C++ bindings, which MPI-3 removed and whose library nobody links.
  target_compile_definitions(trireme_mpi_abi_${abi} INTERFACE
    "TRIREME_MPI_ABI=\"${abi}\"" OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  list(APPEND TRIREME_MPI_ABIS ${abi})
endforeach()
