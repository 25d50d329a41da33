// The table of contents of a checkpoint: a text file, the last that is written. A checkpoint is what its manifest says;
// files that it does not name are left from something else.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tri::checkpoint_files {

/// A checkpoint cannot be written or read; the text has the path and what is wrong.
class checkpoint_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What is known of a state file when it is complete.
struct file_summary {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;
  friend bool operator==(const file_summary&, const file_summary&) = default;
};

struct manifest {
  static constexpr std::uint32_t format = 2;
  std::uint64_t program = 0;  ///< identity of the program that wrote it
  std::uint64_t token = 0;    ///< drawn for this checkpoint, in every file of it
  std::string states;         ///< the folder with its files, inside the checkpoint's
  std::uint64_t processes = 0;
  std::uint64_t elements = 0;
  file_summary job;               ///< what all PEs have in common
  std::vector<file_summary> pes;  ///< by PE
  friend bool operator==(const manifest&, const manifest&) = default;
};

std::string text_of(const manifest& contents);
/// Throws checkpoint_error; `path` is for its text.
manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace tri::checkpoint_files
