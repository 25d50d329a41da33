// A pretend file system under which the control group files lie.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tri::testing {

class fake_root {
 public:
  fake_root() {
    std::string name = (std::filesystem::temp_directory_path() / "trireme-cgroup-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~fake_root() { std::filesystem::remove_all(path_); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + path).parent_path());
    std::ofstream(path_ + path) << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tri::testing
