// Check values of large blocks: several bytes a clock cycle, where os/hash.hpp takes one byte in four. They find what a
// disk or a mistake has changed; an attacker can find two blocks with one value. Values lie in files, so they stay what
// they are. Numbers are little-endian, as all files of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::checkpoint_files {

/// Of the bytes of a block, behind what `before` is of.
std::uint64_t checksum(const void* bytes, std::size_t count, std::uint64_t before = 0);

}  // namespace tri::checkpoint_files
