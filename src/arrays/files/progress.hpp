// The line that says how far a dump or load has come, on PE 0, whose part is as large as that of the others.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/array_files.hpp"

namespace tri::arrays {

class progress_of_file {
 public:
  /// `verb`: dumping, loading. `steps` are those of this PE.
  progress_of_file(const char* verb, std::string path, progress_line when, std::int64_t steps);
  progress_of_file(const progress_of_file&) = delete;
  progress_of_file& operator=(const progress_of_file&) = delete;
  ~progress_of_file();
  void step();

 private:
  std::string text_;
  bool shows_;
  bool waits_;  // until it has taken a while
  bool has_shown_ = false;
  std::int64_t steps_;
  std::int64_t done_ = 0;
  std::int64_t next_ns_ = 0;
};

}  // namespace tri::arrays
