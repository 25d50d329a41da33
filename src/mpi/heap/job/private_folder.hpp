// A folder of this host that belongs to the user alone: it holds a job's bootstrap sockets, and no other user can take
// a name in it first, connect to a socket in it, or put a link into it. It is checked when opened and used through its
// descriptor: it cannot be replaced in between, and the length of its path does not limit sockets.
//
// Used inside the first malloc: nothing here allocates or needs the C++ runtime.
#pragma once

#include <string_view>

#include "mpi/heap/job/start_environment.hpp"
#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

struct private_folder {
  int descriptor = -1;  ///< O_PATH, closes on exec; the caller closes it. -1: none, see `reason`
  text_line path;
  text_line reason;  ///< one line: each folder that was tried, what is wrong with it, and what is required
};

/// The first of these that is or can be made a folder of this user with mode 0700: "trireme" in $XDG_RUNTIME_DIR and in
/// /run/user/<user>, "trireme-<user>" in /tmp and in /dev/shm, ".trireme" in $HOME, where no other user can be first.
private_folder open_private_folder(const start_environment& environment);

/// `name` in `parent`, created when missing. False: `problem` describes what is wrong with it.
bool open_private_folder_at(std::string_view parent, std::string_view name, private_folder& folder, text_line& problem);

}  // namespace tri::mpi
