// Checkpoints in memory as files in /dev/shm, inside the folder of the launcher that lets the job survive:
//
//   FOLDER/host-1/slot-0/manifest    of a generation that counts (memory_copies.hpp)
//                       /job         what all PEs have in common
//                       /pe-3        states of PEs: of the own ones, and copies of those of the host before
//   FOLDER/host-1/processes          whose memory this is, where hosts are emulated
//
// Another machine has a FOLDER of its own. The files outlive the processes of the job, and go with the launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"

namespace tri::checkpoint_files {

std::string slot_of_host(const std::string& survival_folder, int host, int slot);
/// The folders of a host's slot. Throws checkpoint_error.
void make_slot(const std::string& survival_folder, int host, int slot);

/// The name of a generation in its manifest, in place of a folder of states.
std::string name_of_generation(std::uint64_t generation);
/// 0: it is none.
std::uint64_t generation_of(const manifest& contents);

/// What is found in the memory of this machine.
struct held_file {
  std::string path;
  std::int32_t slot = 0;
  std::uint64_t token = 0;
  std::uint64_t part = 0;
  std::uint64_t bytes = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(path, slot, token, part, bytes);
  }
};
struct held_manifest {
  std::int32_t slot = 0;
  std::string text;
  std::string job;  ///< path of the job's file beside it
  template <class Archive>
  void serialize(Archive& archive) {
    archive(slot, text, job);
  }
};
struct held_memory {
  std::vector<held_file> files;
  std::vector<held_manifest> manifests;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(files, manifests);
  }
};
/// Of all hosts whose memory this machine has: more than one where hosts are emulated.
held_memory list_memory(const std::string& survival_folder);

/// From now on the generation in this slot counts, on this host: the states are complete, here and elsewhere. Files of
/// other generations go from the slot. `job` is the contents of the job's file. Throws checkpoint_error.
void count_generation(const std::string& slot, const manifest& contents, const std::string& job);
/// Whose memory that of a host is; so many processes from this one on. Throws checkpoint_error.
void note_processes(const std::string& survival_folder, int host, int first, int count);
/// A process was lost: with it goes the memory of its emulated host. Nothing where note_processes() was not called.
void lose_memory_of(const std::string& survival_folder, int process);
/// Memory of hosts that have no manifest of this checkpoint: of a time when the job had other hosts.
void remove_outdated(const std::string& survival_folder, std::uint64_t token);

}  // namespace tri::checkpoint_files
