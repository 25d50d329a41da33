// The peers of the suite `arrays`: OpenSHMEM, Global Arrays, MPI windows and coarrays, those whose packages were
// installed when Trireme was configured. Each is an ordinary program of two processes (peers/), started by its own
// launcher on one host, over the loopback device, or on two hosts that are network namespaces.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

enum class peer_place { same_host, loopback, veth };

// All peers at one place for one group of series (peers/peer.h): started once for all rows that need them. Used by one
// thread.
class array_peers {
 public:
  // Medians of a series, in the unit; a peer that lacks the series is left out, one that failed is in the note.
  peer_figures find(context& tools, peer_place place, const std::string& group, const std::string& series,
                    const std::string& unit);

 private:
  struct measured {
    std::map<std::string, std::map<std::string, std::vector<double>>> of;  // nanoseconds by peer and series
    std::string faults;
  };
  const measured& hold(context& tools, peer_place place, const std::string& group);
  std::map<std::pair<peer_place, std::string>, measured> held_;
};

// For row_definition::peers.
std::function<peer_figures(context&)> peers_at(const std::shared_ptr<array_peers>& all, peer_place place,
                                               const std::string& group, const std::string& series,
                                               const std::string& unit);

}  // namespace tri::bench
