# The kinds of targets this project has. A folder of src/ is a layer or a drop-in, every folder of tests/ holds tests.
#
# trireme_layer(<name> [FOLDER <folder>] [SOURCES ...] [HEADERS <patterns>] [DEPENDS <layers>] [LIBRARIES <targets>] [NOT_IN_LIBRARY])
#   One folder of src/, by default the one of that name, as the archive trireme_<name>. HEADERS are those of its headers that
#   programs are compiled against, below include/trireme. Its files see its own headers and those of the layers they depend on,
#   and no others: "os/clock.hpp" compiles only where os is a dependency, "trireme/future.hpp" where objects is one.
#   src/CMakeLists.txt merges all layers into the library that users link, except those that are NOT_IN_LIBRARY.
# trireme_include_root(<target> <scope> <folders of src>)
#   Makes the headers of these folders, and of no others, visible to a target that is no layer.
# trireme_precompile(<target> <headers>)
#   Headers of other projects that most files of the target include, which say so themselves all the same.
# trireme_drop_in(<targets>)
#   What is loaded into unmodified programs. It links layers like everything else, but of the libraries that those link it gets
#   none: instead of fmt it has a small copy of its own (trireme_own_fmt), because it shares the address space of the program.
# trireme_test(<name> SOURCES ... [DEPENDS <targets>] [TIMEOUT s] [LABELS ...])
#   One GoogleTest program, registered with ctest under its own name. Labels with a meaning to `make sanitize`:
#   no_sanitize (only in plain builds), no_tsan (not under the thread sanitizer: one thread and long, or a runtime it does not know).
# trireme_compile_fail_test(<name> SOURCE x.cpp EXPECT "regex" [DEPENDS <targets>] [LABELS ...])
#   Passes when the compiler refuses the file with a message that matches the regex; see TriremeCompileFail.cmake.

# A folder of links for each target: the compiler follows only those that the target was given.
function(trireme_include_root target scope)
  set(root "${CMAKE_BINARY_DIR}/include_roots/${target}")
  foreach(folder IN LISTS ARGN)
    get_filename_component(parent "${root}/${folder}" DIRECTORY)
    file(MAKE_DIRECTORY "${parent}")
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${folder}" "${root}/${folder}" SYMBOLIC)
  endforeach()
  target_include_directories(${target} ${scope} "${root}")
endfunction()
function(trireme_public_headers target)
  file(REMOVE_RECURSE "${CMAKE_BINARY_DIR}/include_roots/${target}/trireme")  # what has moved to another layer
  foreach(pattern IN LISTS ARGN)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/trireme/${pattern}")
    if(headers STREQUAL "")
      message(FATAL_ERROR "${target}: there is no include/trireme/${pattern}")
    endif()
    foreach(header IN LISTS headers)
      get_filename_component(parent "${CMAKE_BINARY_DIR}/include_roots/${target}/${header}" DIRECTORY)
      file(MAKE_DIRECTORY "${parent}")
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/${header}" "${CMAKE_BINARY_DIR}/include_roots/${target}/${header}" SYMBOLIC)
    endforeach()
  endforeach()
endfunction()

