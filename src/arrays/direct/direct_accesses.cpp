#include "arrays/direct/direct_accesses.hpp"

#include <algorithm>
#include <exception>

#include "arrays/outstanding_requests.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "trireme/detail/arrays/requests.hpp"
#include "trireme/variables.hpp"

namespace tri::arrays {
namespace {

pe_local<direct_accesses> accesses;  // NOLINT(cert-err58-cpp): registration before main, as of all variables of a PE

adapter_access access_of(remote_access how, const remote_addresses::use& with, std::byte* local, std::uint64_t bytes) {
  return {.how = how,
          .through = with.through,
          .where = with.of.where,
          .offset = with.offset,
          .local = local,
          .bytes = bytes};
}

void serve_time_is_up(sched::pe&, sched::envelope& message) { accesses->time_is_up(message.element); }
const std::uint32_t time_is_up_handler =
    sched::register_handler(&serve_time_is_up, "end of a direct access", nullptr, nullptr, nullptr, nullptr, nullptr,
                            objects::form_of<std::tuple<>>());

}  // namespace

direct_accesses* direct_accesses::here() {
  direct_accesses& found = *accesses;
  if (found.process_ != nullptr) return &found;
  remote_addresses* const process = remote_addresses::of_process();
  if (process == nullptr) return nullptr;
  found.port_ = process->open_port();
  found.process_ = process;
  found.messages_ = &outstanding_requests::here();
  found.link_.emplace(found.process_->link(), static_cast<std::uint64_t>(sched::this_pe().number()));
  return &found;
}

// The job has ended: nothing is accessed any more.
direct_accesses::~direct_accesses() = default;

bool direct_accesses::may_access(remote_access how, const local_array& array, std::int32_t pe) const {
  if (array.is_on_this_host(pe) || messages_->is_unfenced(pe)) return false;
  return how == remote_access::get || readings_.empty() || !readings_.contains(pe);
}

// The uses of all runs, or of none.
direct_attempt direct_accesses::prepare(remote_access how, const local_array& array, std::int32_t pe,
                                        std::span<const direct_run> runs, std::vector<operation>& made) {
  if (!process_->wants_address(how) || !may_access(how, array, pe)) return {};
  for (const direct_run& run : runs) {
    const chunking& chunks = process_->chunks();
    for (std::uint64_t done = 0; done < run.bytes;) {
      const std::uint64_t offset = run.offset + done;
      const chunk_number chunk = chunks.chunk_of(offset);
      const std::uint64_t bytes =
          std::min(run.bytes - done, chunks.bytes_of(chunk, ~std::uint64_t{0}) - (offset - chunks.offset_of(chunk)));
      const auto use = process_->begin_use(array.id(), pe, offset, how);
      if (!use) {
        for (const operation& one : made) process_->end_use(one.with, how, false);
        made.clear();
        return {.has_begun = false, .wanted = chunk};
      }
      made.push_back({.pe = pe, .how = how, .with = *use, .local = run.local + done, .bytes = bytes});
      done += bytes;
    }
  }
  return {.has_begun = true};
}

// A refusal ends the job: then the protocols have lost track of a key, or the target is gone.
void direct_accesses::access(std::span<const adapter_access> all) {
  try {
    port_->carry_out(all);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

void direct_accesses::carry_out(operation& one) {
  const adapter_access how[] = {access_of(one.how, one.with, one.local, one.bytes)};
  access(how);
  process_->end_use(one.with, one.how, true);
  if (one.of != nullptr && --one.of->unfinished == 0) one.of->ended();
}

// A timer ends it, unless something has to wait for it before.
void direct_accesses::start(operation one) {
  if (link_->is_immediate()) return carry_out(one);
  const auto touches = [&one](const operation& other) {
    const std::uint64_t first = one.with.of.where.address + one.with.offset;
    const std::uint64_t other_first = other.with.of.where.address + other.with.offset;
    return other.pe == one.pe && (other.how == remote_access::put || one.how == remote_access::put) &&
           first < other_first + other.bytes && other_first < first + one.bytes;
  };
  end_those(touches);
  const std::int64_t now = os::now_ns();
  one.due_ns = link_->completion_ns(now, one.bytes);
  const std::uint64_t number = ++numbers_;
  sched::envelope alarm{};
  alarm.handler = time_is_up_handler;
  alarm.kind = sched::payload_kind::direct;
  alarm.element = number;
  sched::this_pe().send_later(one.due_ns - now, alarm);
  operations_.emplace(number, std::move(one));
}

void direct_accesses::end(std::map<std::uint64_t, operation>::iterator one) {
  operation ended = std::move(one->second);
  operations_.erase(one);
  carry_out(ended);
}

void direct_accesses::time_is_up(std::uint64_t number) {
  if (const auto found = operations_.find(number); found != operations_.end()) end(found);
}

// What ends may begin others: their numbers are higher.
template <class Which>
void direct_accesses::end_those(Which&& which) {
  for (auto one = operations_.begin(); one != operations_.end();) {
    if (!which(one->second)) {
      ++one;
      continue;
    }
    const std::uint64_t number = one->first;
    while (os::now_ns() < one->second.due_ns) os::cpu_relax();
    end(one);
    one = operations_.upper_bound(number);
  }
}

void direct_accesses::end_all_of(std::int32_t pe) {
  if (!operations_.empty()) end_those([pe](const operation& one) { return one.pe == pe; });
}

void direct_accesses::end_all() {
  if (!operations_.empty()) end_those([](const operation&) { return true; });
}

direct_attempt direct_accesses::begin(remote_access how, const local_array& array, std::int32_t pe,
                                      std::span<const direct_run> runs, os::unique_function<void()> ended) {
  std::vector<operation> made;
  const direct_attempt attempt = prepare(how, array, pe, runs, made);
  if (!attempt.has_begun) return attempt;
  if (link_->is_immediate()) {  // those of a section overlap each other, and nothing else
    std::vector<adapter_access> all;
    all.reserve(made.size());
    for (const operation& one : made) all.push_back(access_of(how, one.with, one.local, one.bytes));
    access(all);
    for (const operation& one : made) process_->end_use(one.with, how, true);
    ended();
    return attempt;
  }
  const auto whole = std::make_shared<transfer>(transfer{made.size() + 1, std::move(ended)});
  for (operation& one : made) {
    one.of = whole;
    start(std::move(one));
  }
  if (--whole->unfinished == 0) whole->ended();
  return attempt;
}

// Of an element: without allocations.
direct_attempt direct_accesses::get_now(const local_array& array, std::int32_t pe, const direct_run& run) {
  const chunking& chunks = process_->chunks();
  if (!process_->wants_address(remote_access::get) || !may_access(remote_access::get, array, pe) ||
      !chunks.is_within_one_chunk(run.offset, run.bytes))
    return {};
  const auto use = process_->begin_use(array.id(), pe, run.offset, remote_access::get);
  if (!use) return {.has_begun = false, .wanted = chunks.chunk_of(run.offset)};
  if (!link_->is_immediate()) {
    end_those([pe](const operation& one) { return one.pe == pe && one.how == remote_access::put; });
    const std::int64_t due = link_->completion_ns(os::now_ns(), run.bytes);
    while (os::now_ns() < due) os::cpu_relax();
  }
  const adapter_access how[] = {access_of(remote_access::get, *use, run.local, run.bytes)};
  access(how);
  process_->end_use(*use, remote_access::get, true);
  return {.has_begun = true};
}

direct_attempt direct_accesses::put_value(const local_array& array, std::int32_t pe, const direct_run& run) {
  const chunking& chunks = process_->chunks();
  if (!process_->wants_address(remote_access::put) || !may_access(remote_access::put, array, pe) ||
      !chunks.is_within_one_chunk(run.offset, run.bytes))
    return {};
  const auto use = process_->begin_use(array.id(), pe, run.offset, remote_access::put);
  if (!use) return {.has_begun = false, .wanted = chunks.chunk_of(run.offset)};
  operation one{.pe = pe, .how = remote_access::put, .with = *use, .local = run.local, .bytes = run.bytes};
  if (!link_->is_immediate()) {
    one.copy.assign(run.local, run.local + run.bytes);
    one.local = one.copy.data();  // stays where it is when the vector is moved
  }
  start(std::move(one));
  return {.has_begun = true};
}

void direct_accesses::reading_answered(std::int32_t pe) {
  const auto found = readings_.find(pe);
  if (found != readings_.end() && --found->second == 0) readings_.erase(found);
}

std::pair<array_id, std::uint32_t> direct_accesses::take_wanted(std::int32_t pe) {
  const auto found = wanted_.find(pe);
  if (found == wanted_.end()) return {0, no_chunk};
  const auto wanted = found->second;
  wanted_.erase(found);
  return wanted;
}

// ---- what programs are compiled against

bool are_immediate(const local_array& array) { return array.direct()->are_immediate(); }
direct_attempt get_now(local_array& array, std::int32_t pe, const direct_run& run) {
  return array.direct()->get_now(array, pe, run);
}
direct_attempt begin_get(local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                         os::unique_function<void()> ended) {
  return array.direct()->begin(remote_access::get, array, pe, runs, std::move(ended));
}
direct_attempt begin_put(local_array& array, std::int32_t pe, std::span<const direct_run> runs,
                         os::unique_function<void()> ended) {
  return array.direct()->begin(remote_access::put, array, pe, runs, std::move(ended));
}
direct_attempt put_value(local_array& array, std::int32_t pe, const direct_run& run) {
  return array.direct()->put_value(array, pe, run);
}
void end_direct_accesses(const local_array& array, std::int32_t pe) { array.direct()->end_all_of(pe); }
void note_reading(const local_array& array, std::int32_t pe) { array.direct()->note_reading(pe); }
void want_address_with_fence(const local_array& array, std::int32_t pe, std::uint32_t chunk) {
  if (chunk != no_chunk) array.direct()->want_with_fence(pe, array.id(), chunk);
}
void reading_answered(std::int32_t pe, const address_in_reply* address) {
  direct_accesses* const here = direct_accesses::here();
  if (here == nullptr) refuse("the answer to a reading with an address came, which this process does not take");
  if (address != nullptr) here->process().take(*address);
  here->reading_answered(pe);
}
address_in_reply address_for(std::int32_t source, array_id array, std::int32_t owner, std::uint32_t chunk) {
  if (chunk == no_chunk) return {};
  direct_accesses* const here = direct_accesses::here();
  return here == nullptr ? address_in_reply() : here->process().address_for(source, array, owner, chunk);
}

}  // namespace tri::arrays
