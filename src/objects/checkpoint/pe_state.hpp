// The state of one PE in a checkpoint: what may not be in it, and its records.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/state_file.hpp"
#include "trireme/archive.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/detail/objects/local_collection.hpp"

namespace tri::objects {

/// Kinds of records. In files, so they stay what they are.
struct record_kind {
  static constexpr std::uint32_t element = 1;      // type, collection, number; bytes: kept messages, the object
  static constexpr std::uint32_t deleted = 2;      // collection, first number; bytes: the last number
  static constexpr std::uint32_t variable = 3;     // number of a pe_local
  static constexpr std::uint32_t node_object = 4;  // type, collection; in the file of the first PE of a process
  static constexpr std::uint32_t job = 5;          // in the job's file: a job_state
  static constexpr std::uint32_t team = 6;         // type: numbers drawn for teams; number: its name; bytes: its PEs
  static constexpr std::uint32_t array = 7;        // number: its name; bytes: a box of its elements
};

struct collection_state {
  collection_facts facts;
  std::string name;
  std::uint64_t population = 0;
  std::uint32_t map_type = 0;  // of its placement map, if that has a state; and the state, an archive
  std::string map = {};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(facts, name, population, map_type, map);
  }
};

/// What all PEs have in common.
struct job_state {
  std::vector<collection_state> collections;
  std::vector<std::pair<std::uint32_t, std::string>> read_only;  // number of the variable, its value
  std::uint32_t last_single = 0;                                 // numbers of single objects up to this one are taken
  std::uint32_t last_collection = 0;                             // the same of collections and node groups
  std::uint64_t last_section = 0;                                // and of sections
  std::uint64_t last_array = 0;                                  // and of global arrays and locks
  std::string arrays;  // what array_states::describe has written; empty: there is none
  std::int32_t pes_per_process = 1;
  program_state program;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(collections, read_only, last_single, last_collection, last_section, last_array, arrays, pes_per_process,
            program);
  }
};

/// Of this program: a checkpoint is read by the one that has written it, for it has numbers of classes and variables.
std::uint64_t program_identity();

/// The element whose coroutine waits for a checkpoint, or the PE where that of a node group does, if one does.
struct checkpoint_caller {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t collection = none;
  std::uint32_t pe_of_node_group = none;
  std::uint64_t number = 0;
  bool leaves_arrays = false;  // global arrays are not to be in it
};

/// The part of global arrays, which are of a layer above. Called by the threads of PEs.
struct array_states {
  /// Why something on this PE cannot be written now; empty: it can. Direct accesses of this PE have ended then.
  std::string (*obstacle)();
  /// The numbers that this PE has given to arrays and locks up to now.
  std::uint64_t (*last_number)();
  /// Of what all PEs must have made alike: arrays with a piece, the numbers of what they make together.
  std::uint64_t (*digest)();
  /// On PE 0: what every PE must know before `place`.
  void (*describe)(output_archive& to);
  /// Records of kind `array`, of the elements on this PE.
  void (*save)(checkpoint_files::state_writer& to);
  /// New numbers begin behind this one.
  void (*begin_behind)(std::uint64_t number);
  /// Makes the arrays, of zeros. Throws std::invalid_argument where one cannot be dealt to the PEs of this job.
  void (*create)(input_archive& described);
  /// Calls hand_on(pe, bytes of a record) for the parts of a record, by the PEs that have them now. Throws
  /// archive_error, as `take`.
  void (*place)(std::uint64_t number, const std::vector<char>& record,
                os::function_ref<void(int pe, const std::vector<char>& part)> hand_on);
  void (*take)(std::uint64_t number, const char* part, std::size_t bytes);
};
/// Before main.
bool register_array_states(const array_states* states);
/// Null: the program has neither global arrays nor global locks.
const array_states* registered_array_states();

/// Why the state of this PE cannot be written now; empty: it can.
std::string obstacle_to_checkpoint(sched::pe& here, const checkpoint_caller& caller);
/// Writes it. Throws checkpoint_error and what users' functions throw. Returns elements by collection, but for those of
/// groups.
std::vector<std::pair<std::uint32_t, std::uint64_t>> write_pe_state(sched::pe& here,
                                                                    checkpoint_files::state_writer& writer,
                                                                    bool leaves_arrays);
/// One record, with what `save` writes. Throws what that throws, too.
void write_record(checkpoint_files::state_writer& writer, const checkpoint_files::record_head& head,
                  os::function_ref<void(output_archive&)> save);
/// Of the job as this PE knows it: without populations and the program's state.
job_state describe_job(sched::pe& here, bool leaves_arrays);

/// The bytes of a job_state from its file. Throws checkpoint_error.
std::string read_job_record(const std::string& path, std::uint64_t token, const checkpoint_files::file_summary& file);

/// Throws archive_error when something of a value is left in an archive that has been read. `what` names it.
void check_is_read(input_archive& archive, const std::string& what);

}  // namespace tri::objects
