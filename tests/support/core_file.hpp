// Reads what a core file holds, for tests of what a crash writes.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/detail/os/sanitizer.hpp"

namespace tri::testing {

/// Why a crash of this process's children leaves no core file where they run; empty if it does.
inline std::string why_no_core_files() {
  if (os::under_thread_sanitizer) return "a core file would hold the shadow memory of the sanitizer";
  if (std::getenv("ASAN_OPTIONS") != nullptr) return "the address sanitizer forbids core files (disable_coredump)";
  std::string pattern;
  std::getline(std::ifstream("/proc/sys/kernel/core_pattern"), pattern);
  if (pattern.empty() || pattern[0] == '|' || pattern[0] == '/')
    return "core files go elsewhere: /proc/sys/kernel/core_pattern is '" + pattern + "'";
  if (rlimit limit{}; getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_max != RLIM_INFINITY)
    return "the hard limit of the size of core files (ulimit -Hc) is too low";
  return {};
}

class core_file {
 public:
  /// The one core file in the folder; empty() if there is none or more.
  explicit core_file(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("core")) found.push_back(entry.path());
    if (found.size() != 1) return;
    file_.open(found[0], std::ios::binary);
    Elf64_Ehdr header{};
    if (!read_at(0, &header, sizeof header) || header.e_type != ET_CORE) return;
    segments_.resize(header.e_phnum);
    if (!read_at(header.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr))) segments_.clear();
    std::erase_if(segments_, [](const Elf64_Phdr& each) { return each.p_type != PT_LOAD; });
  }

  bool empty() const { return segments_.empty(); }
  /// How many bytes of the range the file holds.
  std::uint64_t bytes_of(std::uint64_t first, std::uint64_t last) const {
    std::uint64_t sum = 0;
    for (const Elf64_Phdr& each : segments_) {
      const std::uint64_t begin = std::max<std::uint64_t>(first, each.p_vaddr);
      const std::uint64_t end = std::min<std::uint64_t>(last, each.p_vaddr + each.p_filesz);
      if (begin < end) sum += end - begin;
    }
    return sum;
  }
  /// What lay there; empty if the file does not hold all of it.
  std::string memory(const void* address, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(address);
    for (const Elf64_Phdr& each : segments_) {
      if (first < each.p_vaddr || first + bytes > each.p_vaddr + each.p_filesz) continue;
      std::string found(bytes, '\0');
      if (read_at(each.p_offset + (first - each.p_vaddr), found.data(), bytes)) return found;
    }
    return {};
  }

 private:
  bool read_at(std::uint64_t offset, void* to, std::size_t bytes) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  }
  std::ifstream file_;
  std::vector<Elf64_Phdr> segments_;
};

}  // namespace tri::testing
