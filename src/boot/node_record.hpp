// Where a process runs, as it reports to the others through a launcher that is not ours: such launchers name nodes as
// they please. Two processes are on the same host when they can open each other's memory: the same kernel, the same
// namespaces of network (for the socket that carries descriptors), processes and users, and the same user. Pure
// functions, but for this_node().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "boot/job_layout.hpp"

namespace tri::boot {

inline constexpr std::uint32_t node_record_version = 1;

struct node_record {
  std::uint32_t magic = 0x74726e64;  // "trnd"
  std::uint32_t version = node_record_version;
  std::int32_t pid = 0;
  std::uint32_t user = 0;
  std::uint64_t network_namespace = 0;  // inode numbers
  std::uint64_t process_namespace = 0;
  std::uint64_t user_namespace = 0;
  std::array<char, 40> boot_id{};  // texts end with a zero
  std::array<char, 64> host_name{};
  std::array<char, 64> socket_name{};  // abstract; where the first process of a host waits for the others

  bool same_host(const node_record& other) const;
};
static_assert(sizeof(node_record) == 208);

// Throws std::system_error when the system does not report it.
node_record this_node(const std::string& socket_name);

std::span<const std::byte> bytes_of(const node_record& record);
// Throws protocol_error: other size or magic, another version, a text without end.
node_record read_node_record(std::span<const std::byte> bytes);

// The numbers of the processes, so that those of a host are contiguous: hosts in the order of their lowest rank, within
// a host by rank.
struct numbering {
  layout machines;
  std::vector<int> rank_of_process;
  std::vector<int> process_of_rank;
};
numbering number_processes(std::span<const node_record> by_rank);

}  // namespace tri::boot
