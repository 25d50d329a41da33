# Run by ctest, see CMakeLists.txt: what the configuration of the whole project says when packages are missing or parts are
# switched off. Machines without packages are played by a folder of pkg-config files in which some are missing.
cmake_minimum_required(VERSION 3.25)

function(fail text)
  message(FATAL_ERROR " ${text}; the configuration ended with ${status} and said:\n${output}")
endfunction()
function(configure)
  file(REMOVE_RECURSE "${SCRATCH_DIR}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PKG_CONFIG_LIBDIR=${modules}" ${CMAKE_COMMAND} -G Ninja -S "${SOURCE_DIR}"
      -B "${SCRATCH_DIR}/build" "-DCMAKE_CXX_COMPILER=${CXX}" ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()
function(expect_refusal)
  if(status EQUAL 0)
    fail("the configuration should have been refused")
  endif()
  foreach(text IN LISTS ARGN)
    string(FIND "${output}" "${text}" at)
    if(at EQUAL -1)
      fail("the message does not contain '${text}'")
    endif()
  endforeach()
endfunction()
function(expect_part name row)
  file(STRINGS "${SCRATCH_DIR}/build/tools/trireme/build_parts.cpp" found REGEX "{\"${name}\", ")
  if(NOT found MATCHES "${row}")
    fail("the row of ${name} is '${found}'; it must match '${row}'")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH_DIR}")
set(modules "${SCRATCH_DIR}/modules")
file(MAKE_DIRECTORY "${modules}")

# Nothing is there: all of it in one message, and scripts/deps.sh knows each package of it.
configure()
expect_refusal("Trireme cannot be built here." "hwloc, which pkg-config knows as hwloc (Debian: libhwloc-dev)"
  "UCX, which pkg-config knows as ucx (Debian: libucx-dev)"
  "(Debian: libpmix-dev), or leave it out with -DTRIREME_WITH_PMIX=OFF"
  "(Debian: libopenmpi-dev openmpi-bin), or leave it out with -DTRIREME_WITH_OPENMPI=OFF"
  "(Debian: libmpich-dev mpich), or leave it out with -DTRIREME_WITH_MPICH=OFF")
execute_process(COMMAND "${SOURCE_DIR}/scripts/deps.sh" --list build OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "Debian: [^)]*" packages "${output}")
string(REGEX REPLACE "Debian: " "" packages "${packages}")
string(REPLACE " " ";" packages "${packages}")
string(REPLACE "\n" ";" listed "${listed}")
foreach(package IN LISTS packages)
  if(NOT package IN_LIST listed)
    fail("`scripts/deps.sh build` does not install ${package}")
  endif()
endforeach()

# One is missing: its compiler, which other packages bring, does not stand for it.
execute_process(COMMAND pkg-config --variable pc_path pkg-config OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ":" ";" folders "${folders}")
list(REVERSE folders)  # the first of them wins
foreach(folder IN LISTS folders)
  file(GLOB files "${folder}/*.pc")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    file(CREATE_LINK "${file}" "${modules}/${name}" SYMBOLIC)
  endforeach()
endforeach()
file(REMOVE "${modules}/ompi-c.pc")
configure()
expect_refusal("(Debian: libopenmpi-dev openmpi-bin)")
if(output MATCHES "libmpich-dev|libucx-dev")
  fail("the message names packages that are installed")
endif()

# Left out by name.
configure(-DTRIREME_WITH_OPENMPI=OFF -DTRIREME_WITH_PMIX=OFF)
if(NOT status EQUAL 0)
  fail("a build without Open MPI and PMIx should be possible")
endif()
expect_part(openmpi "false.*switched off by TRIREME_WITH_OPENMPI=OFF")
expect_part(pmix "false.*switched off by TRIREME_WITH_PMIX=OFF")
expect_part(mpich "true")
# A change of Debian's packages makes ninja configure again.
file(STRINGS "${SCRATCH_DIR}/build/build.ninja" rule REGEX "^build build.ninja.*/var/lib/dpkg/status")
if(EXISTS /var/lib/dpkg/status AND NOT rule)
  fail("build.ninja does not depend on the list of Debian's packages")
endif()
