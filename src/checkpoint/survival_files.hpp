// How a launcher and the job that it lets survive (`trireme run --survive`) speak with each other: by small files in a
// folder of the launcher's, which also has the checkpoint in memory. They outlive every process of the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tri::checkpoint_files {

/// The exit status of a job that ends to go on with another number of processes (EX_TEMPFAIL of sysexits.h).
inline constexpr int resize_status = 75;

/// Where the job writes its checkpoint in memory.
std::string memory_checkpoint_of(const std::string& survival_folder);

/// A folder that all hosts see: what is in it is there once, for no host takes it along when it is lost.
bool is_shared(const std::string& survival_folder);
void mark_as_shared(const std::string& survival_folder);

/// The checkpoint from which the job would go on.
struct last_checkpoint {
  std::uint64_t token = 0;
  std::string folder;
};
/// By the job, when it is complete; of this process only one thread at a time. Throws checkpoint_error.
void note_checkpoint(const std::string& survival_folder, const last_checkpoint& completed);
/// None: the job has completed none yet.
std::optional<last_checkpoint> find_checkpoint(const std::string& survival_folder);

/// A number of processes that the user wants (`trireme resize`); none: the user is content. Throws checkpoint_error.
void request_processes(const std::string& survival_folder, int processes);
std::optional<int> requested_processes(const std::string& survival_folder);
void forget_request(const std::string& survival_folder);

}  // namespace tri::checkpoint_files
