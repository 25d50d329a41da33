#include "objects/checkpoint/pe_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "objects/collection_manager.hpp"
#include "objects/teams/local_teams.hpp"
#include "os/hash.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/section_contribution.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/nodegroup.hpp"
#include "trireme/placement.hpp"
#include "trireme/variables.hpp"

namespace tri::objects {
namespace {

/// Passes what `save` writes into an archive to `use`, with its size.
template <class Save, class Use>
void with_archive(Save&& save, Use&& use) {
  output_archive archive;
  save(archive);
  const output_archive::contents written = archive.take();
  use(written.block, written.bytes);
  arena::release(written.block);
}

const array_states*& states_of_arrays() {
  static const array_states* registered = nullptr;
  return registered;
}

std::string as_text(const void* bytes, std::size_t count) { return {static_cast<const char*>(bytes), count}; }

std::string obstacle_of_teams(const sched::pe& here, const local_teams& teams) {
  std::string obstacle;
  teams.visit([&](const local_team& team) {
    if (team.has_collectives())
      obstacle =
          fmt::format("a collective of a tri::team of {} PEs has not ended on PE {}", team.size(), here.number());
  });
  return obstacle;
}

// Of the teams that splits have made; all PEs have the others.
void write_teams(const local_teams& teams, checkpoint_files::state_writer& writer) {
  teams.visit([&](const local_team& team) {
    if (!local_teams::is_made_by_split(team.id())) return;
    std::vector<std::int32_t> pes;
    for (int rank = 0; rank < team.size(); ++rank) pes.push_back(team.pe_of(rank));
    write_record(writer, {record_kind::team, teams.drawn(), 0, team.id()},
                 [&](output_archive& archive) { archive(pes); });
  });
  // Names of teams that were freed are not given again either.
  if (teams.drawn() != 0)
    write_record(writer, {record_kind::team, teams.drawn(), 0, 0},
                 [](output_archive& archive) { archive(std::vector<std::int32_t>()); });
}

// Of all groups together: coroutines belong to the PE on which they began.
std::string obstacle_of_node_coroutines(const sched::pe& here, const checkpoint_caller& caller) {
  const bool has_caller = caller.pe_of_node_group == static_cast<std::uint32_t>(here.number());
  if (pe_objects::of(here).node_coroutines().count() <= (has_caller ? 1U : 0U)) return {};
  return fmt::format("a coroutine of a node group has not ended on PE {}", here.number());
}

// A node object is of its process; its first PE has it in its file.
std::string obstacle_of_process() {
  std::string obstacle;
  for_each_node_object([&](std::uint32_t, node_object& member) {
    const node_object_type& type = node_object_type_of(member.node_type());
    if (type.save == nullptr)
      obstacle =
          fmt::format("a node group of {}, whose class has no default constructor or no serialize function", type.name);
  });
  std::uint32_t number = 0;
  for (const read_only_state& each : read_only_variables()) {
    if (each.is_published && each.saved->save == nullptr)
      obstacle = fmt::format("the tri::read_only with number {}, whose type has no serialize function", number);
    ++number;
  }
  return obstacle;
}

}  // namespace

std::uint64_t program_identity() {
  std::uint64_t hash = os::hashed_word(os::hash_of_nothing, sched::handler_fingerprint());
  hash = os::hashed_word(hash, element_type_fingerprint());
  for (std::uint32_t type = 0; type < node_object_types(); ++type)
    hash = os::hashed_name(hash, node_object_type_of(type).name);
  for (const std::size_t count : {pe_local_variables().size(), read_only_variables().size(), std::size_t{placements()}})
    hash = os::hashed_word(hash, count);
  return hash;
}

bool register_array_states(const array_states* states) {
  states_of_arrays() = states;
  return true;
}
const array_states* registered_array_states() { return states_of_arrays(); }

std::string obstacle_to_checkpoint(sched::pe& here, const checkpoint_caller& caller) {
  const pe_objects& objects = pe_objects::of(here);
  const element_base* waiting = nullptr;
  if (caller.collection != checkpoint_caller::none)
    if (const local_collection* const home = objects.find_local_collection(caller.collection))
      waiting = home->find(caller.number);
  std::string obstacle;
  objects.visit_collections([&](local_collection& each) {
    if (obstacle.empty()) obstacle = static_cast<collection_manager&>(each).obstacle_to_checkpoint(waiting);
  });
  if (obstacle.empty()) obstacle = obstacle_of_node_coroutines(here, caller);
  if (obstacle.empty()) obstacle = incomplete_section_contribution();
  if (obstacle.empty() && here.local_number() == 0) obstacle = obstacle_of_process();
  if (obstacle.empty()) obstacle = obstacle_of_teams(here, pe_objects::of(here).teams());
  if (obstacle.empty() && states_of_arrays() != nullptr) obstacle = states_of_arrays()->obstacle();
  return obstacle;
}

void write_record(checkpoint_files::state_writer& writer, const checkpoint_files::record_head& head,
                  os::function_ref<void(output_archive&)> save) {
  if (!writer.is_in_memory())
    return with_archive(save, [&](const void* bytes, std::size_t count) { writer.write(head, bytes, count); });
  struct room_in_memory final : output_archive::outside_room {
    explicit room_in_memory(checkpoint_files::state_writer& to) : writer(to) {}
    char* enlarge(std::size_t least, std::size_t& capacity) override { return writer.room_of_record(least, capacity); }
    checkpoint_files::state_writer& writer;
  } room(writer);
  output_archive archive(room);
  save(archive);
  writer.end_record(head, archive.take().bytes);
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> write_pe_state(sched::pe& here,
                                                                    checkpoint_files::state_writer& writer,
                                                                    bool leaves_arrays) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> populations;
  pe_objects::of(here).visit_collections([&](local_collection& each) {
    static_cast<collection_manager&>(each).write_elements(writer);
    if (!each.facts().one_per_pe) populations.emplace_back(each.facts().id, each.local_elements().size());
  });
  write_teams(pe_objects::of(here).teams(), writer);
  std::uint64_t number = 0;
  for (const saved_variable& each : pe_local_variables()) {
    if (each.save != nullptr)
      write_record(writer, {record_kind::variable, 0, 0, number}, [&](output_archive& archive) { each.save(archive); });
    ++number;
  }
  if (states_of_arrays() != nullptr && !leaves_arrays) states_of_arrays()->save(writer);
  if (here.local_number() != 0) return populations;
  for_each_node_object([&](std::uint32_t group, node_object& member) {
    const node_object_type& type = node_object_type_of(member.node_type());
    write_record(writer, {record_kind::node_object, member.node_type(), group, 0},
                 [&](output_archive& archive) { type.save(member, archive); });
  });
  return populations;
}

std::string read_job_record(const std::string& path, std::uint64_t token,
                            const checkpoint_files::file_summary& summary) {
  checkpoint_files::state_reader file(path, {token, checkpoint_files::file_identity::job_part}, summary);
  if (!file.next() || file.head().kind != record_kind::job)
    throw checkpoint_files::checkpoint_error(fmt::format("{}: is damaged: it is not of a job", path));
  std::string bytes(file.bytes().begin(), file.bytes().end());
  if (file.next()) throw checkpoint_files::checkpoint_error(fmt::format("{}: is damaged: it goes on", path));
  return bytes;
}

job_state describe_job(sched::pe& here, bool leaves_arrays) {
  job_state job;
  const pe_objects& objects = pe_objects::of(here);
  job.pes_per_process = here.job().pes_per_process();
  objects.visit_collections([&](local_collection& each) {
    collection_state& added = job.collections.emplace_back(collection_state{each.facts(), each.name()});
    added.facts.shared = nullptr;
    if (added.facts.map != 0) {  // the places of its elements follow from it, before anything else is restored
      const node_object& map = node_object_here(added.facts.map);
      added.map_type = map.node_type();
      with_archive([&](output_archive& archive) { node_object_type_of(added.map_type).save(map, archive); },
                   [&](const void* bytes, std::size_t count) { added.map = as_text(bytes, count); });
    }
    job.last_collection = std::max(job.last_collection, each.facts().id);
  });
  for_each_node_object(
      [&](std::uint32_t group, node_object&) { job.last_collection = std::max(job.last_collection, group); });
  std::uint32_t number = 0;
  for (const read_only_state& each : read_only_variables()) {
    if (each.is_published)
      with_archive(
          [&](output_archive& archive) { each.saved->save(archive); },
          [&](const void* bytes, std::size_t count) { job.read_only.emplace_back(number, as_text(bytes, count)); });
    ++number;
  }
  if (states_of_arrays() != nullptr && !leaves_arrays)
    with_archive([](output_archive& archive) { states_of_arrays()->describe(archive); },
                 [&](const void* bytes, std::size_t count) { job.arrays = as_text(bytes, count); });
  return job;
}

}  // namespace tri::objects
