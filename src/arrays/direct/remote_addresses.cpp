#include "arrays/direct/remote_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "arena/arena.hpp"
#include "config/configuration.hpp"
#include "sched/process_runtime.hpp"
#include "trireme/detail/arrays/requests.hpp"

namespace tri::arrays {
namespace {

using note_arguments = std::tuple<address_note>;

void serve_invalidation(sched::pe&, sched::envelope& message) {
  objects::unpacked_arguments<note_arguments> arguments(message);
  remote_addresses::of_process()->invalidated(std::get<0>(arguments.values()));
}
void serve_acknowledgement(sched::pe&, sched::envelope& message) {
  objects::unpacked_arguments<note_arguments> arguments(message);
  remote_addresses::of_process()->acknowledged(static_cast<std::int32_t>(message.source),
                                               std::get<0>(arguments.values()));
}
bool any_pe_serves(const sched::pe&, const sched::envelope&, int) { return true; }

std::uint32_t register_note(sched::handler_function run, const char* name) {
  return sched::register_handler(run, name, nullptr, &objects::drop_arguments<note_arguments>, nullptr, nullptr,
                                 nullptr, objects::form_of<note_arguments>(), &any_pe_serves);
}
const std::uint32_t invalidation_handler = register_note(&serve_invalidation, "invalidation of a remote address");
const std::uint32_t acknowledgement_handler =
    register_note(&serve_acknowledgement, "acknowledgement that a remote address is not used");

void send_note(int pe, std::uint32_t handler, const address_note& note) {
  sched::pe& here = sched::this_pe();
  objects::post_packed(here, pe, handler, 0, 0,
                       objects::pack_arguments<note_arguments>(here, here.is_in_this_process(pe), false, note));
}

chunking chunking_of(const config::configuration& values) {
  return {.strategy = values.rma_registration == config::registration_choice::everything
                          ? registration_strategy::everything
                          : registration_strategy::chunks,
          .chunk_bytes = values.rma_chunk_bytes};
}

address_cache_options cache_options(const sched::runtime& job, remote_memory_adapter& adapter) {
  const config::configuration& values = job.values();
  return {.most_entries = static_cast<std::size_t>(std::max(values.rma_cache_entries, 1)),
          .is_on = values.rma_cache_entries > 0,
          .caches_puts = values.rma_cached_puts,
          .dropped = [&job, &adapter](const address_key& key, const remote_address& where) {
            adapter.forget(job.process_of(static_cast<int>(key.host)), where);
          }};
}

}  // namespace

remote_addresses* remote_addresses::of_process() {
  static std::mutex creation;
  static std::unique_ptr<remote_addresses> made;
  static std::uint64_t job_of_made = 0;
  const sched::runtime& job = sched::this_pe().job();
  if (job.hosts() == 1 || job.values().rma == config::remote_memory_access::off) return nullptr;
  std::lock_guard guard(creation);
  if (made == nullptr || job_of_made != job.number()) {
    made = std::make_unique<remote_addresses>(job, open_adapter(job));
    job_of_made = job.number();
    // It stays until this process begins another job.
    static_cast<sched::process_runtime&>(sched::this_pe().job()).add_counter_reporter([] { return made->describe(); });
  }
  return made.get();
}

remote_addresses::remote_addresses(const sched::runtime& job, std::unique_ptr<remote_memory_adapter> adapter)
    : job_(job),
      link_{.latency_ns = job.values().rma_latency_ns,
            .bytes_per_second = job.values().rma_bandwidth,
            .reorder_ns = job.values().rma_reorder_ns},
      chunks_(chunking_of(job.values())),
      caches_(job.values().rma_cache_entries > 0),
      adapter_(std::move(adapter)),
      cache_(static_cast<std::size_t>(job.pes()), cache_options(job, *adapter_)),
      table_(static_cast<std::size_t>(job.processes()), static_cast<host_number>(job.process()), *adapter_,
             {.chunks = chunks_, .listed_hosts = static_cast<std::size_t>(job.values().rma_listed_processes)}) {}

// ---- as the target

void remote_addresses::add_piece(array_id array, std::int32_t pe, std::byte* memory, std::size_t bytes) {
  std::lock_guard guard(target_);
  const array_handle handle = ++last_handle_;
  table_.add_array(handle, reinterpret_cast<std::uintptr_t>(memory), bytes);
  pieces_[{array, pe}] = {handle, memory};
  names_[handle] = {array, pe};
}

// In the words of the messages; under the lock. The receiver is the first PE of the process, or who serves for it.
void remote_addresses::name(const std::vector<outgoing_invalidation>& messages,
                            std::vector<std::pair<int, address_note>>& named) {
  for (const outgoing_invalidation& one : messages) {
    const auto& [array, pe] = names_.at(one.what.array);
    named.emplace_back(static_cast<int>(one.to) * job_.pes_per_process(),
                       address_note{.array = array, .epoch = one.what.epoch, .chunk = one.what.chunk, .pe = pe});
  }
}

// Without the lock: a message to this PE's own host may be served before this returns.
void remote_addresses::send(const std::vector<std::pair<int, address_note>>& invalidations) {
  for (const auto& [pe, note] : invalidations) send_note(pe, invalidation_handler, note);
}

bool remote_addresses::free_piece(array_id array, std::int32_t pe) {
  std::vector<std::pair<int, address_note>> named;
  bool is_done = false;
  {
    std::lock_guard guard(target_);
    const auto found = pieces_.find({array, pe});
    if (found == pieces_.end()) return true;
    std::vector<outgoing_invalidation> out;
    is_done = table_.free_array(found->second.handle, out);
    name(out, named);
    if (is_done) {
      names_.erase(found->second.handle);
      pieces_.erase(found);
    }
  }
  send(named);
  return is_done;
}

// Under the lock.
void remote_addresses::take_freed(std::vector<std::byte*>& memory) {
  while (const std::optional<array_handle> handle = table_.next_freed()) {
    const auto name = names_.find(*handle);
    const auto found = pieces_.find(name->second);
    memory.push_back(found->second.memory);
    pieces_.erase(found);
    names_.erase(name);
  }
}

address_in_reply remote_addresses::address_for(std::int32_t source, array_id array, std::int32_t owner,
                                               std::uint32_t chunk) {
  if (chunk == no_chunk) return {};
  address_in_reply address;
  std::vector<std::pair<int, address_note>> named;
  try {
    std::lock_guard guard(target_);
    const auto found = pieces_.find({array, owner});
    if (found == pieces_.end()) return {};
    std::vector<outgoing_invalidation> out;
    const auto reply =
        table_.on_access(static_cast<host_number>(job_.process_of(source)), found->second.handle, chunk, out);
    name(out, named);
    if (reply)
      address = {.array = array,
                 .epoch = reply->epoch,
                 .address = reply->where.address,
                 .key = reply->where.key,
                 .chunk = chunk,
                 .pe = owner,
                 .for_adapter = adapter_->bytes_for(reply->where)};
  } catch (const address_protocol_error& error) {
    refuse(error.what());
  }
  send(named);
  return address;
}

void remote_addresses::acknowledged(std::int32_t source, const address_note& note) {
  std::vector<std::byte*> freed;
  try {
    std::lock_guard guard(target_);
    const auto from = static_cast<host_number>(job_.process_of(source));
    const auto found = pieces_.find({note.array, note.pe});
    if (found == pieces_.end())
      throw address_protocol_error(from, note.array, note.chunk, "an acknowledgement for a piece that is not here");
    table_.on_acknowledgement(from, {.array = found->second.handle, .chunk = note.chunk, .epoch = note.epoch});
    take_freed(freed);
  } catch (const address_protocol_error& error) {
    refuse(error.what());
  }
  for (std::byte* const memory : freed) arena::release(memory);
}

// ---- as the initiator

std::optional<remote_addresses::use> remote_addresses::begin_use(array_id array, std::int32_t pe, std::uint64_t offset,
                                                                 remote_access how) {
  const chunk_number chunk = chunks_.chunk_of(offset);
  std::lock_guard guard(initiator_);
  const auto found = cache_.begin_use({.array = array, .host = static_cast<host_number>(pe), .chunk = chunk}, how);
  if (!found) return std::nullopt;
  return use{.of = *found,
             .through = adapter_->find(job_.process_of(pe), found->where),
             .offset = offset - chunks_.offset_of(chunk)};
}

void remote_addresses::acknowledge(const std::optional<outgoing_acknowledgement>& answer) {
  if (!answer) return;
  const auto owner = static_cast<std::int32_t>(answer->to);
  send_note(owner, acknowledgement_handler,
            {.array = answer->what.array, .epoch = answer->what.epoch, .chunk = answer->what.chunk, .pe = owner});
}

void remote_addresses::end_use(const use& with, remote_access how, bool was_accessed) {
  std::optional<outgoing_acknowledgement> answer;
  {
    std::lock_guard guard(initiator_);
    if (was_accessed) ++(how == remote_access::get ? gets_ : puts_);
    answer = cache_.end_use(with.of.entry);
  }
  acknowledge(answer);
}

void remote_addresses::take(const address_in_reply& address) {
  if (address.key == 0) return;
  try {
    if (address.pe < 0 || address.pe >= job_.pes() || job_.is_on_own_host(address.pe))
      throw std::runtime_error(
          fmt::format("an address of memory of PE {}, which is no PE of another host", address.pe));
    const int process = job_.process_of(address.pe);
    std::lock_guard guard(initiator_);
    const remote_address where{.address = address.address, .key = address.key};
    if (cache_.on_reply(static_cast<host_number>(address.pe),
                        {.array = address.array, .chunk = address.chunk, .epoch = address.epoch, .where = where}))
      adapter_->learn(process, where, address.for_adapter);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

void remote_addresses::invalidated(const address_note& note) {
  std::optional<outgoing_acknowledgement> answer;
  try {
    std::lock_guard guard(initiator_);
    answer = cache_.on_invalidation(static_cast<host_number>(note.pe),
                                    {.array = note.array, .chunk = note.chunk, .epoch = note.epoch});
  } catch (const address_protocol_error& error) {
    refuse(error.what());
  }
  acknowledge(answer);
}

void remote_addresses::switch_cache(bool on) {
  std::lock_guard guard(initiator_);
  cache_.turn(on && caches_);
}

// ---- figures

direct_access_figures remote_addresses::figures() {
  direct_access_figures now;
  {
    std::lock_guard guard(initiator_);
    const address_cache::counters& cache = cache_.count();
    now.gets = gets_;
    now.puts = puts_;
    now.hits = cache.hits;
    now.misses = cache.misses;
    now.insertions = cache.insertions;
    now.evictions = cache.evictions;
    now.late_replies = cache.late_replies;
    now.cached = cache_.size();
    now.kept_keys = adapter_->known_addresses();
  }
  std::lock_guard guard(target_);
  const registration_table::counters& table = table_.count();
  now.registrations = table.registrations;
  now.deregistrations = table.deregistrations;
  now.registered_bytes = table_.registered_bytes();
  now.most_registered_bytes = adapter_->most_registered_bytes();
  now.victims = table.victims;
  now.invalidations = table.invalidations;
  now.broadcasts = table.broadcasts;
  now.without_address = table.without_address;
  now.waiting_pieces = table_.freed_waiting();
  now.invalid_accesses = adapter_->invalid_accesses();
  return now;
}

// The names of the options are those behind `rma_`.
std::string remote_addresses::describe_settings() const {
  const config::configuration& values = job_.values();
  std::string text = fmt::format("rma={} adapter={}", values.text_of("rma"), adapter_->describe());
  for (const char* const setting : {"cache_entries", "cached_puts", "registration", "chunk_bytes", "limit_bytes",
                                    "contiguous_bytes", "listed_processes", "latency_ns", "bandwidth", "reorder_ns"})
    text += fmt::format(" {}={}", setting, values.text_of(std::string("rma_") + setting));
  const bool polls = values.comm_thread == config::communication_thread::off;
  return text + " progress=" + (polls ? "polled" : "thread");
}

std::string remote_addresses::describe() {
  const direct_access_figures now = figures();
  std::string text = fmt::format("direct accesses of process {}: {};", job_.process(), describe_settings());
  text += fmt::format(
      " gets={} puts={} hits={} misses={} insertions={} evictions={} late_replies={} cached={} kept_keys={}", now.gets,
      now.puts, now.hits, now.misses, now.insertions, now.evictions, now.late_replies, now.cached, now.kept_keys);
  text += fmt::format(
      " registrations={} deregistrations={} registered_bytes={} most_registered_bytes={} victims={} invalidations={} "
      "broadcasts={} without_address={} waiting_pieces={} invalid_accesses={}",
      now.registrations, now.deregistrations, now.registered_bytes, now.most_registered_bytes, now.victims,
      now.invalidations, now.broadcasts, now.without_address, now.waiting_pieces, now.invalid_accesses);
  return text;
}

// ---- what programs are compiled against

direct_access_figures direct_accesses_of_process() {
  remote_addresses* const addresses = remote_addresses::of_process();
  return addresses == nullptr ? direct_access_figures() : addresses->figures();
}

std::string direct_access_settings() {
  remote_addresses* const addresses = remote_addresses::of_process();
  return addresses == nullptr ? std::string() : addresses->describe_settings();
}

void switch_address_cache(bool on) {
  if (remote_addresses* const addresses = remote_addresses::of_process(); addresses != nullptr)
    addresses->switch_cache(on);
}

}  // namespace tri::arrays
