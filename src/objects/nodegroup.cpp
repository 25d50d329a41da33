#include "trireme/nodegroup.hpp"

#include <fmt/format.h>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "objects/messages/held_messages.hpp"
#include "sched/process_runtime.hpp"

namespace tri::objects {
namespace {

// Of this process. A reader takes the lock for a look-up of a few nanoseconds; members are never replaced while the job
// runs, so the pointer stays valid.
struct node_objects {
  std::mutex lock;
  std::map<std::uint32_t, std::unique_ptr<node_object>> members;          // in order of creation
  std::unordered_map<std::uint32_t, std::vector<sched::envelope>> early;  // messages that came before their member
  std::unordered_set<std::uint32_t> being_made;
  std::condition_variable made;  // one of those
};
node_objects& here_known() {
  static node_objects known;
  return known;
}

// How far a group is here: the number of messages that came before its member, or, from then on, the most. Holding the
// lock.
constexpr std::uint64_t has_member = (std::uint64_t{1} << 40) - 1;
std::uint64_t progress_of(std::uint32_t group) {
  if (here_known().members.contains(group)) return has_member;
  const auto early = here_known().early.find(group);
  return early == here_known().early.end() ? 0 : early->second.size();
}
bool is_begun(std::uint32_t group) {
  return here_known().members.contains(group) || here_known().being_made.contains(group);
}

// In a replay, PEs of the process come to a group in the order in which they did when it was recorded: each waits until
// the others have come as far as they were then. They were there before it, so none of them waits for this one. What
// the caller does with the lock it did with the same one when it was recorded, or another PE could have come in
// between.
template <class Progress>
std::unique_lock<std::mutex> lock_in_turn(sched::pe& here, Progress&& progress) {
  std::unique_lock guard(here_known().lock);
  if (static_cast<sched::process_runtime&>(here.job()).order() == nullptr) [[likely]]
    return guard;
  const std::uint64_t recorded = here.repeatable(progress());
  while (progress() < recorded) {
    guard.unlock();
    std::this_thread::yield();
    guard.lock();
  }
  return guard;
}

}  // namespace

namespace {
// In place of the element of a message whose turn has come: messages to node groups have none (0).
constexpr std::uint64_t has_turn = 1;
}  // namespace

struct node_object::exclusion {
  std::mutex lock;  // for what follows
  bool is_taken = false;
  std::deque<sched::envelope> waiting;
  std::uint64_t steps = 0;  // turns that were wanted or ended, for records

