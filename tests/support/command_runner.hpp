// Runs a shell command and keeps what it says, for tests of the command line.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tri::testing {

struct command_result {
  int status = 0;
  std::string output;
  std::string errors;
};

inline std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// An empty folder that is removed with all that is in it.
class temporary_folder {
 public:
  explicit temporary_folder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "trireme_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::perror(name.c_str());
    path_ = name;
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Ended by a signal, the status is 128 + its number, as in shells.
inline command_result run_command(const std::filesystem::path& folder, const std::string& command) {
  const temporary_folder streams;
  const std::string out = (streams.path() / "out").string();
  const std::string err = (streams.path() / "err").string();
  const std::string whole = "cd '" + folder.string() + "' && { " + command + "\n} >" + out + " 2>" + err;
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents_of(out), contents_of(err)};
}

inline command_result run_command(const std::string& command) {
  return run_command(std::filesystem::current_path(), command);
}

/// Both streams as they come, in `output`.
inline command_result run_with_one_stream(const std::string& command) {
  return run_command("{ " + command + "\n} 2>&1");
}

}  // namespace tri::testing
