// tri::checkpoint. PE 0 conducts it (README.md): it waits for quiescence, asks all PEs whether they can be written,
// lets all write, and completes the folder.
#include "trireme/checkpoint.hpp"

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
#include "objects/checkpoint/written_part.hpp"
#include "os/hash.hpp"
#include "os/packet_socket.hpp"
#include "trireme/detail/objects/section_contribution.hpp"
#include "trireme/run.hpp"
#include "trireme/task.hpp"

namespace tri {
namespace objects {
namespace {

own_counts counts_of(const sched::pe& here) { return {here.counters().sent.read(), here.counters().processed.read()}; }

struct service {
  bool has_one_main_program = false;
  own_counts at_question;
  // On PE 0:
  bool is_busy = false;
  bool is_renewal = false;  // what is written is what the job goes on from
  coroutine_owner conducting;
};
thread_local std::unique_ptr<service> of_this_pe;

written_part write_part(sched::pe& here, const writing_place& place) {
  written_part part;
  part.counts = counts_of(here);
  const auto number = static_cast<std::uint64_t>(here.number());
  const checkpoint_files::file_identity identity{place.token, number};
  std::optional<checkpoint_files::state_writer> writer;
  if (place.states.empty())
    writer.emplace(begin_own_memory(here, place.slot), identity);
  else
    writer.emplace(checkpoint_files::path_of_pe(place.states, number), identity);
  part.populations = write_pe_state(here, *writer, place.leaves_arrays);
  part.file = writer->finish();
  part.last_single = pe_objects::of(here).last_single();
  part.last_section = sections_made_here();
  if (const array_states* const arrays = registered_array_states()) {
    part.last_array = arrays->last_number();
    part.arrays = arrays->digest();
  }
  return part;
}

}  // namespace

// ---- questions of PE 0

/// The obstacle to a checkpoint; empty: there is none.
std::string prepare_checkpoint(sched::pe& here, const checkpoint_caller& caller) {
  of_this_pe->at_question = counts_of(here);
  return obstacle_to_checkpoint(here, caller);
}

/// Nothing has happened on this PE since, if it has sent the answer and ended the question.
written_part write_checkpoint_part(sched::pe& here, const writing_place& place) {
  const own_counts expected{of_this_pe->at_question.sent + 1, of_this_pe->at_question.processed + 1};
  if (counts_of(here) == expected) return write_part(here, place);
  written_part part;
  part.was_busy = true;
  return part;
}

/// Its share of the states that a new checkpoint has replaced.
bool remove_replaced_states(sched::pe& here, const std::vector<std::string>& replaced) {
  for (const std::string& states : replaced)
    checkpoint_files::remove_share_of_states(states, here.number(), here.job().pes());
  return true;
}

namespace {

constexpr const char* others_send =
    "messages were sent while it was being written: only the caller of tri::checkpoint may run then, not the main "
    "program without waiting, nor others that wait for tri::quiescence()";

// No message crosses the moment at which the PEs wrote: each did nothing between the question and that, so that none
// was received before it was sent; and as many were processed as were sent, but for the requests to write and the
// message that PE 0 runs.
void check_nothing_in_flight(const std::vector<written_part>& parts) {
  std::uint64_t sent = 0, processed = 0;
  for (const written_part& part : parts) {
    if (part.was_busy) throw checkpoint_files::checkpoint_error(others_send);
    sent += part.counts.sent;
    processed += part.counts.processed;
  }
  if (sent - processed != parts.size()) throw checkpoint_files::checkpoint_error(others_send);
}

// After a restart all PEs have the arrays of PE 0, and the same number comes next on all of them.
void check_same_arrays(const std::vector<written_part>& parts) {
  for (std::size_t pe = 1; pe < parts.size(); ++pe)
    if (parts[pe].arrays != parts.front().arrays)
      throw checkpoint_files::checkpoint_error(
          fmt::format("PE {} has not made the same global arrays and locks as PE 0: a checkpoint is possible when all "
                      "PEs have made, or freed, those that they make together",
                      pe));
}

}  // namespace

task<std::vector<written_part>> write_parts(sched::pe& here, const writing_place& place) {
  std::vector<future<written_part>> writing;
  for (int pe = 1; pe < here.job().pes(); ++pe) writing.push_back(ask<&write_checkpoint_part>(here, pe, place));
  std::vector<written_part> parts;
  std::string error;
  try {
    parts.push_back(write_part(here, place));
  } catch (const std::exception& failed) {
    error = failed.what();
  }
  all_answers<written_part> others;
  co_await await_all(writing, others);  // also after an error: they must have closed their files
  if (error.empty()) error = others.error;
  if (!error.empty()) throw checkpoint_files::checkpoint_error(error);
  for (std::optional<written_part>& each : others.of_pes) parts.push_back(std::move(*each));
  check_nothing_in_flight(parts);
  check_same_arrays(parts);
  co_return parts;
}

described_job describe_parts(sched::pe& here, const writing_place& place, const std::vector<written_part>& parts,
                             program_state program) {
  described_job described;
  checkpoint_files::manifest& contents = described.contents;
  contents.program = program_identity();
  contents.processes = static_cast<std::uint64_t>(here.job().processes());
  job_state job = describe_job(here, place.leaves_arrays);
  job.program = std::move(program);
  std::map<std::uint64_t, std::uint64_t> populations;
  for (const written_part& part : parts) {
    contents.pes.push_back(part.file);
    job.last_single = std::max(job.last_single, part.last_single);
    job.last_section = std::max(job.last_section, part.last_section);
    job.last_array = std::max(job.last_array, part.last_array);
    for (const auto& [collection, elements] : part.populations) populations[collection] += elements;
  }
  for (collection_state& each : job.collections) {
    each.population = populations[each.facts.id];
    contents.elements += each.population;
  }
  output_archive archive;
  archive(job);
  const output_archive::contents written = archive.take();
  described.bytes.assign(static_cast<const char*>(written.block), written.bytes);
  arena::release(written.block);
  return described;
}

namespace {

task<> write_to_folder(sched::pe& here, const std::string& path, program_state program, bool leaves_arrays) {
  checkpoint_files::unfinished_checkpoint folder(path);
  const writing_place place{folder.states(), 0, folder.token(), leaves_arrays};
  const std::vector<written_part> parts = co_await write_parts(here, place);
  described_job described = describe_parts(here, place, parts, std::move(program));
  checkpoint_files::state_writer writer(checkpoint_files::path_of_job(folder.states()),
                                        {folder.token(), checkpoint_files::file_identity::job_part});
  writer.write({record_kind::job, 0, 0, 0}, described.bytes.data(), described.bytes.size());
  described.contents.job = writer.finish();
  folder.commit(std::move(described.contents));
  // Large files take time to be removed; each PE removes some.
  std::vector<future<bool>> removing;
  for (int pe = 1; pe < here.job().pes(); ++pe)
    removing.push_back(ask<&remove_replaced_states>(here, pe, folder.replaced()));
  remove_replaced_states(here, folder.replaced());
  all_answers<bool> removed;
  co_await await_all(removing, removed);
  folder.remove_replaced();
}

bool is_memory(sched::pe& here, const std::string& folder) {
  const std::string& survival = here.job().values().survive;
  return !survival.empty() && folder == checkpoint_files::memory_checkpoint_of(survival) &&
         !checkpoint_files::is_shared(survival);
}

// The launcher hears of it, and starts other processes with this state if it is to.
void note_completed(sched::pe& here, const std::string& folder) {
  const std::string& survival = here.job().values().survive;
  if (survival.empty()) return;
  checkpoint_files::note_checkpoint(survival, {os::hashed(os::random_text()), folder});
  if (checkpoint_files::requested_processes(survival)) here.job().request_stop(checkpoint_files::resize_status);
}

task<> write_all(sched::pe& here, std::string folder, program_state program, checkpoint_caller caller) {
  co_await quiescence();
  std::vector<future<std::string>> asked;
  for (int pe = 1; pe < here.job().pes(); ++pe) asked.push_back(ask<&prepare_checkpoint>(here, pe, caller));
  std::vector<std::string> obstacles = co_await all_or_error(asked);
  // From here to its own writing PE 0 runs no other message.
  obstacles.insert(obstacles.begin(), prepare_checkpoint(here, caller));
  for (const std::string& each : obstacles)
    if (!each.empty()) throw checkpoint_files::checkpoint_error(each);
  if (is_memory(here, folder))
    co_await write_to_memory(here, std::move(program), caller.leaves_arrays);
  else
    co_await write_to_folder(here, folder, std::move(program), caller.leaves_arrays);
  if (!std::exchange(of_this_pe->is_renewal, false)) note_completed(here, folder);
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

using request = std::tuple<std::string, program_state, checkpoint_caller, promise<void>>;

void request_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<request> arguments(message);
  auto& [folder, program, caller, answer] = arguments.values();
  service& own = *of_this_pe;
  if (!own.has_one_main_program)
    return answer.fail("tri::checkpoint: only for programs of tri::run: the main programs of others cannot restart");
  if (own.is_busy) return answer.fail(fmt::format("tri::checkpoint: {}: another checkpoint is being written", folder));
  own.is_busy = true;
  const owner_scope owner(&own.conducting);
  write_all(here, folder, std::move(program), caller)
      .detach(own.conducting,
              [answer = answer, folder = folder](const std::exception_ptr& error, std::monostate* ended) {
                if (error == nullptr && ended == nullptr) return;  // the job ends
                of_this_pe->is_busy = false;
                if (error == nullptr) return answer.set();
                std::string why = text_of(error);
                answer.fail(why.starts_with(folder) ? "tri::checkpoint: " + why
                                                    : fmt::format("tri::checkpoint: {}: {}", folder, why));
              });
}
const std::uint32_t request_handler = register_handler_of<request>(&request_deliver, "checkpoint request");

}  // namespace

void install_checkpoint_service(sched::pe&, bool has_one_main_program) {
  of_this_pe = std::make_unique<service>();
  of_this_pe->has_one_main_program = has_one_main_program;
}

bool is_writing_checkpoint() { return of_this_pe != nullptr && of_this_pe->is_busy; }

void end_checkpoint_service(sched::pe&) {
  of_this_pe.reset();
  end_memory_of_checkpoints();
}

void renew_copies(program_state state) {
  of_this_pe->is_renewal = true;
  try {
    begin_checkpoint_in_memory(std::move(state)).get();
  } catch (...) {
    of_this_pe->is_renewal = false;  // the next one is the program's
    throw;
  }
}

namespace {

future<void> request_checkpoint(const std::string& folder, program_state state, bool leaves_arrays) {
  auto& here = sched::this_pe();
  future<void> result;
  checkpoint_caller caller;
  if (running_owner != nullptr && running_owner->element() != nullptr) {
    const element_base& element = *running_owner->element();
    caller.collection = element.home().facts().id;
    caller.number = element.number();
  }
  if (running_owner == &pe_objects::of(here).node_coroutines())
    caller.pe_of_node_group = static_cast<std::uint32_t>(here.number());
  caller.leaves_arrays = leaves_arrays;
  post_packed(here, 0, request_handler, 0, 0,
              pack_arguments<request>(here, here.is_in_this_process(0), false,
                                      std::filesystem::absolute(folder).lexically_normal().string(), std::move(state),
                                      caller, result.get_promise()));
  return result;
}

}  // namespace

future<void> begin_checkpoint(const std::string& folder, program_state state) {
  if (folder.empty()) throw std::invalid_argument("tri::checkpoint: the path of the folder is empty");
  return request_checkpoint(folder, std::move(state), false);
}

// Into memory if the path is empty. Declared in trireme/array_files.hpp.
[[gnu::visibility("default")]] future<void> begin_checkpoint_without_arrays(const std::string& folder,
                                                                            program_state state) {
  const std::string& survival = sched::this_pe().job().values().survive;
  return request_checkpoint(folder.empty() ? checkpoint_files::memory_checkpoint_of(survival) : folder,
                            std::move(state), true);
}

bool survives_losses() { return !sched::this_pe().job().values().survive.empty(); }

future<void> begin_checkpoint_in_memory(program_state state) {
  return begin_checkpoint(checkpoint_files::memory_checkpoint_of(sched::this_pe().job().values().survive),
                          std::move(state));
}

future<void> ready_future() {
  future<void> ready;
  ready.get_promise().set();
  return ready;
}

}  // namespace objects
}  // namespace tri
