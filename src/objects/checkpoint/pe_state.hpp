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
  std::int32_t pes_per_process = 1;
  program_state program;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(collections, read_only, last_single, last_collection, last_section, pes_per_process, program);
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
  bool leaves_arrays = false;  // it knows that they are not in it
};

/// Why something of another layer on this PE is not in checkpoints; empty: it has nothing. Registered before main.
using obstacle_function = std::string (*)();
bool register_array_obstacle(obstacle_function found);

/// Why the state of this PE cannot be written now; empty: it can.
std::string obstacle_to_checkpoint(sched::pe& here, const checkpoint_caller& caller);
/// Writes it. Throws checkpoint_error and what users' functions throw. Returns elements by collection, but for those of
/// groups.
std::vector<std::pair<std::uint32_t, std::uint64_t>> write_pe_state(sched::pe& here,
                                                                    checkpoint_files::state_writer& writer);
/// One record, with what `save` writes. Throws what that throws, too.
void write_record(checkpoint_files::state_writer& writer, const checkpoint_files::record_head& head,
                  os::function_ref<void(output_archive&)> save);
/// Of the job as this PE knows it: without populations and the program's state.
job_state describe_job(sched::pe& here);

/// The bytes of a job_state from its file. Throws checkpoint_error.
std::string read_job_record(const std::string& path, std::uint64_t token, const checkpoint_files::file_summary& file);

/// Throws archive_error when something of a value is left in an archive that has been read. `what` names it.
void check_is_read(input_archive& archive, const std::string& what);

}  // namespace tri::objects
