// First in each public header: a one-line error for compilers without C++20.
#pragma once

#if __cplusplus < 202002L
#error "Trireme needs C++20: compile with -std=c++20 (g++ 12, clang 16 or newer)"
#include <std=c++20>  // no such file, which ends the compilation: a thousand other errors would follow
#endif
