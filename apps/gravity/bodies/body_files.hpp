// Files of bodies, to read and to write: text, or binary for exact continuation and speed.
//
// Text: a line for each body, `x y z vx vy vz mass`; `#` begins a comment. Binary: eight bytes TRIGRAV1, a 32-bit
// number that shows the order of bytes, 32 bits of zero, the number of bodies in 64 bits, then seven doubles for each.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "gravity/bodies/body.hpp"

namespace gravity {

/// Reads either form; bodies are numbered in their order. Throws std::runtime_error with file, line or body, and what
/// would be right: for a file that cannot be read, is cut off, has no bodies, or values that are not finite, and for
/// negative masses.
std::vector<body> read_bodies(const std::filesystem::path& file);

/// Writes bodies in the given order: as text when the name ends in .txt, otherwise binary. The file appears when it is
/// complete. Text has 17 digits and so gives the same doubles again. Throws std::runtime_error.
void write_bodies(const std::filesystem::path& file, std::span<const body> bodies);

/// For the start of a long run: throws what write_bodies would throw now if the file cannot be made.
void check_writable(const std::filesystem::path& file);

}  // namespace gravity
