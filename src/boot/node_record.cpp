#include "boot/node_record.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "boot/bootstrap_messages.hpp"

namespace tri::boot {
namespace {

std::uint64_t inode_of(const char* path) {
  struct stat facts {};
  if (stat(path, &facts) != 0)
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot see {}", path));
  return facts.st_ino;
}

// Cut to what fits.
template <std::size_t size>
std::array<char, size> text_array(const std::string& text) {
  std::array<char, size> made{};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), made.begin());
  return made;
}

}  // namespace

bool node_record::same_host(const node_record& other) const {
  return boot_id == other.boot_id && network_namespace == other.network_namespace &&
         process_namespace == other.process_namespace && user_namespace == other.user_namespace && user == other.user;
}

node_record this_node(const std::string& socket_name) {
  node_record record;
  record.pid = getpid();
  record.user = geteuid();
  record.network_namespace = inode_of("/proc/self/ns/net");
  record.process_namespace = inode_of("/proc/self/ns/pid");
  record.user_namespace = inode_of("/proc/self/ns/user");
  constexpr const char* boot_id_file = "/proc/sys/kernel/random/boot_id";
  std::string boot_id;
  if (!std::getline(std::ifstream(boot_id_file), boot_id))
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot read {}", boot_id_file));
  record.boot_id = text_array<40>(boot_id);
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot read the name of the host");
  record.host_name = text_array<64>(name);
  record.socket_name = text_array<64>(socket_name);
  return record;
}

std::span<const std::byte> bytes_of(const node_record& record) { return std::as_bytes(std::span(&record, 1)); }

node_record read_node_record(std::span<const std::byte> bytes) {
  // Magic and version first: a process of another version may send another size.
  std::array<std::uint32_t, 2> magic_and_version{};
  if (bytes.size() >= sizeof magic_and_version)
    std::memcpy(magic_and_version.data(), bytes.data(), sizeof magic_and_version);
  if (magic_and_version[0] != node_record().magic)
    throw protocol_error(fmt::format("{} bytes are not a node record", bytes.size()));
  if (magic_and_version[1] != node_record_version) {
    throw protocol_error(fmt::format(
        "record of a node of version {} instead of {}: the processes come from different versions of Trireme",
        magic_and_version[1], node_record_version));
  }
  node_record record;
  if (bytes.size() != sizeof record)
    throw protocol_error(fmt::format("a record of a node has {} bytes instead of {}", bytes.size(), sizeof record));
  std::memcpy(static_cast<void*>(&record), bytes.data(), sizeof record);
  if (record.boot_id.back() != 0 || record.host_name.back() != 0 || record.socket_name.back() != 0)
    throw protocol_error("a string in the node record is not terminated");
  return record;
}

numbering number_processes(std::span<const node_record> by_rank) {
  std::vector<std::vector<int>> ranks_of_host;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const auto host = std::find_if(ranks_of_host.begin(), ranks_of_host.end(), [&](const std::vector<int>& ranks) {
      return by_rank[static_cast<std::size_t>(ranks.front())].same_host(by_rank[rank]);
    });
    if (host == ranks_of_host.end())
      ranks_of_host.push_back({static_cast<int>(rank)});
    else
      host->push_back(static_cast<int>(rank));
  }
  numbering made;
  std::vector<int> first{0};
  made.process_of_rank.resize(by_rank.size());
  for (const std::vector<int>& ranks : ranks_of_host) {
    for (const int rank : ranks) {
      made.process_of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(made.rank_of_process.size());
      made.rank_of_process.push_back(rank);
    }
    first.push_back(static_cast<int>(made.rank_of_process.size()));
  }
  made.machines = layout(std::move(first));
  return made;
}

}  // namespace tri::boot
