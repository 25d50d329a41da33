// Rows of the suite `coll` on several hosts with a delay between them (host_network.hpp): collectives, where all ranks
// begin at the same time and the time is until the last has ended, and the rate of messages of many pairs. Ours beside
// the same library by itself; rounds and messages between hosts are counted from our plans. `program`: the trireme
// command, which starts the drop-in.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> mpi_host_rows(const std::string& program);
/// Of the suite `mpi`: messages between two ranks of different hosts.
std::vector<row_definition> mpi_host_message_rows(const std::string& program);

}  // namespace tri::bench
