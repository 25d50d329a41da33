// Puts the number of a process in front of each line that it prints. Owned by the launcher, one object per stream of a
// process, one thread.
#pragma once

#include <string>
#include <string_view>

namespace tri::launch {

class labelled_output {
 public:
  explicit labelled_output(int process);

  // The complete lines that `text` finishes, each with its label; the rest waits. A line that grows too long is broken.
  std::string add(std::string_view text);
  // At the end of the stream: the buffered rest, as a line of its own.
  std::string finish();

 private:
  std::string label_;
  std::string waiting_;
};

}  // namespace tri::launch
