# Run by ctest, see CMakeLists.txt. Everything happens below SCRATCH_DIR; the prefix is moved after the install, so
# that a path of the build machine in an installed file makes the test fail.
cmake_minimum_required(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(prefix "${SCRATCH_DIR}/moved prefix")
set(build "${SCRATCH_DIR}/build")
file(REMOVE_RECURSE "${SCRATCH_DIR}")
file(MAKE_DIRECTORY "${SCRATCH_DIR}" "${build}")

run("install" ${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${SCRATCH_DIR}/prefix")
if(NOT WAY STREQUAL "find_package")
  set(prefix "${SCRATCH_DIR}/moved_prefix")  # pkg-config has no reliable quoting of spaces, LD_PRELOAD none at all
endif()
file(RENAME "${SCRATCH_DIR}/prefix" "${prefix}")

if(WAY STREQUAL "exec")  # MPI_PROGRAM, unmodified; it says so when it talked to the drop-in
  separate_arguments(start UNIX_COMMAND "${MPI_START}")
  run("the program under the drop-in" ${start} -n 2 "${prefix}/bin/trireme" exec --mpi --stats -- "${MPI_PROGRAM}")
  if(NOT output MATCHES "messages")
    message(FATAL_ERROR "no statistics of the drop-in in:\n${output}")
  endif()
  file(RENAME "${prefix}" "${prefix} with a space")
  execute_process(COMMAND "${prefix} with a space/bin/trireme" exec --mpi -- "${MPI_PROGRAM}"
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "spaces and colons separate the names in LD_PRELOAD")
    message(FATAL_ERROR "a command that cannot preload its library ended with ${status} and said:\n${output}")
  endif()
  return()
endif()

if(WAY STREQUAL "find_package")
  run("configure" ${CMAKE_COMMAND} -G Ninja -S "${PROGRAM_DIR}" -B "${build}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${CXX}")
  run("build" ${CMAKE_COMMAND} --build "${build}")
elseif(WAY STREQUAL "pkg_config")
  file(GLOB_RECURSE pc_file "${prefix}/*/trireme.pc")
  get_filename_component(pc_dir "${pc_file}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
  run("pkg-config" pkg-config --cflags --libs trireme)
  separate_arguments(flags UNIX_COMMAND "${output}")
  # Only the flags that pkg-config names, so that a missing one is noticed.
  run("build" "${CXX}" -std=c++20 "${PROGRAM_DIR}/program.cpp" -o "${build}/program" ${flags})
else()
  message(FATAL_ERROR "WAY is '${WAY}'; it must be find_package, pkg_config or exec")
endif()

run("program" "${build}/program")
if(NOT output MATCHES "trireme ${EXPECTED_VERSION}")
  message(FATAL_ERROR "the program printed '${output}' instead of a line with 'trireme ${EXPECTED_VERSION}'")
endif()
