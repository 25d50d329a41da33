// Requests of tests, in one line each.
#pragma once

#include <ostream>
#include <string>

#include "coll/algorithms.hpp"
#include "coll/request.hpp"

namespace tri::coll {

inline request request_of(collective what, shape hosts, std::uint64_t count, int root = 0, bool commutative = true) {
  request made;
  made.what = what;
  made.hosts = std::move(hosts);
  made.blocks = block_layout::uniform(count);
  made.root = root;
  made.extent = 4;
  made.commutative = commutative;
  return made;
}

inline std::string text_of(const request& asked, const algorithm& by) {
  return std::string(name_of(asked.what)) + ' ' + std::string(by.name) + ", hosts " +
         std::to_string(asked.hosts.hosts()) + ", ranks " + std::to_string(asked.hosts.ranks()) + ", root " +
         std::to_string(asked.root) + ", elements " + std::to_string(asked.blocks.begin(1)) +
         (asked.commutative ? "" : ", ordered") + (asked.in_place ? ", in place" : "");
}

}  // namespace tri::coll
