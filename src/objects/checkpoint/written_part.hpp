// What the PEs write at one moment, as PE 0 hears of it; the same for a folder and for memory.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "objects/checkpoint/request.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/task.hpp"

namespace tri::objects {

/// Messages that a PE has sent and those whose handlers have ended here, but for the one that runs.
struct own_counts {
  std::uint64_t sent = 0;
  std::uint64_t processed = 0;
  friend bool operator==(const own_counts&, const own_counts&) = default;
};

struct written_part {
  own_counts counts;
  checkpoint_files::file_summary file;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> populations;
  std::uint32_t last_single = 0;
  std::uint64_t last_section = 0;
  std::uint64_t last_array = 0;
  std::uint64_t arrays = 0;  // array_states::digest
  bool was_busy = false;     // it has sent or run messages since it was asked
  template <class Archive>
  void serialize(Archive& archive) {
    archive(counts, file, populations, last_single, last_section, last_array, arrays, was_busy);
  }
};

/// Where the PEs write.
struct writing_place {
  std::string states;     // the folder; empty: into memory
  std::int32_t slot = 0;  // of memory
  std::uint64_t token = 0;
  bool leaves_arrays = false;  // checkpoint_caller::leaves_arrays
  template <class Archive>
  void serialize(Archive& archive) {
    archive(states, slot, token, leaves_arrays);
  }
};

/// All PEs write, PE 0 first, which runs nothing else before. By PE; throws checkpoint_error when one could not, or
/// something of the program was under way.
task<std::vector<written_part>> write_parts(sched::pe& here, const writing_place& place);

/// The manifest without the summary of the job's file, and what is to be in that file.
struct described_job {
  checkpoint_files::manifest contents;
  std::string bytes;
};
described_job describe_parts(sched::pe& here, const writing_place& place, const std::vector<written_part>& parts,
                             program_state program);

/// The answers of PEs, all of them, and the first error.
template <class R>
struct all_answers {
  std::vector<std::optional<R>> of_pes;  // those that did not fail
  std::string error;
};
template <class R>
task<> await_all(std::vector<future<R>>& asked, all_answers<R>& answers) {
  for (future<R>& each : asked) {
    answers.of_pes.emplace_back();
    try {
      answers.of_pes.back() = co_await each;
    } catch (const remote_error& error) {
      if (answers.error.empty()) answers.error = error.what();
    }
  }
}
/// The same, where an error is one of the checkpoint.
template <class R>
task<std::vector<R>> all_or_error(std::vector<future<R>>& asked) {
  all_answers<R> answers;
  co_await await_all(asked, answers);
  if (!answers.error.empty()) throw checkpoint_files::checkpoint_error(answers.error);
  std::vector<R> values;
  for (std::optional<R>& each : answers.of_pes) values.push_back(std::move(*each));
  co_return values;
}

}  // namespace tri::objects
