// The folder of a checkpoint on the disk:
//
//   FOLDER/manifest          which states are the checkpoint
//   FOLDER/states-3/job      what all PEs have in common
//   FOLDER/states-3/pe-0     of PE 0, and so on
//
// A new checkpoint makes another folder of states; then one rename replaces the manifest. Whatever kills the writers,
// at any moment: the manifest names states that are complete. States that it does not name are removed by the next
// writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "os/unique_fd.hpp"

namespace tri::checkpoint_files {

std::string path_of_pe(const std::string& states, std::uint64_t pe);
std::string path_of_job(const std::string& states);

/// Removes the states of each so-many-th PE; those who share this remove all of them. The folder stays.
void remove_share_of_states(const std::string& states, int share, int shares);

/// The checkpoint of a folder, for restarts. Throws checkpoint_error, also when there is none.
manifest read_manifest(const std::string& folder);

/// A checkpoint that is being written; by one process of a job.
class unfinished_checkpoint {
 public:
  /// Makes the folder if there is none, and one for the states. Throws checkpoint_error, also when another process
  /// writes a checkpoint there now.
  explicit unfinished_checkpoint(std::string folder);
  /// Without finish(): nothing has happened.
  ~unfinished_checkpoint();
  unfinished_checkpoint(const unfinished_checkpoint&) = delete;
  unfinished_checkpoint& operator=(const unfinished_checkpoint&) = delete;

  std::string states() const { return folder_ + "/" + name_; }
  std::uint64_t token() const { return token_; }
  /// From now on this is the checkpoint of the folder. All files are on the disk already; `contents.states` and `token`
  /// are filled in.
  void commit(manifest contents);
  /// Paths of the states that have no manifest any more.
  std::vector<std::string> replaced() const;
  void remove_replaced() const;
  void finish(manifest contents) {
    commit(std::move(contents));
    remove_replaced();
  }

 private:
  std::vector<std::string> states_but(const std::string& kept) const;
  void remove_states_but(const std::string& kept) const;

  const std::string folder_;
  os::unique_fd lock_;  // of the folder; the kernel gives up that of a dead process
  std::string name_;
  std::uint64_t token_ = 0;
  bool is_finished_ = false;
};

}  // namespace tri::checkpoint_files
