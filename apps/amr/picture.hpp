// A picture of a mesh and the field on it.
#pragma once

#include <filesystem>
#include <vector>

#include "amr/block.hpp"

namespace amr {

/// An SVG file: the outline of each block, and its values from 0 (white) to 1 in squares of a few cells. Throws
/// std::runtime_error when the file cannot be written.
void write_picture(const std::filesystem::path& file, const problem& of, const std::vector<block_state>& blocks);

}  // namespace amr
