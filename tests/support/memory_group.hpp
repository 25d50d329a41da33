// A control group of the test's own with a memory limit, below or beside the group that the test runs in. Needs root
// and a memory controller that is mounted and writable; `reason()` says what is missing.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace tri::testing {

class memory_group {
 public:
  explicit memory_group(std::size_t bytes) {
    static int number = 0;
    const std::string name = "/trireme_test." + std::to_string(getpid()) + "." + std::to_string(++number);
    std::ifstream groups("/proc/self/cgroup");
    std::string version_1;
    std::string unified;
    for (std::string line; std::getline(groups, line);) {
      const std::size_t memory = line.find(":memory:");
      if (memory != std::string::npos) version_1 = line.substr(memory + 8);
      if (line.starts_with("0::")) unified = line.substr(3);
    }
    if (!version_1.empty()) {  // where it has the memory controller, version 2 has not
      make("/sys/fs/cgroup/memory" + version_1 + name, "memory.limit_in_bytes", bytes);
    } else {  // a group with processes can have none with a limit below it, so a neighbour is made
      make(std::filesystem::path("/sys/fs/cgroup" + unified).parent_path().string() + name, "memory.max", bytes);
    }
  }
  ~memory_group() {
    if (folder_.empty()) return;
    // What the kernel has ended may be on its way out still.
    std::error_code busy;
    for (int attempt = 0; attempt < 500 && !std::filesystem::remove(folder_, busy) && busy; ++attempt) usleep(10000);
  }
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;

  /// Empty when the group is there.
  const std::string& reason() const { return reason_; }
  /// For a shell: what it runs from now on is in the group.
  std::string enter() const { return "echo $$ > '" + folder_ + "/cgroup.procs' && "; }

 private:
  void make(const std::string& folder, const char* limit_file, std::size_t bytes) {
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) {
      reason_ = "cannot make the control group " + folder + ": " + error.message();
      return;
    }
    folder_ = folder;
    if (!(std::ofstream(folder + "/" + limit_file) << bytes << std::flush))
      reason_ = "cannot write " + folder + "/" + limit_file;
  }

  std::string folder_;
  std::string reason_;
};

}  // namespace tri::testing
