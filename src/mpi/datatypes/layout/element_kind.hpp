// The kinds of a datatype's basic elements, by meaning and size, whatever their names in languages and libraries:
// MPI_INT, MPI_INT32_T and MPI_INTEGER are int32. Reductions choose their code by kind, checks of matching signatures
// compare it. Values are part of layouts in shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tri::mpi {

enum class element_kind : std::uint32_t {
  byte,       // no arithmetic: bits
  packed,     // what MPI_Pack wrote
  character,  // text: neither arithmetic nor bits
  wide_character,
  int8,
  int16,
  int32,
  int64,
  int128,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,   // C and C++: one byte, 0 or 1
  logical8,  // Fortran LOGICAL of this many bits
  logical16,
  logical32,
  logical64,
  float16,
  float32,
  float64,
  float80,  // x87 extended in 16 bytes: long double
  float128,
  complex_float16,
  complex_float32,
  complex_float64,
  complex_float80,
  complex_float128,
  mixed,  // of a whole signature: more than one kind
};

struct element_facts {
  std::string_view name;
  std::uint32_t bytes;
  std::uint32_t alignment;
};

inline constexpr std::array<element_facts, static_cast<std::size_t>(element_kind::mixed)> all_element_facts = {{
    {"byte", 1, 1},
    {"packed", 1, 1},
    {"character", 1, 1},
    {"wide_character", 4, 4},
    {"int8", 1, 1},
    {"int16", 2, 2},
    {"int32", 4, 4},
    {"int64", 8, 8},
    {"int128", 16, 16},
    {"uint8", 1, 1},
    {"uint16", 2, 2},
    {"uint32", 4, 4},
    {"uint64", 8, 8},
    {"boolean", 1, 1},
    {"logical8", 1, 1},
    {"logical16", 2, 2},
    {"logical32", 4, 4},
    {"logical64", 8, 8},
    {"float16", 2, 2},
    {"float32", 4, 4},
    {"float64", 8, 8},
    {"float80", 16, 16},
    {"float128", 16, 16},
    {"complex_float16", 4, 2},
    {"complex_float32", 8, 4},
    {"complex_float64", 16, 8},
    {"complex_float80", 32, 16},
    {"complex_float128", 32, 16},
}};

/// Of one kind; not of `mixed`.
constexpr const element_facts& facts_of(element_kind kind) { return all_element_facts[static_cast<std::size_t>(kind)]; }

}  // namespace tri::mpi
