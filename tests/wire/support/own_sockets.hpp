// What this process has opened, as the system lists it, and how a test becomes another user.
#pragma once

#include <dirent.h>
#include <grp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::wire::test {

inline std::vector<std::vector<std::string>> rows_of(const char* table) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

/// Inodes of the sockets of this process.
inline std::set<std::string> own_sockets() {
  std::set<std::string> inodes;
  DIR* const folder = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(folder)) {
    std::array<char, 64> target = {};
    if (readlinkat(dirfd(folder), entry->d_name, target.data(), target.size() - 1) <= 0) continue;
    const std::string name = target.data();
    if (name.starts_with("socket:[")) inodes.insert(name.substr(8, name.size() - 9));
  }
  closedir(folder);
  return inodes;
}

/// Names of abstract sockets that the kernel made up: anybody of this network namespace may send to them.
inline std::vector<std::string> autobound_sockets(const std::set<std::string>& only) {
  std::vector<std::string> names;
  for (const auto& row : rows_of("/proc/net/unix"))
    if (row.size() == 8 && row[7].size() == 6 && row[7][0] == '@' && (only.empty() || only.contains(row[6])))
      names.push_back(row[7].substr(1));
  return names;
}

/// Addresses on which this process listens, as the kernel writes them ("0100007F" is 127.0.0.1).
inline std::set<std::string> listening_addresses() {
  std::set<std::string> addresses;
  const std::set<std::string> own = own_sockets();
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"})
    for (const auto& row : rows_of(table))
      if (row.size() > 9 && row[3] == "0A" && own.contains(row[9]))
        addresses.insert(row[1].substr(0, row[1].find(':')));
  return addresses;
}

/// The TCP port on which this process listens on 127.0.0.1.
inline std::uint16_t listening_port() {
  const std::set<std::string> own = own_sockets();
  for (const auto& row : rows_of("/proc/net/tcp"))
    if (row.size() > 9 && row[3] == "0A" && own.contains(row[9]))
      return static_cast<std::uint16_t>(std::stoul(row[1].substr(row[1].find(':') + 1), nullptr, 16));
  return 0;
}

inline void turn_into_nobody() {
  constexpr uid_t nobody = 65534;
  if (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)
    throw std::runtime_error(std::string("cannot become another user: ") + std::strerror(errno));
}

}  // namespace tri::wire::test
