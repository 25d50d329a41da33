# The MPI libraries that parts are built for, one ABI each: TRIREME_MPI_ABIS lists those that are not switched off. For each
# there is trireme_mpi_abi_<name>, which has its mpi.h and the name as TRIREME_MPI_ABI; programs of its own link
# PkgConfig::mpi_<name> as well, and a drop-in gets the library from the program.
#
# TRIREME_DROP_IN_ABIS has the standard ABI besides, for which the drop-in alone is built: libraries that have it are in no
# distribution yet, so its mpi.h is in src/mpi/abi/standard.
#
# TRIREME_MPIS lists those of them whose programs can be built and started, by TRIREME_MPICC_<name> and TRIREME_MPIRUN_<name>:
# all of them where there are tests. A compiler without the headers is none; the packages of programs bring such.
#
# TRIREME_MPI_START_<name> is a list of words: what starts any program on this host, also as root and on few cores; "-n N",
# the program and its arguments follow.
#
# trireme_mpi_programs(<name> SOURCE x.c [OUTPUT <file>] [FLAGS ...])
#   One C program for each of TRIREME_MPIS, in <file>_<mpi>, by default <name>_<mpi> in the binary folder. Sets
#   <name>_programs to the files, for a target of the caller's, and <name>_installed to the initialisers in C++ of the MPIs:
#   name, launcher, program.
# trireme_without_mpi(<test> LABELS ...)
#   A test in place of one that needs an MPI: skipped, saying why there is none.
set(TRIREME_MPI_ABIS "")
set(TRIREME_MPIS "")
function(trireme_find_mpi abi)
  cmake_parse_arguments(ARG "" "OPTION;MODULE" "PACKAGES" ${ARGN})
  if(NOT ${ARG_OPTION})
    return()
  endif()
  pkg_check_modules(mpi_${abi} QUIET IMPORTED_TARGET ${ARG_MODULE})
  trireme_missing(mpi_${abi}_FOUND "the headers of ${abi}, which pkg-config knows as ${ARG_MODULE}"
    PACKAGES ${ARG_PACKAGES} OPTION ${ARG_OPTION})
  find_program(TRIREME_MPICC_${abi} NAMES mpicc.${abi})
  find_program(TRIREME_MPIRUN_${abi} NAMES mpirun.${abi})
  if(mpi_${abi}_FOUND AND TRIREME_MPICC_${abi} AND TRIREME_MPIRUN_${abi})
    list(APPEND TRIREME_MPIS ${abi})
  elseif(TRIREME_TESTS)
    foreach(program MPICC MPIRUN)
      string(TOLOWER ${program} file)
      trireme_missing(TRIREME_${program}_${abi} "${file}.${abi}, for the tests (-DTRIREME_TESTS=OFF builds none)"
        PACKAGES ${ARG_PACKAGES} OPTION ${ARG_OPTION})
    endforeach()
  endif()
  set(TRIREME_MISSING "${TRIREME_MISSING}" PARENT_SCOPE)
  set(TRIREME_MPIS ${TRIREME_MPIS} PARENT_SCOPE)
  if(NOT mpi_${abi}_FOUND)
    return()
  endif()
  add_library(trireme_mpi_abi_${abi} INTERFACE)
  target_include_directories(trireme_mpi_abi_${abi} SYSTEM INTERFACE ${mpi_${abi}_INCLUDE_DIRS})
  # Without their C++ bindings, which MPI-3 removed and whose library nobody links.
  target_compile_definitions(trireme_mpi_abi_${abi} INTERFACE
    "TRIREME_MPI_ABI=\"${abi}\"" OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  set(TRIREME_MPI_ABIS ${TRIREME_MPI_ABIS} ${abi} PARENT_SCOPE)
endfunction()
trireme_find_mpi(openmpi OPTION TRIREME_WITH_OPENMPI MODULE ompi-c PACKAGES libopenmpi-dev openmpi-bin)
trireme_find_mpi(mpich OPTION TRIREME_WITH_MPICH MODULE mpich PACKAGES libmpich-dev mpich)

add_library(trireme_mpi_abi_standard INTERFACE)
target_include_directories(trireme_mpi_abi_standard SYSTEM INTERFACE "${PROJECT_SOURCE_DIR}/src/mpi/abi/standard")
target_compile_definitions(trireme_mpi_abi_standard INTERFACE "TRIREME_MPI_ABI=\"standard\"")
set(TRIREME_DROP_IN_ABIS ${TRIREME_MPI_ABIS} standard)

set(TRIREME_MPI_START_openmpi ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  "${TRIREME_MPIRUN_openmpi}" --oversubscribe --bind-to none)
set(TRIREME_MPI_START_mpich "${TRIREME_MPIRUN_mpich}")

function(trireme_mpi_programs name)
  cmake_parse_arguments(ARG "" "SOURCE;OUTPUT" "FLAGS" ${ARGN})
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  endif()
  get_filename_component(folder "${ARG_OUTPUT}" DIRECTORY)
  set(programs)
  set(installed)
  foreach(mpi IN LISTS TRIREME_MPIS)
    set(program "${ARG_OUTPUT}_${mpi}")
    add_custom_command(OUTPUT "${program}" DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
      COMMAND ${TRIREME_MPICC_${mpi}} ${ARG_FLAGS} "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE}" -o "${program}"
      COMMENT "Building MPI program ${name} for ${mpi}" VERBATIM)
    list(APPEND programs "${program}")
    string(APPEND installed "{\"${mpi}\", \"${TRIREME_MPIRUN_${mpi}}\", \"${program}\"},")
  endforeach()
  set(${name}_programs "${programs}" PARENT_SCOPE)
  set(${name}_installed "${installed}" PARENT_SCOPE)
endfunction()

function(trireme_without_mpi test)
  cmake_parse_arguments(ARG "" "" "LABELS" ${ARGN})
  add_test(NAME ${test} COMMAND sh -c
    "echo 'SKIPPED: this build was configured with TRIREME_WITH_OPENMPI=OFF and TRIREME_WITH_MPICH=OFF'; exit 77")
  set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${ARG_LABELS}")
endfunction()
