// How many messages a broadcast over all PEs sends between hosts and inside them, by the tree it takes (Mei 2012,
// 6.3.3). Counted on the tree itself, message by message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tri::tools {

struct broadcast_tree {
  enum class shape : std::uint8_t {
    binomial,  // over PEs: the parent of p is p without its lowest bit
    children,  // over PEs: p sends to c * p + 1 ... c * p + c
    hosts,     // over hosts, with c children each; the PE that receives passes it on inside its host
  };
  shape kind = shape::hosts;
  int children = 4;  // c; not used by binomial
};

/// "binomial", "children,2", "hosts", "hosts,8". Throws std::invalid_argument that names what would be right.
broadcast_tree parse_broadcast_tree(std::string_view text);
std::string name_of(const broadcast_tree& tree);

struct broadcast_messages {
  std::int64_t between_hosts = 0;
  std::int64_t inside_hosts = 0;
  int steps_between_hosts = 0;          // on the longest way from the root
  std::int64_t most_between_hosts = 0;  // sent to other hosts by one PE
};

/// PE 0 broadcasts; PEs are numbered host by host. Both numbers at least 1.
broadcast_messages count_messages(const broadcast_tree& tree, int hosts, int pes_of_host);

}  // namespace tri::tools
