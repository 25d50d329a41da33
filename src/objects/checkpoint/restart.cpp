// --tri-restart. PE 0 conducts it before the main program (README.md): the collections first, then each PE reads some
// of the files and hands on what belongs elsewhere, and in the end members of groups take over those that are no more.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "checkpoint/folder.hpp"
#include "checkpoint/state_file.hpp"
#include "checkpoint/survival_files.hpp"
#include "config/configuration.hpp"
#include "objects/checkpoint/checkpoint_service.hpp"
#include "objects/checkpoint/memory_checkpoint.hpp"
#include "objects/checkpoint/pe_state.hpp"
#include "objects/checkpoint/request.hpp"
#include "objects/collection_manager.hpp"
#include "objects/teams/local_teams.hpp"
#include "os/standard_output.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/array.hpp"
#include "trireme/detail/objects/section_contribution.hpp"
#include "trireme/nodegroup.hpp"
#include "trireme/placement.hpp"
#include "trireme/run.hpp"
#include "trireme/variables.hpp"

namespace tri {
namespace objects {
namespace {

/// Of this process: what the program asks for. Written by the first PE of the process before its answer to PE 0, which
/// is before every message of the program.
std::optional<program_state> restored;

/// A file of the checkpoint that this PE reads.
struct own_file {
  std::int32_t from = 0;  // the PE that has written it
  std::string path;
  checkpoint_files::file_summary summary;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(from, path, summary);
  }
};

/// What every PE has to know.
struct restart_plan {
  std::uint64_t token = 0;
  std::int32_t pes_before = 1;
  std::int32_t pes_per_process_before = 1;
  std::string job;                    // an archive of the job_state
  std::vector<std::uint64_t> shared;  // by collection: addresses on the host
  std::vector<own_file> own_files;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(token, pes_before, pes_per_process_before, job, shared, own_files);
  }
};

/// A record on its way to the PE that it belongs to.
struct carried_record {
  std::uint32_t kind = 0;
  std::uint32_t type = 0;
  std::uint32_t collection = 0;
  std::int32_t from = 0;  // the PE, or of a node object the process, that has written it
  std::uint64_t number = 0;
};

/// The part of one PE.
class restarting_pe {
 public:
  restarting_pe(sched::pe& here, restart_plan plan) : here_(here), plan_(std::move(plan)) {}

  void create_collections();
  /// Reads until all is read (true) or so much is on its way to other PEs that they should have it first.
  bool read_some();
  void take(const carried_record& record, const char* bytes, std::size_t count);
  /// Elements on this PE, but for those of groups.
  std::uint64_t finish();

 private:
  static constexpr std::size_t most_bytes_sent_at_once = std::size_t{16} << 20;

  int pes() const { return here_.job().pes(); }
  void create_collection(const collection_state& which, std::uint64_t shared);
  void create_arrays(const job_state& job) const;
  void place_array(carried_record record, const std::vector<char>& bytes);
  collection_manager& collection(std::uint32_t id) const;
  void place(const checkpoint_files::record_head& head, const std::vector<char>& bytes, int from);
  void place_element(carried_record record, const std::vector<char>& bytes);
  void place_deleted(carried_record record, const std::vector<char>& bytes);
  void take_team(const carried_record& record, input_archive& archive);
  /// How the states of PEs or processes come together when there are fewer.
  struct sharing_rule {
    bool adds_up;
    bool is_same_everywhere;
  };
  void place_one_of_each(carried_record record, int before, int now, int pes_each, const sharing_rule& rule,
                         const std::string& what, const std::vector<char>& bytes);
  int home_of(const collection_manager& home, std::uint64_t number) const;
  void hand_on(int pe, const carried_record& record, const std::vector<char>& bytes);
  void take_element(const carried_record& record, input_archive& archive);
  void take_node_object(const carried_record& record, input_archive& archive);
  void take_leaving();

