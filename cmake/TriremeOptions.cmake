# Build options and the compile flags that every target of the project shares.
option(TRIREME_TESTS "build the tests" ON)
option(TRIREME_PRECOMPILED_HEADERS "compile tests, benchmarks and the command with precompiled headers of other projects; sanitizers' builds have none, so that a missing include is seen there" ON)
option(BUILD_SHARED_LIBS "install libtrireme.so instead of libtrireme.a" OFF)
set(TRIREME_SANITIZE "" CACHE STRING "sanitizer to build with: empty, address, thread, or fuzzer (tests/fuzz)")
set_property(CACHE TRIREME_SANITIZE PROPERTY STRINGS "" address thread fuzzer)

# Where an installation has what is loaded at run time and never linked, and the completions of zsh below share/.
include(GNUInstallDirs)
set(TRIREME_PLUG_IN_DIR "${CMAKE_INSTALL_LIBDIR}/trireme")
set(TRIREME_ZSH_FOLDER "zsh/site-functions" CACHE STRING "folder of zsh completions below share/")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Paths below the source folder are hashed relative to the build folder, so all clones of the project share the cache. What a
# file includes is taken from the compiler's list: running the preprocessor for it was a fifth of a cold build.
find_program(TRIREME_CCACHE ccache)
if(TRIREME_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Sloppy in what its manual asks for where headers are precompiled.
  set(CMAKE_C_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${TRIREME_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_library(trireme_warnings INTERFACE)
target_compile_options(trireme_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT TRIREME_SANITIZE STREQUAL "")
  # Instrumented code of the standard library looks uninitialized to g++; its manual says not to combine the two.
  target_compile_options(trireme_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
# g++ 12 calls every std::atomic_thread_fence under the thread sanitizer a warning; we use none that matter to it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TRIREME_SANITIZE STREQUAL "thread")
  target_compile_options(trireme_warnings INTERFACE -Wno-tsan)
endif()

if(TRIREME_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(TRIREME_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(TRIREME_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TRIREME_SANITIZE=fuzzer needs clang, but the compiler is ${CMAKE_CXX_COMPILER}; use the preset fuzz")
  endif()
  # Every fault ends the program, so that the fuzzer keeps the input. A number that does not fit is a fault, too.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(NOT TRIREME_SANITIZE STREQUAL "")
  message(FATAL_ERROR "TRIREME_SANITIZE is '${TRIREME_SANITIZE}'; it must be empty, address, thread or fuzzer")
endif()
