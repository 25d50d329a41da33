#include "objects/checkpoint/memory_checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "checkpoint/folder.hpp"
#include "checkpoint/memory_copies.hpp"
#include "checkpoint/memory_folder.hpp"
#include "checkpoint/state_file.hpp"
#include "config/configuration.hpp"
#include "objects/checkpoint/pe_state.hpp"
#include "objects/collection_manager.hpp"
#include "os/hash.hpp"
#include "os/packet_socket.hpp"
#include "trireme/run.hpp"

namespace tri::objects {
namespace {

using checkpoint_files::checkpoint_error;
using checkpoint_files::kept_memory;

/// A copy of another PE's state, on its way to here or complete.
struct copy_of_part {
  explicit copy_of_part(std::string path) : memory(std::move(path)) {}
  kept_memory memory;
  std::uint64_t token = 0;
  std::uint64_t received = 0;
};

struct memory_of_pe {
  std::unique_ptr<kept_memory> own[2];
  std::size_t sent = 0;                                                 // of the own one, to the next host
  std::map<std::pair<int, int>, std::unique_ptr<copy_of_part>> copies;  // by slot and PE
  std::string error_of_copy;
  // On PE 0:
  checkpoint_files::memory_slots slots;
  bool others_are_outdated = true;
};
thread_local memory_of_pe of_this_pe;

const std::string& survival_folder(sched::pe& here) { return here.job().values().survive; }

std::string path_in_slot(sched::pe& here, int slot, int part) {
  const std::string& folder = survival_folder(here);
  checkpoint_files::make_slot(folder, here.job().host(), slot);
  return checkpoint_files::path_of_pe(checkpoint_files::slot_of_host(folder, here.job().host(), slot),
                                      static_cast<std::uint64_t>(part));
}

int pes_of_host(const sched::pe& here, int host) {
  return here.job().processes_of_host(host) * here.job().pes_per_process();
}

/// The PE that keeps the copy: all PEs of the next host get about as many.
int keeper_of(const sched::pe& here, int pe) {
  const sched::runtime& job = here.job();
  const int host = job.host_of(pe), next = checkpoint_files::buddy_of(host, job.hosts());
  return job.first_pe_of(next) + (pe - job.first_pe_of(host)) % pes_of_host(here, next);
}

// ---- copies on their way

struct copied_chunk {
  std::int32_t part = 0;
  std::int32_t slot = 0;
  std::uint64_t token = 0;
  std::uint64_t offset = 0;
};
using chunk_arguments = std::tuple<copied_chunk, std::string>;

void take_chunk(sched::pe& here, const copied_chunk& chunk, const std::string& bytes) {
  std::unique_ptr<copy_of_part>& copy = of_this_pe.copies[{chunk.slot, chunk.part}];
  if (copy == nullptr) copy = std::make_unique<copy_of_part>(path_in_slot(here, chunk.slot, chunk.part));
  if (copy->token != chunk.token) {
    copy->memory.clear();
    copy->token = chunk.token;
    copy->received = 0;
  }
  copy->memory.put(chunk.offset, bytes.data(), bytes.size());
  copy->received += bytes.size();
}

void chunk_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<chunk_arguments> arguments(message);
  const auto& [chunk, bytes] = arguments.values();
  try {
    take_chunk(here, chunk, bytes);
  } catch (const std::exception& error) {
    if (of_this_pe.error_of_copy.empty()) of_this_pe.error_of_copy = error.what();
  }
}
const std::uint32_t chunk_handler = register_handler_of<chunk_arguments>(&chunk_deliver, "copy of a checkpoint");

/// A copy that has arrived.
struct kept_copy {
  std::int32_t part = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

// ---- questions of PE 0

/// Sends the next bytes of the own state; true: that was all.
bool send_copy(sched::pe& here, std::int32_t slot, std::uint64_t token) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20, most_at_once = std::size_t{16} << 20;
  const kept_memory& own = *of_this_pe.own[slot];
  const int to = keeper_of(here, here.number());
  for (std::size_t sent = 0; of_this_pe.sent < own.size() && sent < most_at_once;) {
    const std::size_t count = std::min(chunk_bytes, own.size() - of_this_pe.sent);
    const copied_chunk chunk{here.number(), slot, token, of_this_pe.sent};
    post_packed(here, to, chunk_handler, 0, 0,
                pack_arguments<chunk_arguments>(here, here.is_in_this_process(to), false, chunk,
                                                std::string(own.data() + of_this_pe.sent, count)));
    of_this_pe.sent += count;
    sent += count;
  }
  return of_this_pe.sent == own.size();
}

std::vector<kept_copy> kept_copies(sched::pe&, std::int32_t slot, std::uint64_t token) {
  if (!of_this_pe.error_of_copy.empty()) throw checkpoint_error(std::exchange(of_this_pe.error_of_copy, {}));
  std::vector<kept_copy> kept;
  for (auto& [name, copy] : of_this_pe.copies) {
    if (name.first != slot || copy->token != token) continue;
    copy->memory.finish();
    kept.push_back({name.second, copy->received});
  }
  return kept;
}

/// On the first PE of each host. Nothing but the answer matters.
bool count_on_host(sched::pe& here, std::int32_t slot, const std::string& manifest, const std::string& job) {
  const sched::runtime& runtime = here.job();
  const std::string& folder = survival_folder(here);
  if (runtime.hosts() > runtime.machines())
    checkpoint_files::note_processes(folder, runtime.host(), runtime.first_process_of(runtime.host()),
                                     runtime.processes_of_host(runtime.host()));
  checkpoint_files::count_generation(checkpoint_files::slot_of_host(folder, runtime.host(), slot),
                                     checkpoint_files::parse_manifest(manifest, "the manifest of PE 0"), job);
  return true;
}

bool remove_outdated_memory(sched::pe& here, std::uint64_t token) {
  checkpoint_files::remove_outdated(survival_folder(here), token);
  return true;
}

checkpoint_files::held_memory list_memory_of_host(sched::pe& here) {
  return checkpoint_files::list_memory(survival_folder(here));
}

std::string read_job_of_memory(sched::pe&, const std::string& path, std::uint64_t token,
                               const checkpoint_files::file_summary& summary) {
  return read_job_record(path, token, summary);
}

namespace {

template <auto Function, class... A>
auto ask_hosts(sched::pe& here, const A&... arguments) {
  std::vector<future<typename question<Function>::result>> asked;
  for (int host = 0; host < here.job().hosts(); ++host)
    asked.push_back(ask<Function>(here, here.job().first_pe_of(host), arguments...));
  return asked;
}
template <auto Function, class... A>
auto ask_pes(sched::pe& here, const A&... arguments) {
  std::vector<future<typename question<Function>::result>> asked;
  for (int pe = 0; pe < here.job().pes(); ++pe) asked.push_back(ask<Function>(here, pe, arguments...));
  return asked;
}

task<> copy_parts(sched::pe& here, int slot, std::uint64_t token, const std::vector<written_part>& parts,
                  checkpoint_files::copies_under_way& copies) {
  for (bool all_sent = false; !all_sent;) {
    auto sending = ask_pes<&send_copy>(here, slot, token);
    const std::vector<bool> sent = co_await all_or_error(sending);
    all_sent = std::ranges::find(sent, false) == sent.end();
    co_await quiescence();  // what was sent has arrived, so that memory for messages stays bounded
  }
  auto asking = ask_pes<&kept_copies>(here, slot, token);
  const std::vector<std::vector<kept_copy>> kept = co_await all_or_error(asking);
  for (const std::vector<kept_copy>& of_pe : kept)
    for (const kept_copy& each : of_pe)
      if (static_cast<std::size_t>(each.part) < parts.size() &&
          each.bytes == parts[static_cast<std::size_t>(each.part)].file.bytes)
        copies.copied(each.part);
}

std::string job_file_of(sched::pe& here, int slot, std::uint64_t token, const std::string& bytes,
                        checkpoint_files::file_summary& summary) {
  const std::string& folder = survival_folder(here);
  kept_memory file(checkpoint_files::slot_of_host(folder, here.job().host(), slot) + "/unfinished-job");
  checkpoint_files::state_writer writer(file, {token, checkpoint_files::file_identity::job_part});
  writer.write({record_kind::job, 0, 0, 0}, bytes.data(), bytes.size());
  summary = writer.finish();
  unlink(file.path().c_str());
  return {file.data(), file.size()};
}

std::vector<int> hosts_of_pes(const sched::runtime& job) {
  std::vector<int> hosts;
  for (int pe = 0; pe < job.pes(); ++pe) hosts.push_back(job.host_of(pe));
  return hosts;
}

}  // namespace

kept_memory& begin_own_memory(sched::pe& here, int slot) {
  std::unique_ptr<kept_memory>& memory = of_this_pe.own[slot];
  if (memory == nullptr) memory = std::make_unique<kept_memory>(path_in_slot(here, slot, here.number()));
  of_this_pe.sent = 0;
  return *memory;
}

task<> write_to_memory(sched::pe& here, program_state program, bool leaves_arrays) {
  const sched::runtime& job = here.job();
  const checkpoint_files::memory_slots::place place = of_this_pe.slots.begin();
  const std::uint64_t token = os::hashed(os::random_text());
  const writing_place into{{}, place.slot, token, leaves_arrays};
  const std::vector<written_part> parts = co_await write_parts(here, into);
  checkpoint_files::copies_under_way copies(hosts_of_pes(job), job.hosts());
  for (int pe = 0; pe < job.pes(); ++pe) copies.written(pe);
  if (job.hosts() > 1) co_await copy_parts(here, place.slot, token, parts, copies);
  if (!copies.may_count()) throw checkpoint_error("not all copies have arrived on the next host");

  described_job described = describe_parts(here, into, parts, std::move(program));
  described.contents.token = token;
  described.contents.states = checkpoint_files::name_of_generation(place.generation);
  const std::string file = job_file_of(here, place.slot, token, described.bytes, described.contents.job);
  auto counting = ask_hosts<&count_on_host>(here, place.slot, checkpoint_files::text_of(described.contents), file);
  co_await all_or_error(counting);
  for (int host = 0; host < job.hosts(); ++host) copies.counted(host);
  of_this_pe.slots.completed(place);
  if (!std::exchange(of_this_pe.others_are_outdated, false)) co_return;
  auto removing = ask_hosts<&remove_outdated_memory>(here, token);
  co_await all_or_error(removing);
}

// ---- after a loss

namespace {

struct named_manifest {
  checkpoint_files::manifest contents;
  int slot = 0;
};

bool is_part(const checkpoint_files::held_file& file, const named_manifest& of, std::uint64_t part) {
  return file.slot == of.slot && file.token == of.contents.token && file.part == part &&
         file.bytes == of.contents.pes[part].bytes;
}

checkpoint_files::held_generation held_of(const named_manifest& named, const checkpoint_files::held_memory& memory) {
  const checkpoint_files::manifest& contents = named.contents;
  checkpoint_files::held_generation held{.generation = checkpoint_files::generation_of(contents),
                                         .token = contents.token,
                                         .slot = named.slot,
                                         .counts = false,
                                         .has = {}};
  held.has.resize(contents.pes.size());
  for (const checkpoint_files::held_manifest& each : memory.manifests)
    held.counts = held.counts || each.text == checkpoint_files::text_of(contents);
  for (const checkpoint_files::held_file& each : memory.files)
    if (each.part < contents.pes.size() && is_part(each, named, each.part)) held.has[each.part] = true;
  return held;
}

}  // namespace

std::optional<found_in_memory> find_in_memory(sched::pe& here) {
  const sched::runtime& job = here.job();
  std::vector<checkpoint_files::held_memory> memories;
  for (auto& each : ask_hosts<&list_memory_of_host>(here)) memories.push_back(each.get());
  std::map<std::uint64_t, named_manifest> known;  // by token
  for (const checkpoint_files::held_memory& memory : memories)
    for (const checkpoint_files::held_manifest& each : memory.manifests) {
      checkpoint_files::manifest contents = checkpoint_files::parse_manifest(each.text, "a manifest in memory");
      const std::uint64_t token = contents.token;
      if (checkpoint_files::generation_of(contents) != 0) known[token] = {std::move(contents), each.slot};
    }
  std::vector<std::vector<checkpoint_files::held_generation>> of_hosts;
  for (const checkpoint_files::held_memory& memory : memories) {
    auto& of_host = of_hosts.emplace_back();
    for (const auto& [token, named] : known) of_host.push_back(held_of(named, memory));
  }
  const auto chosen = checkpoint_files::choose_copies(of_hosts);
  if (!chosen) return {};
  const auto named = known.find(chosen->token);
  found_in_memory found{named->second.contents, {}, {}, chosen->slot};
  const std::vector<int> readers = checkpoint_files::choose_readers(*chosen, job.hosts());
  std::vector<int> next(static_cast<std::size_t>(job.hosts()));
  for (std::size_t part = 0; part < readers.size(); ++part) {
    const auto host = static_cast<std::size_t>(readers[part]);
    const auto file = std::ranges::find_if(memories[host].files,
                                           [&](const auto& each) { return is_part(each, named->second, part); });
    found.parts.push_back(
        {job.first_pe_of(readers[part]) + next[host]++ % pes_of_host(here, readers[part]), file->path});
  }
  for (const checkpoint_files::held_manifest& each : memories[static_cast<std::size_t>(chosen->manifest_of)].manifests)
    if (each.text == checkpoint_files::text_of(found.contents))
      found.job = ask<&read_job_of_memory>(here, job.first_pe_of(chosen->manifest_of), each.job, found.contents.token,
                                           found.contents.job)
                      .get();
  return found;
}

void goes_on_from(const found_in_memory& found) {
  of_this_pe.slots.goes_on_from({checkpoint_files::generation_of(found.contents), found.slot});
}

void forget_memory(sched::pe& here) {
  constexpr std::uint64_t no_token = 0;
  for (auto& each : ask_hosts<&remove_outdated_memory>(here, no_token)) each.get();
}

void end_memory_of_checkpoints() { of_this_pe = {}; }

}  // namespace tri::objects
