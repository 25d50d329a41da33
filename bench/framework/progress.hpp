// "[12/40] entry/threads/one_way" on standard error while a row is measured, if that is a terminal. One thread.
#pragma once

#include <cstddef>
#include <string>

namespace tri::bench {

class progress_line {
 public:
  explicit progress_line(std::size_t rows);
  ~progress_line() { clear(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(const std::string& row);  // the row that is being measured now
  void clear();                       // before other output

 private:
  const std::size_t rows_;
  const bool terminal_;
  std::size_t shown_ = 0;
};

}  // namespace tri::bench