  /// In a replay the steps come in the order in which they did when it was recorded.
  std::unique_lock<std::mutex> lock_in_turn(sched::pe& here) {
    std::unique_lock guard(lock);
    if (static_cast<sched::process_runtime&>(here.job()).order() == nullptr) [[likely]]
      return guard;
    const std::uint64_t recorded = here.repeatable(steps);
    while (steps < recorded) {
      guard.unlock();
      std::this_thread::yield();
      guard.lock();
    }
    ++steps;
    return guard;
  }
};

node_object::node_object() : exclusion_(std::make_unique<exclusion>()) {}
node_object::~node_object() = default;

bool node_object::begin_exclusive(sched::pe& here, const sched::envelope& message) {
  if (message.element == has_turn && here.is_in_this_process(static_cast<int>(message.source))) return true;
  const auto guard = exclusion_->lock_in_turn(here);
  if (!std::exchange(exclusion_->is_taken, true)) return true;
  exclusion_->waiting.push_back(message);
  count_held(here);
  return false;
}

// The turn goes on to the message that has waited longest, so each gets it.
void node_object::end_exclusive(sched::pe& here) {
  sched::envelope next;
  {
    const auto guard = exclusion_->lock_in_turn(here);
    exclusion_->is_taken = !exclusion_->waiting.empty();
    if (!exclusion_->is_taken) return;
    next = exclusion_->waiting.front();
    exclusion_->waiting.pop_front();
  }
  next.element = has_turn;
  // Behind all that come before its priority, it would keep its turn from those among them that want one.
  if ((next.flags & sched::envelope::has_priority) != 0 && next.block().urgency.level() > priority(0))
    next.flags &= static_cast<std::uint8_t>(~sched::envelope::has_priority);
  try {
    here.send_to_node(here.job().process(), next);
  } catch (const std::exception& error) {  // no memory, and the turn would be lost
    here.job().fail(fmt::format("no message to node group {} gets its turn: {}", next.collection, error.what()));
  }
  count_released(here);
  here.count_processed();  // its first delivery, which held it back
}

void node_object::drop_waiting(sched::pe& here) {
  std::deque<sched::envelope> waiting;
  {
    std::lock_guard guard(exclusion_->lock);
    waiting.swap(exclusion_->waiting);
  }
  for (sched::envelope& message : waiting) sched::drop_message(here, message);
}

void install_node_object(sched::pe& here, std::uint32_t group, os::function_ref<std::unique_ptr<node_object>()> make) {
  {
    // Which PE makes it is repeated, as its constructor may send. The others wait for it.
    auto guard = lock_in_turn(here, [group]() -> std::uint64_t { return is_begun(group) ? 1 : 0; });
    if (is_begun(group)) return here_known().made.wait(guard, [group] { return here_known().members.contains(group); });
    here_known().being_made.insert(group);
  }
  auto object = make();  // its constructor may use other groups, hence outside of the lock
  std::vector<sched::envelope> waiting;
  {
    const auto guard = lock_in_turn(here, [group] { return progress_of(group); });
    here_known().members[group] = std::move(object);
    here_known().being_made.erase(group);
    if (auto found = here_known().early.extract(group)) waiting = std::move(found.mapped());
  }
  here_known().made.notify_all();
  // Not run here, one after the other: they may wait for each other, and another PE may be idle.
  for (const sched::envelope& message : waiting) {
    here.send_to_node(here.job().process(), message);
    count_released(here);
    here.count_processed();  // its first delivery, which held it back
  }
}

namespace {
std::vector<node_object_type>& node_types() {
  static std::vector<node_object_type> registered;
  return registered;
}
}  // namespace

std::uint32_t register_node_object_type(node_object_type type) {
  node_types().push_back(std::move(type));
  return node_object_types() - 1;
}
const node_object_type& node_object_type_of(std::uint32_t number) { return node_types()[number]; }
std::uint32_t node_object_types() { return static_cast<std::uint32_t>(node_types().size()); }

// Members are never replaced and go at the end only, so the lock is not needed while one is visited.
void for_each_node_object(os::function_ref<void(std::uint32_t, node_object&)> visit) {
  std::vector<std::pair<std::uint32_t, node_object*>> members;
  {
    std::lock_guard guard(here_known().lock);
    for (const auto& [group, member] : here_known().members) members.emplace_back(group, member.get());
  }
  for (const auto& [group, member] : members) visit(group, *member);
}

void check_node_number(sched::pe& here, const sched::envelope& message) {
  const sched::runtime& job = here.job();
  const int from = static_cast<int>(message.source);
  if (job.is_on_own_host(from)) return;
  if (message.collection == 0 || job.host_of_collection(message.collection) != job.host_of(from))
    refuse_arguments(
        message,
        fmt::format("node group {} cannot be of {}", message.collection, job.name_of_host(job.host_of(from))).c_str());
}

node_object* find_node_object(sched::pe& here, sched::envelope& message) {
  const auto guard = lock_in_turn(here, [&] { return progress_of(message.collection); });
  if (const auto found = here_known().members.find(message.collection); found != here_known().members.end())
    return found->second.get();
  check_collection_number(here, message);
  std::vector<sched::envelope>& waiting = here_known().early[message.collection];
  waiting.push_back(message);
  if (waiting.size() == 1) ask_whether_made(here, message);
  count_held(here);
  return nullptr;
}

node_object& node_object_here(std::uint32_t group) {
  std::lock_guard guard(here_known().lock);
  const auto found = here_known().members.find(group);
  if (found == here_known().members.end())
    throw std::logic_error(fmt::format("trireme: node group {} has no member in this process (yet)", group));
  return *found->second;
}

const node_object* known_node_object(std::uint32_t group) {
  std::lock_guard guard(here_known().lock);
  const auto found = here_known().members.find(group);
  return found == here_known().members.end() ? nullptr : found->second.get();
}

// In the reverse order of creation, one by one: a destructor may use members older than its own object, hence outside
// of the lock.
void drop_node_objects() {
  const auto take_last = []() -> std::unique_ptr<node_object> {
    std::lock_guard guard(here_known().lock);
    auto& members = here_known().members;
    return members.empty() ? nullptr : std::move(members.extract(std::prev(members.end())).mapped());
  };
  while (take_last() != nullptr) {
  }
}

void drop_early_node_messages(sched::pe& here) {
  decltype(node_objects::early) early;
  {
    std::lock_guard guard(here_known().lock);
    early.swap(here_known().early);
  }
  for (auto& [group, messages] : early)
    for (sched::envelope& message : messages) sched::drop_message(here, message);
  for_each_node_object([&](std::uint32_t, node_object& member) { member.drop_waiting(here); });
}

namespace {
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

std::string describe_escaped_node(sched::pe& here, const std::string& type, const std::string& method,
                                  std::exception_ptr error) {
  return fmt::format("{} in process {}, method {}: {}", type, here.job().process(), method, text_of(std::move(error)));
}

void report_escaped_node(sched::pe& here, const std::string& type, const std::string& method,
                         std::exception_ptr error) {
  here.job().fail(fmt::format("an exception left an entry method: {} of process {}, on PE {}, method {}: {}", type,
                              here.job().process(), here.number(), method, text_of(std::move(error))));
}

}  // namespace tri::objects
