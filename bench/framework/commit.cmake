# Run at every build: writes the commit of the sources into a header, touching it only when the commit changed.
execute_process(COMMAND git -C "${SOURCE_DIR}" describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(commit "unknown")
endif()
set(text "// The commit that this was built from. Generated.\n#pragma once\n")
string(APPEND text "#define TRIREME_BENCH_COMMIT \"${commit}\"\n#define TRIREME_BENCH_BUILD_TYPE \"${BUILD_TYPE}\"\n")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE "${OUTPUT}" "${text}")
endif()
