// A file that we write for the user, at a path that others may know beforehand: in /tmp they may have put a link there
// that leads elsewhere. What is new is made exclusively, beside the path, and takes its place when it is complete: a
// reader sees the old file or the new one. Links and devices that the user may have meant (/dev/stdout) are written to;
// those of another user, in a folder where others may write, are refused. One owner, one thread.
//
// A process that is killed leaves the file beside the path. Files under way are locked, and the kernel unlocks those of
// dead processes, so the next file for this path removes what is left. It stays where the file system has no locks, and
// where another process wrote to the path at the same time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "os/unique_fd.hpp"

namespace tri::os {

// regular_file: what is there is never changed before finish(), and others may write parts of the new one at
// written_path(). So links are followed, and devices refused.
enum class output_kind { any, regular_file };

class output_file {
 public:
  // All throw std::runtime_error with the path and what is wrong with it.
  explicit output_file(std::string path, output_kind kind = output_kind::any);
  void write(std::string_view text);
  void sync();    // what was written is on the disk
  void finish();  // the path is this file now
  const std::string& written_path() const { return beside_.empty() ? path_ : beside_; }

  ~output_file();  // without finish(), nothing has happened
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

 private:
  [[noreturn]] void fail(const char* why) const;

  std::string path_;
  std::string really_;  // where a link leads; empty: there is none
  std::string beside_;  // empty: the path itself is written to
  unique_fd file_;
  std::optional<mode_t> mode_;  // of the file that was there
};

void write_output_file(const std::string& path, std::string_view text);

// A link, device or folder at `path` that another user has put into a folder where others may write: throws
// std::runtime_error. Whatever else is there, or nothing, passes.
void refuse_planted(const std::string& path);

}  // namespace tri::os