function(trireme_layer name)
  cmake_parse_arguments(ARG "NOT_IN_LIBRARY" "FOLDER" "SOURCES;HEADERS;DEPENDS;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "trireme_layer(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  add_library(trireme_${name} STATIC ${ARG_SOURCES})
  # Drop-ins link the same archives: nothing but their entry points is exported, and what they do not call goes.
  set_target_properties(trireme_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(trireme_${name} PRIVATE -ffunction-sections)
  target_link_libraries(trireme_${name} PRIVATE trireme_warnings)
  trireme_include_root(trireme_${name} PUBLIC ${ARG_FOLDER})
  trireme_public_headers(trireme_${name} ${ARG_HEADERS})
  foreach(layer IN LISTS ARG_DEPENDS)
    target_link_libraries(trireme_${name} PUBLIC trireme_${layer})
  endforeach()
  foreach(library IN LISTS ARG_LIBRARIES)
    target_link_libraries(trireme_${name} PUBLIC $<$<NOT:$<BOOL:$<TARGET_PROPERTY:TRIREME_DROP_IN>>>:${library}>)
  endforeach()
  if(NOT ARG_NOT_IN_LIBRARY)
    set_property(GLOBAL APPEND PROPERTY TRIREME_LAYERS trireme_${name})
    set_property(GLOBAL APPEND PROPERTY TRIREME_LAYER_LIBRARIES ${ARG_LIBRARIES})
  endif()
endfunction()

function(trireme_precompile target)
  if(TRIREME_PRECOMPILED_HEADERS AND TRIREME_SANITIZE STREQUAL "")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

function(trireme_drop_in)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES TRIREME_DROP_IN ON
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(${target} PRIVATE trireme_own_fmt trireme_warnings)
  endforeach()
endfunction()

# A program of tests that the preset of this sanitizer does not run (CMakePresets.json) is not built for it either.
function(trireme_leave_out_of_sanitizers target)
  if((NOT TRIREME_SANITIZE STREQUAL "" AND "no_sanitize" IN_LIST ARGN) OR (TRIREME_SANITIZE STREQUAL "thread" AND "no_tsan" IN_LIST ARGN))
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# What tests include of other projects, precompiled. It is valid only with the same optimisation (g++ 12 crashes with another).
function(trireme_use_test_headers target)
  get_directory_property(options COMPILE_OPTIONS)
  get_target_property(precompiled trireme_test_headers PRECOMPILE_HEADERS)
  if(precompiled AND NOT options MATCHES "-O[023s]")
    target_precompile_headers(${target} REUSE_FROM trireme_test_headers)
  endif()
endfunction()

function(trireme_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT TRIREME_SANITIZE STREQUAL "")
    math(EXPR ARG_TIMEOUT "2 * ${ARG_TIMEOUT}")  # instrumented code is as much slower, and more
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main trireme_warnings)
  trireme_leave_out_of_sanitizers(${name} ${ARG_LABELS})
  trireme_use_test_headers(${name})
  add_test(NAME ${name} COMMAND ${name})
  # Of single parts, which need no programs: what continuous integration runs under the sanitizers.
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(folder MATCHES "^(arena|arrays|balance|board|coll|explore|flow|live|loops|objects|sched|schedules|sim|trace|wire|matching|mpi/(engine|datatypes|rma))(/|$)"
     AND NOT "no_sanitize" IN_LIST ARG_LABELS AND NOT "trireme_bench" IN_LIST ARG_DEPENDS)
    list(APPEND ARG_LABELS unit)
    add_dependencies(unit_tests ${name})
  endif()
  # No limit to sleeping: a PE that nobody wakes has to hang, or no test would see it.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT TRIREME_LONGEST_SLEEP_MS=0)
endfunction()

function(trireme_compile_fail_test name)
  cmake_parse_arguments(ARG "" "SOURCE;EXPECT;STANDARD" "DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_STANDARD)
    set(ARG_STANDARD 20)
  endif()
  if(NOT ARG_SOURCE OR NOT ARG_EXPECT)
    message(FATAL_ERROR "trireme_compile_fail_test(${name}): SOURCE and EXPECT are required")
  endif()
  if(NOT ARG_DEPENDS)
    set(ARG_DEPENDS trireme)
  endif()
  # The flags go through a response file: lists with generator expressions do not survive a command line.
  set(flags_file "${CMAKE_CURRENT_BINARY_DIR}/${name}.flags")
  set(flags "-std=c++${ARG_STANDARD}\n-fsyntax-only\n")
  foreach(target IN LISTS ARG_DEPENDS)
    string(APPEND flags "-I$<JOIN:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>,\n-I>\n")
  endforeach()
  file(GENERATE OUTPUT "${flags_file}" CONTENT "${flags}")
  get_filename_component(source "${ARG_SOURCE}" ABSOLUTE)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS_FILE=${flags_file}" "-DSOURCE=${source}"
            "-DEXPECT=${ARG_EXPECT}" -P "${PROJECT_SOURCE_DIR}/cmake/TriremeCompileFail.cmake")
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS "no_sanitize;${ARG_LABELS}")
endfunction()