  sched::pe& here_;
  const restart_plan plan_;
  std::size_t next_file_ = 0;
  std::unique_ptr<checkpoint_files::state_reader> file_;
  std::size_t sent_ = 0;
  // State of PEs and processes that are no more, by who has it here; then in the order of those.
  std::map<std::pair<std::uint32_t, std::int32_t>, std::unique_ptr<element_base>> leaving_members_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::unique_ptr<node_object>> leaving_node_objects_;
  std::map<std::pair<std::uint64_t, std::int32_t>, std::string> leaving_variables_;
};
thread_local std::unique_ptr<restarting_pe> of_this_pe;
thread_local std::string error_of_record;  // the first one of records that other PEs have handed on

bool leaves(const carried_record& record, int here, int pes_each) { return record.from > here / pes_each; }

job_state read_job(const std::string& bytes) {
  job_state job;
  input_archive archive(bytes.data(), bytes.size());
  archive(job);
  return job;
}

// Members of a group: on PEs that the job had ever, those that are no more as deleted elements.
collection_facts facts_now(collection_facts facts, int pes) {
  facts.creator %= pes;
  if (!facts.one_per_pe) return facts;
  facts.placement = round_robin().number;
  facts.shape.extent[0] = std::max(facts.shape.extent[0], static_cast<std::uint32_t>(pes));
  return facts;
}

collection_manager& restarting_pe::collection(std::uint32_t id) const {
  local_collection* const found = pe_objects::of(here_).find_local_collection(id);
  if (found == nullptr) throw archive_error(fmt::format("there is no collection {}", id));
  return static_cast<collection_manager&>(*found);
}

void restarting_pe::create_collection(const collection_state& which, std::uint64_t shared) {
  pe_objects& objects = pe_objects::of(here_);
  collection_facts facts = facts_now(which.facts, pes());
  facts.shared = reinterpret_cast<collection_shared*>(static_cast<std::uintptr_t>(shared));
  if (facts.placement >= placements()) throw archive_error(fmt::format("{} has no placement", which.name));
  if (facts.map != 0) {
    if (which.map_type >= node_object_types() || node_object_type_of(which.map_type).load == nullptr)
      throw archive_error(fmt::format("the placement map of {} has no state", which.name));
    install_node_object(here_, facts.map, [&] {
      input_archive archive(which.map.data(), which.map.size());
      return node_object_type_of(which.map_type).load(archive);
    });
  }
  if (!placement_fits(facts.placement, facts.map == 0 ? nullptr : known_node_object(facts.map)))
    throw archive_error(fmt::format("the placement map of {} has another state", which.name));
  if (facts.bound_to != 0) static_cast<void>(collection(facts.bound_to));  // throws if it does not exist
  try {
    if (facts.id != 0) objects.add_local_collection(facts, which.name);  // that of single objects exists
  } catch (const std::out_of_range& error) {
    throw std::out_of_range(fmt::format("{}: {}", which.name, error.what()));
  }
  collection(facts.id).begin_restore(pes());
}

void restarting_pe::create_arrays(const job_state& job) const {
  const array_states* const arrays = registered_array_states();
  if (arrays == nullptr) return;
  arrays->begin_behind(job.last_array);
  if (job.arrays.empty()) return;
  input_archive archive(job.arrays.data(), job.arrays.size());
  arrays->create(archive);
  check_is_read(archive, "the description of global arrays");
}

void restarting_pe::create_collections() {
  const job_state job = read_job(plan_.job);
  pe_objects& objects = pe_objects::of(here_);
  objects.begin_singles_behind(job.last_single);
  begin_sections_behind(job.last_section);
  for (const bool is_bound : {false, true})  // what others are bound to comes first
    for (std::size_t number = 0; number < job.collections.size(); ++number)
      if ((job.collections[number].facts.bound_to != 0) == is_bound)
        create_collection(job.collections[number], plan_.shared.at(number));
  create_arrays(job);
  if (here_.local_number() != 0) return;
  const std::vector<read_only_state> variables = read_only_variables();
  for (const auto& [variable, bytes] : job.read_only) {
    input_archive archive(bytes.data(), bytes.size());
    variables.at(variable).saved->load(archive);
    check_is_read(archive, fmt::format("the tri::read_only with number {}", variable));
  }
  restored = job.program;
}

bool restarting_pe::read_some() {
  sent_ = 0;
  for (;;) {
    if (file_ == nullptr) {
      if (next_file_ == plan_.own_files.size()) return true;
      const own_file& next = plan_.own_files[next_file_];
      const checkpoint_files::file_identity identity{plan_.token, static_cast<std::uint64_t>(next.from)};
      file_ = std::make_unique<checkpoint_files::state_reader>(next.path, identity, next.summary);
    }
    while (file_->next()) {
      try {
        place(file_->head(), file_->bytes(), plan_.own_files[next_file_].from);
      } catch (const archive_error& error) {
        throw archive_error(fmt::format("{}: {}", file_->path(), error.what()));
      }
      if (sent_ > most_bytes_sent_at_once) return false;
    }
    file_.reset();
    ++next_file_;
  }
}

void restarting_pe::place(const checkpoint_files::record_head& head, const std::vector<char>& bytes, int from) {
  carried_record record{head.kind, head.type, static_cast<std::uint32_t>(head.collection), from, head.number};
  switch (head.kind) {
    case record_kind::element:
      return place_element(record, bytes);
    case record_kind::deleted:
      return place_deleted(record, bytes);
    case record_kind::variable: {
      const saved_variable& variable = pe_local_variables().at(record.number);
      return place_one_of_each(record, plan_.pes_before, pes(), 1,
                               {variable.merge != nullptr, variable.is_same_everywhere},
                               fmt::format("the tri::pe_local with number {}", record.number), bytes);
    }
    case record_kind::team:  // of PEs by number: where these are others, only its name stays taken
      return hand_on(from % pes(), record, plan_.pes_before == pes() ? bytes : std::vector<char>());
    case record_kind::array:
      return place_array(record, bytes);
    case record_kind::node_object: {
      const auto& type = node_object_type_of(record.type);
      record.from /= plan_.pes_per_process_before;
      return place_one_of_each(record, plan_.pes_before / plan_.pes_per_process_before, here_.job().processes(),
                               here_.job().pes_per_process(), {type.on_shrink != nullptr, type.is_same_everywhere},
                               "the node group of " + type.name, bytes);
    }
    default:
      throw archive_error(fmt::format("a record is of kind {}, which does not exist", head.kind));
  }
}

// With the same number of PEs elements stay where they were, so that their balance is kept.
void restarting_pe::place_element(carried_record record, const std::vector<char>& bytes) {
  const collection_manager& home = collection(record.collection);
  check_element_type(record.type);
  if (home.facts().one_per_pe)
    return place_one_of_each(
        record, plan_.pes_before, pes(), 1,
        {element_type_of(record.type).on_shrink != nullptr, element_type_of(record.type).is_same_everywhere},
        "the group of " + home.name(), bytes);
  const int home_pe = home_of(home, record.number);
  if (plan_.pes_before != pes()) return hand_on(home_pe, record, bytes);
  hand_on(record.from, record, bytes);
  if (home_pe != record.from) {
    record.kind = record_kind::deleted;  // not at home: its place goes along, in `from`
    hand_on(home_pe, record, {});
  }
}

void restarting_pe::place_array(carried_record record, const std::vector<char>& bytes) {
  const array_states* const arrays = registered_array_states();
  if (arrays == nullptr) throw archive_error("a record is of a global array, and this program has none");
  arrays->place(record.number, bytes, [&](int pe, const std::vector<char>& part) { hand_on(pe, record, part); });
}

void restarting_pe::place_deleted(carried_record record, const std::vector<char>& bytes) {
  const collection_manager& home = collection(record.collection);
  if (home.facts().one_per_pe) return;  // follows from the number of PEs
  std::uint64_t last = 0;
  input_archive(bytes.data(), bytes.size()).read(&last, sizeof last);
  record.from = no_pe;
  for (;; ++record.number) {
    hand_on(home_of(home, record.number), record, {});
    if (record.number == last) return;
  }
}

// One of each PE or process: those that are new take a copy, or begin empty where the class adds up; those that are no
// more go to one that adds them up.
void restarting_pe::place_one_of_each(carried_record record, int before, int now, int pes_each,
                                      const sharing_rule& rule, const std::string& what,
                                      const std::vector<char>& bytes) {
  if (record.from >= now) {
    if (rule.adds_up) return hand_on(record.from % now * pes_each, record, bytes);
    if (rule.is_same_everywhere) return;
    throw std::runtime_error(fmt::format(
        "{} has the state of {} {}, and this job has only {}: its class must say what becomes of it, with a member "
        "on_shrink(T& leaving) or same_everywhere, or the job must have as many",
        what, before, record.kind == record_kind::node_object ? "processes" : "PEs", now));
  }
  const bool is_element = record.kind == record_kind::element;
  for (int to = record.from; to < now; to += before) {
    carried_record copy = record;
    const bool begins_empty = to != record.from && rule.adds_up;
    if (begins_empty && record.kind == record_kind::variable) break;
    if (is_element) copy.number = static_cast<std::uint64_t>(to);
    copy.from = to;
    hand_on(to * pes_each, copy, begins_empty ? std::vector<char>() : bytes);
  }
}

int restarting_pe::home_of(const collection_manager& home, std::uint64_t number) const {
  const collection_facts& facts = home.facts();
  if (facts.shape.dense && number >= facts.shape.elements())
    throw archive_error(fmt::format("{} has no element {}", home.name(), number));
  const int pe = home.home_of_restored(number);
  if (pe < 0 || pe >= pes())
    throw std::out_of_range(fmt::format("placement map: element {} was put on PE {}; there are PEs 0..{}",
                                        home.describe(number), pe, pes() - 1));
  return pe;
}

void restarting_pe::take(const carried_record& record, const char* bytes, std::size_t count) {
  input_archive archive(bytes, count);
  switch (record.kind) {
    case record_kind::element:
      return take_element(record, archive);
    case record_kind::deleted:
      return collection(record.collection).restored_elsewhere(record.number, record.from);
    case record_kind::team:
      return take_team(record, archive);
    case record_kind::array:
      return registered_array_states()->take(record.number, bytes, count);
    case record_kind::variable:
      if (leaves(record, here_.number(), 1)) {
        leaving_variables_[{record.number, record.from}] = std::string(bytes, count);
        return;
      }
      pe_local_variables()[record.number].load(archive);
      return check_is_read(archive, fmt::format("the tri::pe_local with number {}", record.number));
    default:
      return take_node_object(record, archive);
  }
}

void restarting_pe::take_element(const carried_record& record, input_archive& archive) {
  collection_manager& home = collection(record.collection);
  const bool is_member = home.facts().one_per_pe;
  if (is_member && leaves(record, here_.number(), 1)) {
    leaving_members_[{record.collection, record.from}] =
        home.load_restored(static_cast<std::uint64_t>(here_.number()), record.type, archive);
    return;
  }
  if (!is_member || archive.left() != 0)
    return home.install_restored(home.load_restored(record.number, record.type, archive));
  current_construction() = {&home, record.number, nullptr};  // begins empty
  const owner_scope before(running_owner);
  home.install_restored(element_type_of(record.type).make());
}

void restarting_pe::take_team(const carried_record& record, input_archive& archive) {
  local_teams& teams = pe_objects::of(here_).teams();
  teams.draw_behind(record.type);
  if (archive.left() == 0) return;
  std::vector<std::int32_t> members;
  archive(members);
  if (!local_teams::is_made_by_split(record.number)) return;
  const auto exists = [&](std::int32_t pe) { return pe >= 0 && pe < pes(); };
  if (!std::ranges::all_of(members, exists) || std::ranges::find(members, here_.number()) == members.end())
    throw archive_error("a team has members that are no PEs, or not this one");
  teams.add(record.number, {members.begin(), members.end()});
}

void restarting_pe::take_node_object(const carried_record& record, input_archive& archive) {
  const node_object_type& type = node_object_type_of(record.type);
  if (type.load == nullptr) throw archive_error(fmt::format("{} has no serialize function", type.name));
  auto loaded = archive.left() != 0 ? type.load(archive) : type.make();
  check_is_read(archive, "the node group of " + type.name);
  if (leaves(record, here_.number(), here_.job().pes_per_process()))
    leaving_node_objects_[{record.collection, record.from}] = std::move(loaded);
  else
    install_node_object(here_, record.collection, [&] { return std::move(loaded); });
}

void restarting_pe::take_leaving() {
  for (auto& [name, leaving] : leaving_members_) {
    element_base* const own = collection(name.first).find(static_cast<std::uint64_t>(here_.number()));
    if (own == nullptr) throw archive_error("a member of a group is missing");
    element_type_of(own->type()).on_shrink(*own, *leaving);
  }
  for (auto& [name, leaving] : leaving_node_objects_) {
    node_object& own = node_object_here(name.first);
    node_object_type_of(own.node_type()).on_shrink(own, *leaving);
  }
  for (auto& [name, bytes] : leaving_variables_) {
    input_archive archive(bytes.data(), bytes.size());
    pe_local_variables()[name.first].merge(archive);
  }
}

std::uint64_t restarting_pe::finish() {
  if (!error_of_record.empty()) throw std::runtime_error(error_of_record);
  take_leaving();
  std::uint64_t elements = 0;
  pe_objects::of(here_).visit_collections([&](local_collection& each) {
    static_cast<collection_manager&>(each).end_restore();
    if (!each.facts().one_per_pe) elements += each.local_elements().size();
  });
  return elements;
}

// ---- a record of another PE

using record_arguments = std::tuple<carried_record, std::string>;
void record_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<record_arguments> arguments(message);
  const auto& [record, bytes] = arguments.values();
  method_scope scope(pe_objects::of(here));
  const owner_scope no_owner(nullptr);
  try {
    of_this_pe->take(record, bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    if (error_of_record.empty()) error_of_record = error.what();
  }
}
const std::uint32_t record_handler = register_handler_of<record_arguments>(&record_deliver, "record of a checkpoint");

void restarting_pe::hand_on(int pe, const carried_record& record, const std::vector<char>& bytes) {
  if (pe == here_.number()) return take(record, bytes.data(), bytes.size());
  post_packed(here_, pe, record_handler, 0, 0,
              pack_arguments<record_arguments>(here_, here_.is_in_this_process(pe), false, record,
                                               std::string(bytes.begin(), bytes.end())));
  sent_ += sizeof record + bytes.size();
}

}  // namespace

