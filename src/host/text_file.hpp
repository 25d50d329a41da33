// Lines of a text file. Without streams: libraries that are loaded into other programs bring their own C++ runtime, and
// streams would bring all of its locales along, a megabyte of each process's memory.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace tri::host {

class text_file {
 public:
  /// A file that cannot be opened has no lines.
  explicit text_file(const std::string& path) : file_(std::fopen(path.c_str(), "re")) {}
  /// The next line without its end; false when there is none.
  bool next_line(std::string& line) {
    line.clear();
    std::array<char, 256> piece{};
    while (file_ && std::fgets(piece.data(), piece.size(), file_.get()) != nullptr) {
      line += piece.data();
      if (line.back() == '\n') {
        line.pop_back();
        return true;
      }
    }
    return !line.empty();  // the last one may have no end
  }

 private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, closer> file_;
};

}  // namespace tri::host
