// The slot: a number that this process has alone among the processes of its job on the host. It is the number of an
// abstract Unix socket that the process has bound; the kernel takes it back when the process dies, however it dies.
// Claimed inside the first malloc: nothing here allocates or needs the C++ runtime.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <string_view>

#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

/// Address of the socket of `slot`: "\0trireme-mpi.<user>.<job>.<slot>". Its owner may listen there in MPI_Init; it is
/// of type SOCK_SEQPACKET. Returns the length for bind and connect.
socklen_t slot_address(std::string_view job, unsigned slot, sockaddr_un& address);

struct slot_claim {
  int slot = -1;    ///< -1: none was to be had, `reason` says why
  int socket = -1;  ///< bound, not listening; closes on exec
  text_line reason;
};

/// Claims the lowest free slot of the job.
slot_claim claim_slot(std::string_view job);

/// Moves a descriptor out of the way of the program, which may count on low numbers: to one near the top of the first
/// 1024. Returns the new number, or the old one when there is no room.
int move_descriptor_up(int descriptor);

}  // namespace tri::mpi