// ---- questions of PE 0

/// On the first PE of a host: the shared states of its collections, whose populations these are.
std::vector<std::uint64_t> make_restored_shared(sched::pe& here, std::uint32_t last_collection,
                                                const std::vector<std::uint64_t>& populations) {
  // relaxed: every draw comes after the answer to this. The hosts draw in turns, so all begin behind it.
  here.job().own_host().next_collection.store(last_collection / static_cast<std::uint32_t>(here.job().hosts()) + 1,
                                              std::memory_order_relaxed);
  std::vector<std::uint64_t> addresses;
  for (const std::uint64_t population : populations)
    addresses.push_back(reinterpret_cast<std::uintptr_t>(shared_by_host(here.job(), population)));
  return addresses;
}

void begin_restart(sched::pe& here, restart_plan plan) {
  of_this_pe = std::make_unique<restarting_pe>(here, std::move(plan));
  error_of_record.clear();
  of_this_pe->create_collections();
}

bool read_states(sched::pe&) { return of_this_pe->read_some(); }

std::uint64_t finish_restart(sched::pe&) {
  const std::uint64_t elements = of_this_pe->finish();
  of_this_pe.reset();
  return elements;
}

/// Every element of the job is there.
void notify_restored(sched::pe& here) {
  std::vector<std::pair<local_collection*, std::uint64_t>> elements;  // those of now: a method may delete or make some
  pe_objects::of(here).visit_collections([&](local_collection& each) {
    for (const element_base* const element : each.local_elements()) elements.emplace_back(&each, element->number());
  });
  for (const auto& [home, number] : elements)
    if (element_base* const element = home->find(number))
      if (const auto on_restored = element_type_of(element->type()).on_restored) {
        const owner_scope owner(&element->coroutines());
        on_restored(*element);
      }
  if (here.local_number() != 0) return;
  for_each_node_object([](std::uint32_t, node_object& member) {
    if (const auto on_restored = node_object_type_of(member.node_type()).on_restored) on_restored(member);
  });
}

