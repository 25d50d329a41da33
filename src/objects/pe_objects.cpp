#include "trireme/detail/objects/pe_objects.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "objects/collection_manager.hpp"
#include "objects/messages/exposed_memories.hpp"
#include "objects/messages/held_messages.hpp"
#include "objects/messages/reorder_buffer.hpp"
#include "objects/teams/local_teams.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"
#include "trireme/single.hpp"

namespace tri::objects {
namespace {

void error_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<std::string>> arguments(message);
  if (awaited_result* const result = find_result(here, message);
      result != nullptr && !result->is_ready()) {  // the first answer counts
    method_scope scope(pe_objects::of(here));
    result->fail(std::make_exception_ptr(remote_error(std::get<0>(arguments.values()))));
  }
}

// A PE holds a message until a collection of this host is created: a message that names it comes after the draw of its
// number, so a number that was not drawn will never be valid.
void question_deliver(sched::pe& here, sched::envelope& message) {
  const sched::runtime& job = here.job();
  unpacked_arguments<std::tuple<std::uint32_t, std::uint32_t>> arguments(message);
  const auto& [collection, sender] = arguments.values();
  if (sender >= static_cast<std::uint32_t>(job.pes()))
    refuse_arguments(message, fmt::format("there is no PE {}, only 0..{}", sender, job.pes() - 1).c_str());
  if (job.may_exist(collection)) return;
  const int from = static_cast<int>(sender);
  job.fail(fmt::format("process {} on {} sent process {} a message for collection {}, which {} has never made",
                       job.process_of(from), job.name_of_host(job.host_of(from)),
                       job.process_of(static_cast<int>(message.source)), collection, job.name_of_host(job.host())));
}
const std::uint32_t question_handler =
    register_handler_of<std::tuple<std::uint32_t, std::uint32_t>>(&question_deliver, "collection asked for");

void deferred_deliver(sched::pe& here, sched::envelope&) { pe_objects::of(here).run_deferred(); }
const std::uint32_t deferred_handler = sched::register_handler(&deferred_deliver, "deferred work");

std::string text_of(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

const std::uint32_t error_handler = register_handler_of<std::tuple<std::string>>(&error_deliver, "error result");

std::string describe_escaped(sched::pe& here, element_base& object, const std::string& method,
                             std::exception_ptr error) {
  return fmt::format("{} on PE {}, method {}: {}", object.describe(), here.number(), method, text_of(std::move(error)));
}

std::exception_ptr deleted_too_early() {
  return std::make_exception_ptr(std::runtime_error("the object was deleted before the method had ended"));
}

void report_escaped(sched::pe& here, element_base& object, const std::string& method, std::exception_ptr error) {
  here.job().fail("an exception left an entry method: " + describe_escaped(here, object, method, std::move(error)));
}

void report_escaped_reduction(sched::pe& here, const std::string& what, std::exception_ptr error) {
  here.job().fail(
      fmt::format("an exception left a reduction: {}, on PE {}: {}", what, here.number(), text_of(std::move(error))));
}

void report_escaped_function(sched::pe& here, const std::string& function, std::exception_ptr error) {
  here.job().fail(
      fmt::format("an exception left a function: {} on PE {}: {}", function, here.number(), text_of(std::move(error))));
}

void refuse_wrong_result(const sched::envelope& message, const awaited_result& found) {
  refuse_arguments(message, fmt::format("the result that it names is another one: {}", found.describe()).c_str());
}

// Processes of one host trust each other: among them, whatever the number, the message waits.
void check_collection_number(sched::pe& here, const sched::envelope& message) {
  const sched::runtime& job = here.job();
  if (job.is_on_own_host(static_cast<int>(message.source)) || job.may_exist(message.collection)) return;
  refuse_arguments(message, fmt::format("there is no collection {}: {} has never made one of that number",
                                        message.collection, job.name_of_host(job.host()))
                                .c_str());
}

void ask_whether_made(sched::pe& here, const sched::envelope& message) {
  const sched::runtime& job = here.job();
  if (job.is_on_own_host(static_cast<int>(message.source))) return;
  const int owner = job.host_of_collection(message.collection);
  if (owner == job.host()) return;  // see check_collection_number
  post_packed(
      here, job.first_pe_of(owner), question_handler, 0, 0,
      pack_arguments<std::tuple<std::uint32_t, std::uint32_t>>(here, false, false, message.collection, message.source));
}

struct pe_objects::pending {
  explicit pending(sched::pe& here) : teams(here), exposed(here) {}
  local_teams teams;
  exposed_memories exposed;
  std::unordered_map<std::uint32_t, std::vector<sched::envelope>> uncreated;
  std::map<std::array<std::uint32_t, 3>, std::unique_ptr<host_part>> parts_of_host;
  sequence_numbers multicasts_to;
  reorder_buffer<sched::envelope> multicasts_from;
  std::unordered_map<std::uint32_t, std::uint64_t> late_mailbox_calls;
  coroutine_owner node_coroutines;
  std::vector<std::unique_ptr<collection_manager>> collections;  // by number; last, as elements refer to the others
};

std::unique_ptr<host_part>& pe_objects::part_of_host(std::uint32_t root_pe, std::uint32_t slot,
                                                     std::uint32_t generation) {
  return pending_->parts_of_host[{root_pe, slot, generation}];
}
void pe_objects::forget_part_of_host(std::uint32_t root_pe, std::uint32_t slot, std::uint32_t generation) {
  pending_->parts_of_host.erase({root_pe, slot, generation});
}
sequence_numbers& pe_objects::multicasts_to() { return pending_->multicasts_to; }
reorder_buffer<sched::envelope>& pe_objects::multicasts_from() { return pending_->multicasts_from; }
coroutine_owner& pe_objects::node_coroutines() { return pending_->node_coroutines; }
local_teams& pe_objects::teams() { return pending_->teams; }
exposed_memories& pe_objects::exposed() { return pending_->exposed; }
std::uint64_t& pe_objects::late_mailbox_calls(std::uint32_t mailbox) { return pending_->late_mailbox_calls[mailbox]; }

// Single objects live in collection 0, which exists from the start; nothing is broadcast in it, so every PE may have
// its own shared part.
pe_objects::pe_objects(sched::pe& owner)
    : here(owner),
      singles_made_(static_cast<std::size_t>(owner.job().pes())),
      pending_(std::make_unique<pending>(owner)) {
  collection_facts singles;
  singles.placement = placement_entry<object_home_map>::number;
  singles.shared = collection_shared::make(owner.job().pes_of_host());
  add_local_collection(singles, "single object");
}

pe_objects::~pe_objects() { local_collections_.clear(); }  // first: nothing is found any more

void pe_objects::drop_held() {
  ending_ = true;  // first: destructors of the arguments may send what would be held
  for (const auto& made : pending_->collections)
    if (made != nullptr) made->drop_held();
  pending_->teams.drop();
  pending_->multicasts_from.drop_held([this](sched::envelope& message) { sched::drop_message(here, message); });
  while (!pending_->uncreated.empty()) {
    auto held = pending_->uncreated.extract(pending_->uncreated.begin());
    for (sched::envelope& message : held.mapped()) sched::drop_message(here, message);
  }
}

// Destructors may use objects older than their own: single objects end first, for they may refer to any collection,
// then the collections in the reverse order of their creation. A collection can be found while its elements are
// destroyed.
void pe_objects::end() {
  pending_->node_coroutines.destroy_all();
  auto& all = pending_->collections;
  all.front()->destroy_elements();
  for (; !all.empty(); all.pop_back()) {
    if (all.back() != nullptr) all.back()->destroy_elements();
    local_collections_.pop_back();
  }
  abandon_results();  // last: futures of elements and of their coroutines leave the table
}

void pe_objects::abandon_results() {
  pending_->parts_of_host.clear();
  std::exchange(results, {}).for_each([](awaited_result& result) { result.abandon(); });
}

local_collection& pe_objects::add_local_collection(const collection_facts& facts, std::string name) {
  if (facts.id >= local_collections_.size()) {
    local_collections_.resize(facts.id + 1);
    pending_->collections.resize(facts.id + 1);
  }
  auto& made = pending_->collections[facts.id];
  made = std::make_unique<collection_manager>(*this, facts, std::move(name));
  local_collections_[facts.id] = made.get();
  return *made;
}

void pe_objects::hold_for_creation(const sched::envelope& message) {
  check_collection_number(here, message);
  sched::envelope copy;
  copy.assign_message(message);
  if (ending_) return sched::drop_message(here, copy);
  std::vector<sched::envelope>& waiting = pending_->uncreated[message.collection];
  waiting.push_back(copy);
  if (waiting.size() == 1) ask_whether_made(here, message);
  count_held(here);
}

void pe_objects::release_held(std::uint32_t collection) {
  auto held = pending_->uncreated.extract(collection);
  if (held.empty()) return;
  const owner_scope nobody(nullptr);  // whichever method created the collection
  for (sched::envelope& message : held.mapped()) release_and_run(here, message);
}

// The main program, too, may call a method of a local object as a function; nothing here sees the end of that.
void pe_objects::defer(os::unique_function<void()> work) {
  if (ending_) return;
  deferred_.push_back(std::move(work));
  if (method_depth == 0)
    post_packed(here, here.number(), deferred_handler, 0, 0, pack_arguments<std::tuple<>>(here, true, false));
}

void pe_objects::run_deferred_slowly() {
  while (!deferred_.empty()) {
    auto work = std::move(deferred_);
    deferred_.clear();
    for (auto& each : work) each();
  }
}

std::uint32_t pe_objects::last_single() const { return std::ranges::max(singles_made_); }
void pe_objects::begin_singles_behind(std::uint32_t last) { std::ranges::fill(singles_made_, last); }

void pe_objects::visit_collections(os::function_ref<void(local_collection&)> visit) const {
  for (local_collection* const each : local_collections_)
    if (each != nullptr) visit(*each);
}

std::string pe_objects::describe_waiting() const {
  std::string text;
  results.for_each([&](const awaited_result& result) {
    if (!result.is_ready()) text += fmt::format("\n  PE {}: {}", here.number(), result.describe());
  });
  for (const auto& made : pending_->collections)
    if (made != nullptr) text += made->describe_waiting();
  text += pending_->teams.describe_waiting();
  pending_->multicasts_from.visit_waiting([&](int sender, std::size_t kept, std::uint64_t missing) {
    text +=
        fmt::format("\n  PE {}: {} multicasts of PE {} wait for its number {}", here.number(), kept, sender, missing);
  });
  for (const auto& [collection, messages] : pending_->uncreated)
    text += fmt::format("\n  PE {}: {} messages wait for collection {} to be created", here.number(), messages.size(),
                        collection);
  for (const auto& describe : reporters_) text += describe();
  return text;
}

}  // namespace tri::objects
