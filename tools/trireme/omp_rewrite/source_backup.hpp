// Writing source files so that it can be undone. The original of `x.c` is kept in `x.c.before-omp-rewrite` beside it:
// one line with a check sum of the text that took its place, then the original, byte by byte. Files are replaced as a
// whole (written beside, then renamed), with their permissions; of a symbolic link, the file behind it.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tri::tools {

class source_file_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// All of these throw source_file_error with the file and the reason.
std::string read_source(const std::filesystem::path& file);

/// Where the original is kept.
std::filesystem::path backup_of(const std::filesystem::path& file);

/// Replaces the file's contents, which must still be `original`, by `text`. A backup of an earlier rewriting keeps the
/// text before that one; if the file was edited since, nothing is written.
void replace_source(const std::filesystem::path& file, std::string_view original, std::string_view text);

/// Gives the file back its original text and removes the backup. Refuses when the file was edited since.
void restore_source(const std::filesystem::path& file);

/// Writes another file, making its folder; `like`: whose permissions it gets.
void write_copy(const std::filesystem::path& file, std::string_view text, const std::filesystem::path& like);

}  // namespace tri::tools
