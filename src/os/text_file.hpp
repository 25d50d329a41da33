// Lines of a text file. Without streams: libraries that are loaded into other programs bring their own C++ runtime, and
// streams would bring all of its locales along, a megabyte of each process's memory.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace tri::os {

class text_file {
 public:
  /// A file that cannot be opened has no lines.
  explicit text_file(const std::string& path) : file_(std::fopen(path.c_str(), "re")) {}
  /// The next line without its end; false when there is none. Zero bytes are bytes like others.
  bool next_line(std::string& line) {
    line.clear();
    if (!file_) return false;
    char* text = nullptr;
    std::size_t room = 0;
    const ssize_t bytes = ::getline(&text, &room, file_.get());
    const std::unique_ptr<char, memory> owner(text);  // also where it failed
    if (bytes <= 0) return false;
    line.assign(text, static_cast<std::size_t>(bytes));
    if (line.back() == '\n') line.pop_back();  // the last one may have no end
    return true;
  }

 private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct memory {
    void operator()(char* text) const { std::free(text); }
  };
  std::unique_ptr<std::FILE, closer> file_;
};

}  // namespace tri::os