namespace {

template <class R>
std::vector<R> values_of(std::vector<future<R>>& asked) {
  std::vector<R> values;
  for (future<R>& each : asked) values.push_back(each.get());
  return values;
}
template <auto Function, class... A>
auto ask_all(sched::pe& here, const A&... arguments) {
  std::vector<future<typename question<Function>::result>> asked;
  for (int pe = 0; pe < here.job().pes(); ++pe) asked.push_back(ask<Function>(here, pe, arguments...));
  return asked;
}
void wait_for(std::vector<future<void>>& asked) {
  for (future<void>& each : asked) each.get();
}

/// A checkpoint, wherever it is.
struct restart_source {
  checkpoint_files::manifest contents;
  std::string job;                                 // the bytes of its record
  std::vector<std::vector<own_file>> files_of_pe;  // by the PE that is to read them
};

void check_program(const checkpoint_files::manifest& contents, const std::string& where) {
  if (contents.program != program_identity())
    throw checkpoint_files::checkpoint_error(
        fmt::format("{}: was written by another program, or by another version of this one (identity {:016x}, this is "
                    "{:016x}); only the program that has written a checkpoint can read it",
                    where, contents.program, program_identity()));
}

restart_source source_in(const sched::pe& here, const std::string& folder) {
  restart_source source{checkpoint_files::read_manifest(folder), {}, {}};
  const checkpoint_files::manifest& contents = source.contents;
  check_program(contents, folder);
  const std::string states = folder + "/" + contents.states;
  source.job = read_job_record(checkpoint_files::path_of_job(states), contents.token, contents.job);
  const auto pes = static_cast<std::size_t>(here.job().pes());
  source.files_of_pe.resize(pes);
  for (std::size_t from = 0; from < contents.pes.size(); ++from)
    source.files_of_pe[from % pes].push_back(
        {static_cast<std::int32_t>(from), checkpoint_files::path_of_pe(states, from), contents.pes[from]});
  return source;
}

restart_source source_in(const sched::pe& here, const found_in_memory& found) {
  check_program(found.contents, "memory");
  restart_source source{found.contents, found.job, {}};
  source.files_of_pe.resize(static_cast<std::size_t>(here.job().pes()));
  for (std::size_t from = 0; from < found.parts.size(); ++from)
    source.files_of_pe[static_cast<std::size_t>(found.parts[from].reader)].push_back(
        {static_cast<std::int32_t>(from), found.parts[from].path, found.contents.pes[from]});
  return source;
}

void create_everywhere(sched::pe& here, const restart_source& source, const job_state& job) {
  const sched::runtime& runtime = here.job();
  std::vector<std::uint64_t> populations;
  for (const collection_state& each : job.collections)
    populations.push_back(each.facts.one_per_pe ? static_cast<std::uint64_t>(runtime.pes()) : each.population);
  std::vector<future<std::vector<std::uint64_t>>> asked;
  for (int host = 0; host < runtime.hosts(); ++host)
    asked.push_back(ask<&make_restored_shared>(here, runtime.first_pe_of(host), job.last_collection, populations));
  const std::vector<std::vector<std::uint64_t>> shared = values_of(asked);
  restart_plan plan{source.contents.token,
                    static_cast<std::int32_t>(source.contents.pes.size()),
                    job.pes_per_process,
                    source.job,
                    {},
                    {}};
  std::vector<future<void>> begun;
  for (int pe = 0; pe < runtime.pes(); ++pe) {
    plan.shared = shared[static_cast<std::size_t>(runtime.host_of(pe))];
    plan.own_files = source.files_of_pe[static_cast<std::size_t>(pe)];
    begun.push_back(ask<&begin_restart>(here, pe, plan));
  }
  wait_for(begun);
}

void restore(sched::pe& here, const restart_source& source, const std::string& where) {
  create_everywhere(here, source, read_job(source.job));
  for (bool is_complete = false; !is_complete;) {
    auto reading = ask_all<&read_states>(here);
    is_complete = true;
    for (future<bool>& each : reading)
      if (!each.get()) is_complete = false;
    quiescence().get();  // what was handed on has arrived
  }
  auto finishing = ask_all<&finish_restart>(here);
  std::uint64_t elements = 0;
  for (const std::uint64_t of_pe : values_of(finishing)) elements += of_pe;
  if (elements != source.contents.elements)
    throw checkpoint_files::checkpoint_error(
        fmt::format("{}: has {} elements; its manifest counts {}", where, elements, source.contents.elements));
}

// One of the hosts that had each part is lost, perhaps. Before the program runs, there are two of each again.
void restore_from_memory(sched::pe& here, const found_in_memory& found) {
  restore(here, source_in(here, found), "memory");
  goes_on_from(found);
  if (here.job().hosts() == 1) return;
  try {
    renew_copies(*restored);
  } catch (const remote_error& error) {
    os::print_error_line(fmt::format("trireme: the state stays in memory once only: {}", error.what()));
  }
}

// Which checkpoint a job under `trireme run --survive` goes on from; else the one of the command line.
void restart_from_last(sched::pe& here) {
  const config::configuration& values = here.job().values();
  std::string folder = values.restart;
  const auto last = values.survive.empty() ? std::nullopt : checkpoint_files::find_checkpoint(values.survive);
  if (last) folder = last->folder;
  const std::string memory = checkpoint_files::memory_checkpoint_of(values.survive);
  const bool has_memory = !values.survive.empty() && !checkpoint_files::is_shared(values.survive);
  // Without a note as well: the host that had it may be lost.
  const auto found = has_memory && (!last || folder == memory) ? find_in_memory(here) : std::nullopt;
  if (found) {
    restore_from_memory(here, *found);
  } else if (has_memory && folder == memory) {
    throw checkpoint_files::checkpoint_error(
        "the last checkpoint in memory is lost: the hosts that are left do not have the states of all PEs");
  } else if (!folder.empty()) {
    const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
    restore(here, source_in(here, path), path);
  } else {
    return has_memory ? forget_memory(here) : void();
  }
  auto notified = ask_all<&notify_restored>(here);
  wait_for(notified);
}

}  // namespace

void restart_if_wanted(sched::pe& here, bool has_one_main_program) {
  const config::configuration& values = here.job().values();
  if (values.restart.empty() && (values.survive.empty() || !has_one_main_program)) return;
  try {
    if (!has_one_main_program)
      throw std::runtime_error("only programs of tri::run can be restarted, which have one main program");
    restart_from_last(here);
  } catch (const std::exception& error) {
    here.job().fail(fmt::format("cannot restart: {}", error.what()));
  }
}

void reset_restored_state() { restored.reset(); }

const program_state& restored_program_state() {
  if (!restored) throw std::logic_error("tri::restored_state: this job was not started with --tri-restart");
  return *restored;
}

void report_other_state(const program_state& found, const std::string& wanted) {
  throw std::runtime_error(
      found.type.empty()
          ? "tri::restored_state: the checkpoint has no state of the main program"
          : fmt::format("tri::restored_state: the checkpoint has a state of type {}, not {}", found.type, wanted));
}

}  // namespace objects

bool is_restarted() {
  static_cast<void>(sched::this_pe());
  return objects::restored.has_value();
}

}  // namespace tri
