#include "objects/collection_manager.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "objects/balance/balance_service.hpp"
#include "objects/messages/awaited_messages.hpp"
#include "objects/messages/held_messages.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/post.hpp"
#include "trireme/detail/objects/reduction.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/nodegroup.hpp"
#include "trireme/placement.hpp"

namespace tri::objects {
namespace {

// Dense placement tables of this process, shared by its PEs.
std::shared_ptr<const std::vector<pe_number>> shared_routes(const collection_facts& facts, int pes) {
  static std::mutex lock;
  static std::map<const collection_shared*, std::weak_ptr<const std::vector<pe_number>>> tables;
  std::lock_guard guard(lock);
  auto& known = tables[facts.shared];
  if (auto table = known.lock()) return table;
  const placement_function map = placement_of(facts.placement);
  const node_object* const state = facts.map == 0 ? nullptr : &node_object_here(facts.map);
  const std::uint64_t elements = facts.shape.elements();
  auto table = std::make_shared<std::vector<pe_number>>(elements);
  for (std::uint64_t number = 0; number < elements; ++number) {
    const int pe = map(number, elements, pes, facts.shape, state);
    if (pe < 0 || pe >= pes)
      throw std::out_of_range(fmt::format("placement map: element {} was put on PE {}; there are PEs 0..{}",
                                          describe_number(facts.shape, number), pe, pes - 1));
    (*table)[number] = pe;
  }
  known = table;
  return table;
}

location_actions& fresh(location_actions& actions) {
  actions.clear();
  return actions;
}

sched::envelope* copy_to_block(const sched::envelope& message) {
  auto* const block = static_cast<sched::envelope*>(arena::allocate(sizeof(sched::envelope)));
  block->stamp = 0;
  block->assign_message(message);
  return block;
}

constexpr std::size_t history_before_pruning = 2 * subtree_marks::step;
// Each PE has a table of them, of a pointer for each number.
constexpr std::uint32_t most_collections = 1u << 26;

struct travelling_element {
  std::uint64_t seen_broadcasts;
  std::uint64_t contributions;
  std::uint64_t address;  // same process: the object itself
};

/// A message that migrates with an element. Inside a host its block is passed on; to another host its contents are.
void save_message(output_archive& archive, const sched::envelope& message, bool leaves_host) {
  archive.write(&message, sizeof message);
  if (!leaves_host || message.kind == sched::payload_kind::direct) return;
  archive.write(message.block().block, message.block().bytes);
  arena::release(message.block().block);
}
void load_message(input_archive& archive, sched::envelope& message, bool left_host) {
  archive.read(&message, sizeof message);
  if (!left_host) return;
  const std::vector<sched::handler_row>& handlers = sched::handler_table();
  if (message.handler >= handlers.size())
    throw archive_error(fmt::format("a message that came along is for handler {}; there are 0..{}", message.handler,
                                    handlers.size() - 1));
  const bool is_direct = message.kind == sched::payload_kind::direct;
  const std::uint64_t bytes = message.argument_bytes();
  std::string fault = sched::fault_of_arguments(handlers[message.handler].form, message.kind, bytes);
  if (message.kind >= sched::payload_kind::objects && message.kind != sched::payload_kind::serialized)
    fault = "its arguments are objects of another process";
  if (is_direct && bytes > sched::inline_payload_bytes) fault = fmt::format("it has {} bytes of arguments", bytes);
  if (!fault.empty())
    throw archive_error(fmt::format("of the message '{}' that came along, {}", handlers[message.handler].name, fault));
  if (is_direct) return;
  archive.check_size(bytes, 1);
  message.block().block = arena::allocate(std::max<std::uint64_t>(bytes, 1));
  archive.read(message.block().block, bytes);
}

/// To another process: precedes the object in the archive.
struct serialized_element {
  bool leaves_host = false;
  std::uint64_t seen_broadcasts = 0;
  std::uint64_t contributions = 0;
  std::uint32_t type = 0;
  std::vector<awaited_messages::kept> kept;
  std::vector<sched::envelope> undelivered;

  void save(output_archive& archive) {
    archive(leaves_host, seen_broadcasts, contributions, type, static_cast<std::uint64_t>(kept.size()),
            static_cast<std::uint64_t>(undelivered.size()));
    for (auto& each : kept) {
      archive(each.key.method, each.key.reference);
      save_message(archive, each.message, leaves_host);
    }
    for (auto& each : undelivered) save_message(archive, each, leaves_host);
  }
  /// `left_host`: where it came from is another host.
  void load(input_archive& archive, bool left_host) {
    std::uint64_t kept_count = 0, undelivered_count = 0;
    archive(leaves_host, seen_broadcasts, contributions, type, kept_count, undelivered_count);
    if (leaves_host != left_host) throw archive_error("it says wrongly whether it comes from another host");
    check_element_type(type);
    archive.check_size(kept_count, sizeof(sched::envelope));
    archive.check_size(undelivered_count, sizeof(sched::envelope));
    kept.resize(kept_count);
    undelivered.resize(undelivered_count);
    for (auto& each : kept) {
      archive(each.key.method, each.key.reference);
      load_message(archive, each.message, leaves_host);
    }
    for (auto& each : undelivered) load_message(archive, each, leaves_host);
  }
};

void make_portable(sched::pe& here, sched::envelope& message, bool leaves_host) {
  if (message.kind == sched::payload_kind::objects)
    sched::handler_table()[message.handler].make_portable(here, message);
  if (leaves_host) sched::make_remote(here, message);
}

void element_deliver(sched::pe& here, sched::envelope& message);
void element_drop(sched::pe& here, sched::envelope& message);
void control_deliver(sched::pe& here, sched::envelope& message);
void acknowledge_deliver(sched::pe& here, sched::envelope& message);
void death_deliver(sched::pe& here, sched::envelope& message);
void count_created_deliver(sched::pe& here, sched::envelope& message);
void created_counted_deliver(sched::pe& here, sched::envelope& message);
void low_water_mark_deliver(sched::pe& here, sched::envelope& message);
void level_deliver(sched::pe& here, sched::envelope& message);
void create_here_deliver(sched::pe& here, sched::envelope& message);
const std::uint32_t create_here_handler =
    register_handler_of<std::tuple<>>(&create_here_deliver, "element wanted by a message");
const std::uint32_t count_created_handler =
    register_handler_of<std::tuple<>>(&count_created_deliver, "element to be counted");
const std::uint32_t created_counted_handler =
    register_handler_of<std::tuple<>>(&created_counted_deliver, "element was counted");
// Marks depend on how far other PEs of the host are, and only memory depends on them.
const std::uint32_t low_water_mark_handler =
    sched::with_role(sched::message_role::service,
                     register_handler_of<std::tuple<>>(&low_water_mark_deliver, "broadcasts no longer needed"));
const std::uint32_t level_handler =
    register_handler_of<std::tuple<reported_watermark>>(&level_deliver, "contributions made");
const std::uint32_t death_handler = register_handler_of<std::tuple<>>(&death_deliver, "element deleted");
const std::uint32_t acknowledge_handler =
    register_handler_of<std::tuple<std::uint64_t>>(&acknowledge_deliver, "element arrival acknowledged");

}  // namespace

const std::uint32_t element_handler =
    sched::register_handler(&element_deliver, "element migrates", nullptr, &element_drop, nullptr, nullptr, nullptr,
                            {.what = sched::message_form::content::archive});
const std::uint32_t control_handler =
    register_handler_of<std::tuple<location_control>>(&control_deliver, "element location control");

construction& current_construction() {
  static thread_local construction now{};
  return now;
}

collection_shared* collection_shared::make(int host_pes) {
  auto* const made = new (arena::allocate(sizeof(collection_shared))) collection_shared;
  const int lines = host_pes + 1;
  made->low_water_marks =
      static_cast<watermark_line*>(arena::allocate(static_cast<std::size_t>(lines) * sizeof(watermark_line)));
  for (int line = 0; line < lines; ++line) new (made->low_water_marks + line) watermark_line;
  made->host_pes = host_pes;
  return made;
}

collection_manager::collection_manager(pe_objects& objects, const collection_facts& facts, std::string name)
    : local_collection(objects, facts, std::move(name)),
      here_(objects.here),
      location_(objects.here.number(), facts.shape.dense ? population::dense : population::sparse,
                [this](std::uint64_t number) { return home_of(number); }),
      state_of_map_(facts.map == 0 ? nullptr : &node_object_here(facts.map)),
      contribution_tree_(here_.job(), facts.id),
      is_combined_(facts.id != 0 && contribution_tree_.combines()) {
  if (facts_.bound_to != 0) {
    leader_ = static_cast<collection_manager*>(objects.find_local_collection(facts_.bound_to));
    leader_->bound_.push_back(this);
    initial_routes_ = leader_->initial_routes_;
    routes_ = leader_->routes_;
    dense_.resize(facts_.shape.elements(), nullptr);
  } else if (facts_.shape.dense) {
    initial_routes_ = shared_routes(facts_, here_.job().pes());
    routes_ = initial_routes_->data();
    dense_.resize(facts_.shape.elements(), nullptr);
  }
}

// At the end of the job: either of two that are bound may be first.
collection_manager::~collection_manager() {
  destroy_elements();
  if (leader_ != nullptr) std::erase(leader_->bound_, this);
  for (local_collection* const each : bound_) {
    auto& other = static_cast<collection_manager&>(*each);
    other.leader_ = nullptr;
    other.routes_ = other.initial_routes_->data();
  }
}

void collection_manager::destroy_elements() {
  for (element_base* const element : local_) end(here_, *element);
  while (!local_.empty()) remove(local_.back()->number()).reset();
}

void collection_manager::drop_held() {
  location_.drop_held([this](message_ref held) {
    auto* const message = reinterpret_cast<sched::envelope*>(held);
    sched::drop_message(here_, *message);
    arena::release(message);
  });
  for (auto& [number, arriving] : std::exchange(arriving_, {})) end(here_, *arriving.element);
  for (auto& [number, kept] : std::exchange(early_, {})) sched::drop_message(here_, kept.message);
  for (auto& kept : std::exchange(history_, {})) sched::drop_message(here_, kept.message);
}

const char* collection_manager::key_hint() const {
  return facts_.shape.dimensions != 0
             ? ""
             : ", or one whose key has the same std::hash: keys of an array must not share one";
}

std::string local_collection::describe(std::uint64_t number) const {
  return name_ + describe_number(facts_.shape, number);
}

pe_number collection_manager::home_of(std::uint64_t number) const {
  if (initial_routes_ != nullptr) return (*initial_routes_)[number];
  const int pes = here_.job().pes();
  const int pe = placement_of(facts_.placement)(number, 0, pes, facts_.shape, state_of_map_);
  if (facts_.id != 0 && (pe < 0 || pe >= pes)) [[unlikely]]
    here_.job().fail(
        fmt::format("placement map: element {} was put on PE {}; there are PEs 0..{}", describe(number), pe, pes - 1));
  return pe;
}

element_base* collection_manager::find_sparse(std::uint64_t number) const {
  const auto found = sparse_.find(number);
  return found == sparse_.end() ? nullptr : found->second.get();
}

// ---- elements

void collection_manager::install(std::unique_ptr<element_base> element) {
  element_base* const raw = element.get();
  const std::uint64_t number = raw->number_;
  raw->home_ = this;
  if (!dense_.empty())
    dense_[number] = element.release();
  else
    sparse_[number] = std::move(element);
  raw->local_index_ = local_.size();
  local_.push_back(raw);
  ++levels_[raw->contributions_];
}

std::unique_ptr<element_base> collection_manager::remove(std::uint64_t number) {
  element_base* const raw = find(number);
  std::unique_ptr<element_base> element;
  if (!dense_.empty()) {
    element.reset(raw);
    dense_[number] = nullptr;
  } else {
    element = std::move(sparse_[number]);
    sparse_.erase(number);
  }
  const std::size_t index = std::exchange(raw->local_index_, element_base::nowhere);
  if (local_.back() != raw) (local_[index] = local_.back())->local_index_ = index;
  local_.pop_back();
  leave_level(raw->contributions_);
  return element;
}

// Coroutines first: they use the members of the element's own class, which end before those of its base.
void collection_manager::end(sched::pe& here, element_base& element) {
  element.coroutines_.want_to_leave(false);
  element.coroutines_.destroy_all();
  for (sched::envelope& message : std::exchange(element.undelivered_, {})) sched::drop_message(here, message);
  if (!element.has_awaited()) return;
  for (auto& kept : element.awaited().take_messages()) sched::drop_message(here, kept.message);
}

std::unique_ptr<element_base> collection_manager::construct(std::uint64_t number,
                                                            os::function_ref<std::unique_ptr<element_base>()> make) {
  current_construction() = {this, number, nullptr};
  const construction_scope before;  // element_base sets the owner
  try {
    return make();
  } catch (const std::exception& error) {
    here_.job().fail(fmt::format("an exception left the constructor of {} on PE {}: {}", describe(number),
                                 here_.number(), error.what()));
  }
}

void collection_manager::create_initial(const constructor& make) {
  for (std::uint64_t number = 0; number < dense_.size(); ++number) {
    if (routes_[number] != here_.number()) continue;
    install(construct(number, make));
    ++created_;
  }
  if (!local_.empty()) reported_watermark_.level = 0;  // which contributions_of_hosts() knows
  flush_contributions();
}

// Only elements at rest have a place that all PEs agree on.
void collection_manager::create_bound(const constructor& make) {
  const collection_manager& leader = *leader_;
  if (!leader.travelling_.empty() || !leader.arriving_.empty() || !leader.location_.is_settled())
    here_.job().fail(
        fmt::format("{} was bound to {} while elements of that moved, on PE {}: bind arrays before, or "
                    "after tri::quiescence()",
                    name_, leader.name_, here_.number()));
  std::vector<std::uint64_t> numbers;
  for (const element_base* const partner : leader.local_) numbers.push_back(partner->number());
  std::ranges::sort(numbers);
  for (const std::uint64_t number : numbers) {
    install(construct(number, make));
    ++created_;
  }
  leader.location_.visit_dead([&](std::uint64_t number, std::uint64_t last) {
    for (;; ++number) {
      post_packed(here_, contribution_root_pe(), death_handler, facts_.id, 0,
                  pack_arguments<std::tuple<>>(here_, true, false));
      if (number == last) return;
    }
  });
  // What contributions_of_hosts() believes of a PE that has elements by the placement.
  if (std::ranges::find(*initial_routes_, here_.number()) != initial_routes_->end()) reported_watermark_.level = 0;
  flush_contributions();
}

collection_manager& collection_manager::bound_collection(std::uint32_t id) {
  if (id == facts_.id) return *this;
  return static_cast<collection_manager&>(*objects_.find_local_collection(id));
}

// As if the element was created here and set out for its PE: so broadcasts and reductions over them, in their order,
// know of it from now on. One that a broadcast's method inserts is too late for this broadcast, as it is on all PEs.
void collection_manager::insertion_begins(const insertion_origin& origin) {
  ++(runs_broadcast_ ? created_by_broadcast_ : created_);
  travelling_.insert(origin.seen);
  publish_low_water_mark();
}

void collection_manager::insert(std::uint64_t number, constructor make, const insertion_origin& origin) {
  if (facts_.shape.dense)
    throw std::logic_error(
        fmt::format("{}: elements of a dense array exist from the beginning and cannot be inserted", describe(number)));
  pending_insert pending{std::move(make), origin};
  if (origin.pe == no_pe && facts_.id != 0) insertion_begins(pending.origin = next_insertion());
  if (!pending_inserts_.emplace(number, std::move(pending)).second)
    throw std::logic_error(fmt::format("{}: is being inserted already", describe(number)));
  // Contributions that the user orders after the insertion must find it counted; if they are combined on another host,
  // it is counted before it starts.
  if (facts_.id != 0 && !here_.job().is_on_own_host(contribution_root_pe())) {
    post_packed(here_, contribution_root_pe(), count_created_handler, facts_.id, number,
                pack_arguments<std::tuple<>>(here_, true, false));
    return;
  }
  if (!begin_insert(number))
    throw std::logic_error(
        fmt::format("{}: an element with this index exists already{}", describe(number), key_hint()));
}

bool collection_manager::begin_insert(std::uint64_t number) {
  location_actions actions;
  if (!location_.insert(number, fresh(actions))) {
    pending_inserts_.erase(number);
    return false;
  }
  carry_out(number, actions);
  return true;
}

void collection_manager::count_created(std::uint64_t number, int where) {
  facts_.shared->created.fetch_add(1, std::memory_order_relaxed);  // relaxed: see finish_insert
  post_packed(here_, where, created_counted_handler, facts_.id, number,
              pack_arguments<std::tuple<>>(here_, true, false));
}

void collection_manager::created_counted(std::uint64_t number) {
  if (!pending_inserts_.contains(number))
    here_.job().fail(fmt::format("{}: its creation was counted, but it was not inserted here", describe(number)));
  if (!begin_insert(number))
    here_.job().fail(
        fmt::format("{}: inserted, but an element with this index exists already{}", describe(number), key_hint()));
}

// At home nothing is awaited: the messages held for the object follow at once.
void collection_manager::begin_seed(std::uint64_t number, os::function_ref<std::unique_ptr<element_base>()> make) {
  const pe_number home = home_of(number);
  if (home >= here_.job().pes())
    here_.job().fail(
        fmt::format("{}: its home is PE {}; there are PEs 0..{}", describe(number), home, here_.job().pes() - 1));
  if (home != here_.number()) return begin_away_from_home(number, make);
  location_actions actions;
  if (!location_.insert(number, actions)) here_.job().fail(fmt::format("{}: began twice", describe(number)));
  beginning_ = &make;
  carry_out(number, actions);
}

// The home may be busy for long, and the object should not wait for it; only its messages do. So it is constructed
// first, and the location protocol, to which it does not exist before `inserted`, inserts it afterwards. Its home
// cannot refuse: no other element has the number. Until then it can neither move nor be deleted, and both are kept for
// it.
void collection_manager::begin_away_from_home(std::uint64_t number,
                                              os::function_ref<std::unique_ptr<element_base>()> make) {
  method_scope scope(objects_);
  if (!not_granted_yet_.emplace(number, false).second)
    here_.job().fail(fmt::format("{}: began twice", describe(number)));
  auto made = construct(number, make);
  made->ready_ = false;
  install(std::move(made));
  ++created_;
  location_actions actions;
  if (!location_.insert(number, actions)) here_.job().fail(fmt::format("{}: began twice", describe(number)));
  carry_out(number, actions);
}

void collection_manager::home_has_granted(std::uint64_t number) {
  const bool is_deleted = not_granted_yet_.extract(number).mapped();
  element_base& element = *find(number);
  element.ready_ = location_.is_local_ready(number);
  away_from_home_.insert(number);
  if (is_deleted)
    erase(element);
  else if (element.moving_to_ != element_base::stays)
    reconsider(element);
}

void collection_manager::finish_insert(std::uint64_t number) {
  if (not_granted_yet_.contains(number)) return home_has_granted(number);
  if (const auto* const make = std::exchange(beginning_, nullptr)) {
    method_scope scope(objects_);
    install(construct(number, *make));
    find(number)->ready_ = location_.is_local_ready(number);
    ++created_;
    return;
  }
  const pending_insert pending = std::move(pending_inserts_.extract(number).mapped());
  method_scope scope(objects_);
  auto made = construct(number, pending.make);
  made->ready_ = location_.is_local_ready(number);
  made->seen_broadcasts_ = pending.origin.seen;
  install(std::move(made));
  if (pending.origin.pe == no_pe)
    ++created_;  // a single object
  else if (pending.origin.pe == here_.number())
    arrival_acknowledged(number, pending.origin.seen);
  else
    post_packed(here_, pending.origin.pe, acknowledge_handler, facts_.id, pending.origin.seen,
                pack_arguments<std::tuple<std::uint64_t>>(here_, true, false, number));
  // relaxed: read for contributions, which the user orders after the insertion by messages
  if (facts_.id == 0 || here_.job().is_on_own_host(contribution_root_pe()))
    facts_.shared->created.fetch_add(1, std::memory_order_relaxed);
  flush_contributions();
}

// Broadcasts that have run here since it was inserted.
void collection_manager::catch_up_inserted(std::uint64_t number) {
  element_base* const inserted = find(number);
  if (inserted == nullptr || facts_.id == 0) return;
  const owner_scope owner(&inserted->coroutines_);
  catch_up(*inserted, inserted->seen_broadcasts_);
}

// Later, since the message may come from a method. An element that was deleted is not missing.
void collection_manager::create_if_missing(std::uint64_t number, int wanted_by) {
  if (!location_.is_absent(number) || !asked_to_create_.insert(number).second) return;
  if (facts_.on_demand == creation_on_demand::at_sender && wanted_by != here_.number()) {
    post_packed(here_, wanted_by, create_here_handler, facts_.id, number,
                pack_arguments<std::tuple<>>(here_, true, false));
    return;
  }
  create_here(number);
}

void collection_manager::create_here(std::uint64_t number) {
  objects_.defer([this, number] {
    const auto make = element_type_of(facts_.element_type).make;
    if (make != nullptr && find(number) == nullptr && !pending_inserts_.contains(number)) insert(number, make, {});
  });
}

void collection_manager::erase(element_base& element) {
  if (leader_ != nullptr) return leader_->erase(*leader_->find(element.number()));
  objects_.defer([this, number = element.number()] {
    if (find(number) == nullptr) return;  // requested twice
    if (const auto waiting = not_granted_yet_.find(number); waiting != not_granted_yet_.end()) {
      waiting->second = true;
      return;
    }
    location_actions actions;
    if (!location_.erase(number, actions))
      throw std::logic_error(fmt::format("{}: cannot be deleted now", describe(number)));
    if (objects_.moves != nullptr) {
      objects_.moves->stays({facts_.id, number});
      report_moves(here_, *objects_.moves);
    }
    for (local_collection* const each : bound_)
      if (each->find(number) != nullptr) static_cast<collection_manager&>(*each).end_erased(number);
    end_erased(number);
    carry_out(number, actions);
    if (away_from_home_.erase(number) == 0) return;
    location_.bury(number, fresh(actions));
    carry_out(number, actions);
  });
}

void collection_manager::end_erased(std::uint64_t number) {
  const std::unique_ptr<element_base> erased = remove(number);
  // An element that came from a PE further ahead has had broadcasts that are still pending here: for those it was
  // alive.
  if (erased->seen_broadcasts_ > delivered_)
    ++late_destroyed_[erased->seen_broadcasts_];
  else
    ++destroyed_;
  if (facts_.id != 0) {  // single objects have no contributions
    const std::uint64_t first_missing = erased->contributions_;
    post_packed(here_, contribution_root_pe(), death_handler, facts_.id, first_missing,
                pack_arguments<std::tuple<>>(here_, true, false));
  }
  answer_pending(*erased);
  end(here_, *erased);
  flush_contributions();  // the others may have waited for it
}

// The caller that waits for the result of a deleted element is notified. Messages that none of its coroutines has
// asked for are not errors: they reached it in time.
void collection_manager::answer_pending(element_base& deleted) {
  deleted.coroutines_.want_to_leave(false);
  deleted.coroutines_.cancel_all();
  if (!deleted.has_awaited()) return;
  for (auto& kept : deleted.awaited().take_messages())
    if (!sched::refuse_message(
            here_, kept.message,
            fmt::format("a message '{}' from PE {} waited for a coroutine of {}, which was deleted",
                        sched::handler_table()[kept.message.handler].name, kept.message.source, deleted.describe())))
      sched::drop_message(here_, kept.message);
}

void collection_manager::migrate(element_base& element, int to) {
  if (facts_.one_per_pe)
    throw std::logic_error(fmt::format("{}: members of a group stay on their PE", element.describe()));
  if (to < 0 || to >= here_.job().pes())
    throw std::out_of_range(fmt::format("{}: asked to migrate to PE {}; there are PEs 0..{}", element.describe(), to,
                                        here_.job().pes() - 1));
  const auto for_each_partner = [&](auto&& visit) {
    first().visit_partners(element.number(), visit);
    if (find(element.number()) != &element) visit(*this, element);  // its constructor asks
  };
  for_each_partner([&](const collection_manager&, const element_base& each) {
    const element_type& type = element_type_of(each.type());
    if (!here_.is_in_this_process(to) && (type.save == nullptr || type.load == nullptr))
      throw std::logic_error(fmt::format(
          "{}: cannot migrate to another process: its class needs a default constructor and a serialize function",
          each.describe()));
  });
  for_each_partner([&](const collection_manager&, element_base& each) {
    each.moving_to_ = to == here_.number() ? element_base::stays : to;
    each.coroutines_.want_to_leave(each.moving_to_ != element_base::stays);
  });
  reconsider(element);
}

void collection_manager::reconsider(const element_base& element) {
  objects_.defer([home = &first(), number = element.number()] { home->begin_migration(number); });
}

void collection_manager::begin_migration(std::uint64_t number) {
  location_actions actions;
  ask_for_migration(number, actions);
  carry_out(number, actions);
}

// A move that is not possible now is requested again when a wait of the element has ended. The protocol must not move
// it in the meantime because of an older request, so that one is cancelled.
void collection_manager::ask_for_migration(std::uint64_t number, location_actions& actions) {
  const element_base* const element = find(number);
  if (element == nullptr) return;
  const int to = element->moving_to_;
  const bool goes = to != element_base::stays && can_leave(*element, to);
  if (objects_.moves != nullptr && !goes) {
    if (to == element_base::stays)
      objects_.moves->stays({facts_.id, number});
    else
      objects_.moves->waits({facts_.id, number});
    report_moves(here_, *objects_.moves);
  }
  // False: the element is being deleted.
  static_cast<void>(location_.migrate(number, goes ? to : here_.number(), actions));
}

bool collection_manager::can_leave(const element_base& element, int to) const {
  bool can = true;
  first().visit_partners(element.number(), [&](const collection_manager&, const element_base& each) {
    const coroutine_owner& coroutines = each.coroutines_;
    if (coroutines.waits_for_result()) can = false;
    if (!can || here_.is_in_this_process(to)) return;
    const bool waits_for_messages = each.has_awaited() && !each.awaited_->waiters().empty();
    can = coroutines.count() == 0 && !waits_for_messages && !coroutines.has_outstanding_futures();
  });
  return can;
}

void reconsider_migration(const element_base& element) {
  static_cast<collection_manager&>(element.home()).reconsider(element);
}

bool element_base::can_migrate_now(int pe) const {
  const sched::pe& here = home_->here();
  if (home_->facts().one_per_pe || pe < 0 || pe >= here.job().pes()) return false;
  const auto& home = static_cast<const collection_manager&>(*home_);
  return (here.is_in_this_process(pe) || home.can_cross(number_)) && home.can_leave(*this, pe);
}

bool collection_manager::can_cross(std::uint64_t number) const {
  bool can = true;
  first().visit_partners(number, [&](const collection_manager&, const element_base& each) {
    const element_type& type = element_type_of(each.type());
    can = can && type.save != nullptr && type.load != nullptr;
  });
  return can;
}

// ---- messages

void collection_manager::send_slowly(const sched::envelope& message) {
  sched::envelope copy;
  copy.assign_message(message);
  if (objects_.is_ending()) return sched::drop_message(here_, copy);
  if (leader_ != nullptr) return leader_->send_slowly(message);
  sched::envelope* block = nullptr;
  post_or_drop(here_, copy, [&] { block = copy_to_block(copy); });
  count_held(here_);
  block->source = static_cast<std::uint32_t>(here_.number());
  location_actions actions;
  location_.on_send(message.element, reinterpret_cast<message_ref>(block), actions);
  carry_out(message.element, actions);
  if (facts_.on_demand != creation_on_demand::no) create_if_missing(message.element, here_.number());
}

void collection_manager::arrived_elsewhere(sched::envelope& message) {
  check_number(message);
  if (leader_ != nullptr) return leader_->arrived_elsewhere(message);
  sched::envelope* block = nullptr;
  try {
    block = copy_to_block(message);
  } catch (const arena::arena_exhausted& error) {  // its sender believes that it is safe
    here_.job().fail(fmt::format("no memory to keep a message '{}' for {}: {}",
                                 sched::handler_table()[message.handler].name, describe(message.element),
                                 error.what()));
  }
  count_held(here_);
  location_actions actions;
  location_.on_arrival(message.element, static_cast<pe_number>(message.source), reinterpret_cast<message_ref>(block),
                       (message.flags & sched::envelope::is_backlog) != 0, actions);
  const std::uint64_t number = message.element;
  const int from = static_cast<int>(message.source);
  carry_out(number, actions);
  if (facts_.on_demand != creation_on_demand::no) create_if_missing(number, from);
}

// The element may have started a wait while its new place prepared. Then it stays, and the end of its wait requests the
// move again; the new place must not be kept waiting, for the awaited message may come from there.
void collection_manager::control_arrived(std::uint64_t number, int from, const location_control& control) {
  location_actions actions;
  if (control.prepared) ask_for_migration(number, actions);
  location_.on_control(number, from, control, actions);
  carry_out(number, actions);
}

void collection_manager::send_control(int to, std::uint64_t number, const location_control& control) {
  post_packed(here_, to, control_handler, facts_.id, number,
              pack_arguments<std::tuple<location_control>>(here_, true, false, control));
}

// All actions first, then the messages that were delivered: a method that runs may send to the same element, and the
// protocol requires that its earlier actions have been executed by then. Messages delivered to an element that leaves
// in the same step migrate with it.
void collection_manager::carry_out(std::uint64_t number, location_actions& actions) {
  std::vector<sched::envelope*> delivered;
  std::optional<method_scope> of_constructor;  // until an inserted element has had its broadcasts
  for (const location_action& action : actions) {
    auto* const block = reinterpret_cast<sched::envelope*>(action.message);
    if (block != nullptr) count_released(here_);  // deliver, send and dead_letter give a message back
    switch (action.kind) {
      case location_action_kind::deliver:
        delivered.push_back(block);
        break;
      case location_action_kind::send: {
        if (block->kind == sched::payload_kind::objects && !here_.is_in_this_process(action.peer)) {
          const auto& row = sched::handler_table()[block->handler];
          if (row.make_portable == nullptr)
            throw std::logic_error("trireme: a message '" + row.name + "' cannot be sent on to another process");
          row.make_portable(here_, *block);
        }
        block->flags = static_cast<std::uint8_t>((block->flags & ~sched::envelope::is_backlog) |
                                                 (action.backlog ? sched::envelope::is_backlog : 0));
        here_.send(action.peer, [&](sched::envelope& slot) {
          const std::uint32_t hop = slot.source;
          slot.assign_message(*block);
          slot.source = hop;
        });
        here_.counters().forwarded.add();
        here_.count_processed();
        arena::release(block);
        break;
      }
      case location_action_kind::control:
        send_control(action.peer, number, action.control);
        break;
      case location_action_kind::depart:
        for (sched::envelope* const waiting : std::exchange(delivered, {})) {
          bound_collection(waiting->collection).find(number)->undelivered_.push_back(*waiting);
          arena::release(waiting);
        }
        depart(number, action.peer);
        break;
      case location_action_kind::inserted:
        if (pending_inserts_.contains(number)) of_constructor.emplace(objects_);
        finish_insert(number);
        break;
      case location_action_kind::insert_refused:
        pending_inserts_.erase(number);
        here_.job().fail(
            fmt::format("{}: inserted, but an element with this index exists already{}", describe(number), key_hint()));
      case location_action_kind::dead_letter: {
        const std::string text = fmt::format("a message '{}' from PE {} reached {}, which was deleted",
                                             sched::handler_table()[block->handler].name, block->source,
                                             bound_collection(block->collection).describe(number));
        if (!sched::refuse_message(here_, *block, text)) here_.job().fail(text);
        here_.count_processed();
        arena::release(block);
        break;
      }
      case location_action_kind::route_changed:
        if (facts_.shape.dense) {
          if (own_routes_.empty()) own_routes_ = *initial_routes_;
          own_routes_[number] = action.peer;
          routes_ = own_routes_.data();
          for (local_collection* const each : bound_) static_cast<collection_manager&>(*each).routes_ = routes_;
        }
        if (!asked_to_create_.empty()) asked_to_create_.erase(number);
        visit_partners(number, [&](const collection_manager&, element_base& element) {
          element.ready_ = action.peer == here_.number();
        });
        break;
    }
  }
  if (of_constructor.has_value()) {
    catch_up_inserted(number);
    of_constructor.reset();
  }
  for (sched::envelope* const message : delivered) {
    if (objects_.method_depth > 0) {  // requested by a running method: that must end first
      here_.send(here_.number(), [&](sched::envelope& slot) { slot.assign_message(*message); });
      here_.count_processed();
    } else {
      run_delivered(*message);
    }
    arena::release(message);
  }
}

// The protocol has decided that it is this message's turn, even if others must still wait.
void collection_manager::run_delivered(sched::envelope& message) {
  message.flags &= static_cast<std::uint8_t>(~sched::envelope::is_backlog);
  const std::uint64_t number = message.element;
  const collection_manager& home = bound_collection(message.collection);
  element_base* const element = home.find(number);
  const bool ready = element != nullptr && std::exchange(element->ready_, true);
  run_released(here_, message);
  if (element_base* const still = home.find(number); still != nullptr && still == element) still->ready_ = ready;
}

// ---- migration

void collection_manager::depart(std::uint64_t number, int to) {
  if (!can_leave(*find(number), to))
    throw std::logic_error(fmt::format("{}: leaves while something of it waits here", describe(number)));
  const bool same_process = here_.is_in_this_process(to);
  away_from_home_.erase(number);
  if (objects_.moves != nullptr) objects_.moves->left({facts_.id, number});
  for (local_collection* const each : bound_) static_cast<collection_manager&>(*each).send_element(number, to);
  send_element(number, to);
  // Messages of this PE to the element that still wait in its own queue go the same way now, before any later one.
  here_.extract_own(
      [&](sched::envelope& waiting) {
        const auto is_of = [&](const local_collection* each) { return waiting.collection == each->facts().id; };
        return waiting.element == number && (is_of(this) || std::any_of(bound_.begin(), bound_.end(), is_of)) &&
               sched::handler_table()[waiting.handler].make_portable != nullptr;
      },
      [&](sched::envelope& waiting) {
        if (!same_process) make_portable(here_, waiting, false);
        here_.send(to, [&](sched::envelope& slot) {
          const std::uint32_t hop = slot.source;
          slot.assign_message(waiting);
          slot.source = hop;
        });
      });
  for (local_collection* const each : bound_) static_cast<collection_manager&>(*each).flush_contributions();
  flush_contributions();
}

void collection_manager::send_element(std::uint64_t number, int to) {
  element_base& element = *find(number);
  element.moving_to_ = element_base::stays;
  element.coroutines_.want_to_leave(false);
  const bool same_process = here_.is_in_this_process(to);
  const bool leaves_host = !here_.job().is_on_own_host(to);
  here_.counters().migrations.add();
  const std::uint64_t seen = std::max(delivered_, element.seen_broadcasts_);
  travelling_.insert(seen);
  publish_low_water_mark();
  std::unique_ptr<element_base> leaving = remove(number);
  travelling_element facts{seen, leaving->contributions_, 0};
  packed_arguments packed;
  if (same_process) {
    facts.address =
        reinterpret_cast<std::uint64_t>(leaving.release());  // its undelivered and its awaited messages go along
    packed = pack_arguments<std::tuple<travelling_element>>(here_, true, false, facts);
  } else {
    output_archive archive;
    serialized_element head{leaves_host,     seen, leaving->contributions_,
                            leaving->type(), {},   std::move(leaving->undelivered_)};
    if (leaving->has_awaited()) head.kept = leaving->awaited().take_messages();
    for (auto& kept : head.kept) make_portable(here_, kept.message, leaves_host);
    for (auto& message : head.undelivered) make_portable(here_, message, leaves_host);
    head.save(archive);
    element_type_of(leaving->type()).save(*leaving, archive);
    const output_archive::contents written = archive.take();
    auto& payload = *new (packed.payload) sched::block_payload{};
    payload.block = written.block;
    payload.bytes = written.bytes;
    packed.kind = sched::payload_kind::serialized;
    here_.counters().bytes_copied.add(payload.bytes);
  }
  post_packed(here_, to, element_handler, facts_.id, number, packed);
}

void collection_manager::install_arrived(std::uint64_t number, arriving_element arriving) {
  element_base& element = *arriving.element;
  element.contributions_ = arriving.contributions;
  element.ready_ = false;
  element.seen_broadcasts_ = arriving.seen_broadcasts;
  install(std::move(arriving.element));
  report_level();
  post_packed(here_, arriving.from, acknowledge_handler, facts_.id, arriving.seen_broadcasts,
              pack_arguments<std::tuple<std::uint64_t>>(here_, true, false, number));
}

// Partners come in messages one after the other, that of the first collection last; to the program they arrive at once.
// Until then messages to any of them are held, since the location is that of the last.
void collection_manager::element_arrived(std::uint64_t number, int from, std::unique_ptr<element_base> element,
                                         std::uint64_t seen, std::uint64_t contributions) {
  arriving_element arriving{from, std::move(element), seen, contributions};
  if (leader_ != nullptr) {
    arriving_.emplace(number, std::move(arriving));
    return;
  }
  for (local_collection* const each : bound_) {
    auto& other = static_cast<collection_manager&>(*each);
    auto partner = other.arriving_.extract(number);
    if (partner.empty())
      here_.job().fail(
          fmt::format("{} came to PE {} without its partner: {} was bound to {} while elements of that "
                      "moved; bind arrays before, or after tri::quiescence()",
                      describe(number), here_.number(), other.name_, name_));
    other.install_arrived(number, std::move(partner.mapped()));
  }
  install_arrived(number, std::move(arriving));
  location_actions actions;
  location_.on_element_arrived(number, from, actions);
  // Taken out first: a broadcast that the element catches up with may delete it. Then these are messages to a deleted
  // element like any others.
  std::vector<sched::envelope> undelivered;
  {
    method_scope scope(objects_);
    visit_partners(number, [&](const collection_manager&, element_base& arrived) {
      undelivered.insert(undelivered.end(), arrived.undelivered_.begin(), arrived.undelivered_.end());
      arrived.undelivered_.clear();
      const owner_scope owner(&arrived.coroutines_);
      if (const auto on_migrated = element_type_of(arrived.type()).on_migrated) on_migrated(arrived);
    });
    visit_partners(number, [&](collection_manager& home, element_base& arrived) {
      const owner_scope owner(&arrived.coroutines_);
      home.catch_up(arrived, arrived.seen_broadcasts_);
    });
  }
  for (sched::envelope& message : undelivered) run_delivered(message);
  carry_out(number, actions);
  const bool is_ready = location_.is_local_ready(number);
  visit_partners(number, [&](const collection_manager&, element_base& here_now) { here_now.ready_ = is_ready; });
}

bool collection_manager::arrival_acknowledged(std::uint64_t number, std::uint64_t seen) {
  const auto travelling = travelling_.find(seen);
  if (travelling == travelling_.end()) return false;
  travelling_.erase(travelling);
  if (objects_.moves != nullptr) {
    objects_.moves->arrived({facts_.id, number});
    report_moves(here_, *objects_.moves);
  }
  publish_low_water_mark();
  return true;
}

// ---- broadcasts

void collection_manager::broadcast_arrived(sched::envelope& message, broadcast_function run) {
  if (message.element != delivered_) {
    early_.emplace(message.element, logged_broadcast{message, run});
    return;
  }
  deliver_broadcast(message, run);
  while (!early_.empty() && early_.begin()->first == delivered_) {
    logged_broadcast next = early_.extract(early_.begin()).mapped();
    deliver_broadcast(next.message, next.run);
  }
}

void collection_manager::deliver_broadcast(sched::envelope& message, broadcast_function run) {
  for (; !late_destroyed_.empty() && late_destroyed_.begin()->first <= delivered_;
       late_destroyed_.erase(late_destroyed_.begin()))
    destroyed_ += late_destroyed_.begin()->second;
  runs_broadcast_ = true;
  run(here_, *this, message, nullptr);
  runs_broadcast_ = false;
  ++delivered_;
  created_ += std::exchange(created_by_broadcast_, 0);
  if (facts_.one_per_pe || (here_.job().pes() == 1 && travelling_.empty())) {
    sched::drop_message(here_, message);
    for (const logged_broadcast& past : std::exchange(history_, {})) {
      sched::envelope old = past.message;
      sched::drop_message(here_, old);
    }
    return;
  }
  history_.push_back({message, run});
  publish_low_water_mark();
  if (history_.size() >= history_before_pruning && delivered_ % (history_before_pruning / 2) == 0) prune_history();
}

void collection_manager::publish_low_water_mark() {
  const std::uint64_t low_water_mark = travelling_.empty() ? delivered_ : std::min(delivered_, *travelling_.begin());
  // release: a PE that drops history because of this value comes after the departures that it accounts for. pairs:
  // local_collection.low_water_mark
  facts_.shared->low_water_mark_of_pe(here_.job().host_pe_number(here_.number()))
      .store(low_water_mark, std::memory_order_release);
}

std::uint64_t collection_manager::lowest_mark_of_host() const {
  std::uint64_t lowest = delivered_;
  for (int pe = 0; pe < facts_.shared->host_pes; ++pe)
    lowest = std::min(lowest, facts_.shared->low_water_mark_of_pe(static_cast<std::uint32_t>(pe))
                                  .load(std::memory_order_acquire));  // pairs: local_collection.low_water_mark
  return lowest;
}

// Between the first PEs of hosts. Another one for each collection, so that all hosts share the inner vertices.
sched::host_tree collection_manager::tree_of_marks() const {
  const sched::runtime& job = here_.job();
  const int hosts = job.hosts();
  const std::uint32_t number_on_host = (facts_.id - 1) / static_cast<std::uint32_t>(hosts);
  return {hosts, job.host_of_collection(facts_.id), sched::host_tree::rotation_of(number_on_host, hosts)};
}

void collection_manager::send_low_water_mark(int host, std::uint64_t low_water_mark) {
  const sched::runtime& job = here_.job();
  job.process_record_of(job.process())->between_hosts.low_water_marks.add();
  post_packed(here_, job.first_pe_of(host), low_water_mark_handler, facts_.id, low_water_mark,
              pack_arguments<std::tuple<>>(here_, true, false));
}

subtree_marks& collection_manager::marks_of_subtree() {
  if (subtree_marks_ == nullptr)
    subtree_marks_ =
        std::make_unique<subtree_marks>(static_cast<std::size_t>(tree_of_marks().children(here_.job().host())));
  return *subtree_marks_;
}

// By the first PE of the host.
void collection_manager::report_low_water_mark() {
  const sched::runtime& job = here_.job();
  if (job.hosts() == 1 || here_.number() != job.first_pe_of_host()) return;
  marks_of_subtree().rose_here(lowest_mark_of_host());
  const std::optional<std::uint64_t> lowest = marks_of_subtree().take_report();
  if (!lowest) return;
  if (job.host() == job.host_of_collection(facts_.id))
    low_water_mark_of_job_rose(*lowest);
  else
    send_low_water_mark(tree_of_marks().parent(job.host()), *lowest);
}

bool collection_manager::low_water_mark_arrived(int host, std::uint64_t low_water_mark) {
  const sched::runtime& job = here_.job();
  job.process_record_of(job.process())->between_hosts.low_water_marks.add();
  const sched::host_tree tree = tree_of_marks();
  if (job.host() != job.host_of_collection(facts_.id) && host == tree.parent(job.host())) {
    low_water_mark_of_job_rose(low_water_mark);
    return true;
  }
  std::size_t place = 0, child = ~std::size_t{0};
  tree.for_each_child(job.host(), [&](int each) {
    if (each == host) child = place;
    ++place;
  });
  if (child >= place || here_.number() != job.first_pe_of_host()) return false;
  marks_of_subtree().reported_by(child, low_water_mark);
  report_low_water_mark();
  return true;
}

void collection_manager::low_water_mark_of_job_rose(std::uint64_t low_water_mark) {
  // release: as of a PE, whose marks this one sums up. pairs: local_collection.low_water_mark
  facts_.shared->low_water_mark_of_job().store(low_water_mark, std::memory_order_release);
  tree_of_marks().for_each_child(here_.job().host(), [&](int child) { send_low_water_mark(child, low_water_mark); });
}

// An element that left PE A having seen n broadcasts may still come here and request those from n on, as long as A's
// low-water mark is at most n. A raises its low-water mark only when the arrival was acknowledged.
void collection_manager::prune_history() {
  report_low_water_mark();
  std::uint64_t lowest = lowest_mark_of_host();
  // What another host says raises it no further.
  if (here_.job().hosts() > 1)
    lowest = std::min(lowest, facts_.shared->low_water_mark_of_job().load(
                                  std::memory_order_acquire));  // pairs: local_collection.low_water_mark
  auto last = history_.begin();
  for (std::uint64_t number = delivered_ - history_.size(); number < lowest; ++number) {
    sched::drop_message(here_, last->message);
    ++last;
  }
  history_.erase(history_.begin(), last);
}

// From another host, so its payload is bytes that mean the same everywhere.
void collection_manager::number_broadcast(sched::envelope& message) {
  const sched::runtime& job = here_.job();
  // relaxed: only the order of the numbers matters; the messages carry everything else
  message.element = here_.repeatable(facts_.shared->next_broadcast.fetch_add(1, std::memory_order_relaxed));
  try {
    sched::envelope to_hosts = sched::copy_of_message(message);
    here_.send_to_other_hosts(to_hosts);
    const int first = job.first_pe_of_host();
    for (int pe = first; pe < first + job.pes_of_host(); ++pe) {
      const bool is_last = pe + 1 == first + job.pes_of_host();
      const sched::envelope each = is_last ? message : sched::copy_of_message(message);
      here_.send(pe, [&](sched::envelope& slot) {
        const std::uint32_t hop = slot.source;
        slot.assign_message(each);
        slot.source = hop;
      });
    }
  } catch (const std::exception& error) {  // no memory: the PEs without it would wait for this number
    here_.job().fail("a broadcast of " + name_ + " did not reach all PEs: " + error.what());
  }
}

void collection_manager::catch_up(element_base& element, std::uint64_t seen) {
  const std::uint64_t number = element.number();
  for (; seen < delivered_; ++seen) {
    if (find(number) == nullptr) return;
    auto& kept = history_[history_.size() - (delivered_ - seen)];
    kept.run(here_, *this, kept.message, &element);
  }
  element.seen_broadcasts_ = std::max(seen, element.seen_broadcasts_);
}

// ---- contributions

contribution_base& collection_manager::contribution(element_base& element,
                                                    os::function_ref<std::unique_ptr<contribution_base>()> make) {
  auto& slot = contributions_[element.contributions_];
  if (slot == nullptr) slot = make();
  return *slot;
}

void collection_manager::contributed(element_base& element) {
  const std::uint64_t number = element.contributions_++;
  ++contributions_[number]->count;
  if (element.local_index_ == element_base::nowhere) return;  // its constructor runs: it is on no level until install()
  leave_level(number);
  ++levels_[element.contributions_];
  flush_contributions();
}

int local_collection::contribution_root_pe() const {
  return static_cast<int>(facts_.id % static_cast<std::uint32_t>(here().job().pes()));
}

void collection_manager::member_left(std::uint64_t first_missing) {
  ++left_members_[first_missing];
  // Those that are complete now delete themselves and their row.
  for (auto root = contribution_roots_.lower_bound(first_missing); root != contribution_roots_.end();) {
    const auto [number, name] = *root++;
    objects_.results.find(name.slot, name.generation)->member_left();
    if (objects_.results.find(name.slot, name.generation) == nullptr) forget_contribution_root(number);
  }
}

// The count of those who take part was taken from it when it was complete, so one more would wait for good, or be
// added to those of another round.
root_name& collection_manager::contribution_root(std::uint64_t number) {
  if (number < contributions_complete_ || early_complete_.contains(number))
    here_.job().fail(
        fmt::format("contribution {} of {} is complete, and now an element contributes to it that was inserted too "
                    "late; insert before the first one, or let a.reduce<&{}::method>(...) count who is there",
                    number, name_, name_));
  return contribution_roots_[number];
}

void collection_manager::forget_contribution_root(std::uint64_t number) {
  contribution_roots_.erase(number);
  early_complete_.insert(number);
  while (!early_complete_.empty() && *early_complete_.begin() == contributions_complete_) {
    early_complete_.erase(early_complete_.begin());
    ++contributions_complete_;
  }
}

std::int64_t collection_manager::contributors(std::uint64_t number) const {
  std::int64_t count = facts_.shared->created.load(std::memory_order_relaxed);  // relaxed: see finish_insert
  for (auto left = left_members_.begin(); left != left_members_.end() && left->first <= number; ++left)
    count -= left->second;
  return count;
}

void collection_manager::leave_level(std::uint64_t level) {
  const auto found = levels_.find(level);
  if (--found->second == 0) levels_.erase(found);
}

// Sums to which no element of this PE will add any more go to the root, or first to the combining PE of this host.
// Elements that arrive later and lag behind form a new, smaller part.
void collection_manager::flush_contributions() {
  const std::uint64_t reached = level();
  while (!contributions_.empty() && contributions_.begin()->first < reached) {
    auto first = contributions_.extract(contributions_.begin());
    if (!is_combined_) {
      first.mapped()->send_to_root(*this, first.key());
      continue;
    }
    first.mapped()->send_to_combine(
        *this, contribution_tree_.combining_pe(), first.key(),
        next_watermark(contributions_.empty() ? reached : std::min(reached, contributions_.begin()->first)));
  }
  report_level();
}

collection_manager::sums_of_hosts& collection_manager::contributions_of_hosts() {
  if (host_contributions_ == nullptr)
    host_contributions_ = std::make_unique<sums_of_hosts>(contribution_tree_.initial_levels(
        initial_routes_ != nullptr ? std::span<const pe_number>(*initial_routes_) : std::span<const pe_number>()));
  return *host_contributions_;
}

void collection_manager::check_combined_here(const sched::envelope& message) const {
  if (!is_combined_ || here_.number() != contribution_tree_.combining_pe() ||
      contribution_tree_.participant_of(static_cast<int>(message.source)) == contribution_tree_.participants())
    refuse_arguments(message, "only PEs of one host, and those that combine for hosts below it, send that");
}

void collection_manager::level_reported(int pe, const reported_watermark& level) {
  sums_of_hosts& of_hosts = contributions_of_hosts();
  const int parent = contribution_tree_.parent_pe();
  of_hosts.heard(contribution_tree_.participant_of(pe), level);
  of_hosts.take_complete([&](std::uint64_t number, auto& sum, const reported_watermark& told) {
    if (parent < 0)
      sum->send_to_root(*this, number);
    else
      sum->send_to_combine(*this, parent, number, told);
  });
  if (const auto told = of_hosts.take_report(); told && parent >= 0) report_level_to(parent, *told);
}

// A level that changes without a part: elements came, left or ended.
void collection_manager::report_level() {
  if (is_combined_ && level() != reported_watermark_.level)
    report_level_to(contribution_tree_.combining_pe(), next_watermark(level()));
}

void collection_manager::report_level_to(int pe, const reported_watermark& level) {
  post_packed(here_, pe, level_handler, facts_.id, 0,
              pack_arguments<std::tuple<reported_watermark>>(here_, true, false, level));
}

reported_watermark collection_manager::next_watermark(std::uint64_t level) {
  return reported_watermark_ = {level, reported_watermark_.number + 1};
}

std::string collection_manager::describe_waiting() const {
  std::string text;
  for (const auto& [number, part] : contributions_)
    text += fmt::format("\n  PE {}: contribution {} of {} has {} of {} local elements", here_.number(), number, name_,
                        part->count, local_.size());
  if (host_contributions_ != nullptr)
    host_contributions_->visit_waiting([&](std::uint64_t number, const auto& sum, std::size_t behind) {
      text += fmt::format(
          "\n  PE {}: contribution {} of {} has {} elements of this host and those below it and waits for PE {}",
          here_.number(), number, name_, sum->count, contribution_tree_.pe_of_participant(behind));
    });
  for (element_base* const element : local_) {
    if (!element->has_awaited()) continue;
    for (const auto& waiting : element->awaited().waiters())
      for (const message_waiter* const waiter : waiting.wanted)
        if (!waiter->satisfied())
          text += fmt::format("\n  PE {}: {} waits for {} {}", here_.number(), element->describe(),
                              sched::handler_table()[waiter->key().method].name, waiter->describe_match());
  }
  if (const auto held = location_.held_messages(); held != 0)
    text +=
        fmt::format("\n  PE {}: {} messages wait for elements of {} that do not exist", here_.number(), held, name_);
  return text;
}

void collection_manager::check_number(const sched::envelope& message) const {
  if (!facts_.shape.dense || message.element < dense_.size()) return;
  refuse_arguments(message, fmt::format("it is for element {} of {}; there are 0..{}", message.element, name_,
                                        static_cast<long>(dense_.size()) - 1)
                                .c_str());
}

namespace {
bool can_be_bound(const pe_objects& objects, const collection_facts& facts) {
  const local_collection* const leader = objects.find_local_collection(facts.bound_to);
  return leader != nullptr && leader->facts().bound_to == 0 && leader->facts().shape.dense && facts.shape.dense &&
         !leader->facts().one_per_pe && leader->facts().shape.extent == facts.shape.extent;
}
}  // namespace

void check_collection_facts(sched::pe& here, const sched::envelope& message, const collection_facts& facts) {
  const sched::runtime& job = here.job();
  const int from = static_cast<int>(message.source);
  if (job.is_on_own_host(from)) return;
  std::string fault;
  if (facts.id != message.collection || facts.id == 0)
    fault = fmt::format("they are of collection {}, but the message is of {}", facts.id, message.collection);
  else if (job.host_of_collection(facts.id) != job.host_of(from))
    fault = fmt::format("collection {} cannot be of {}", facts.id, job.name_of_host(job.host_of(from)));
  else if (facts.shared != nullptr)
    fault = "they hold an address of another host";
  else if (facts.bound_to != 0 && !can_be_bound(pe_objects::of(here), facts))
    fault = fmt::format("they are bound to collection {}, which is no array of their shape", facts.bound_to);
  else if (facts.on_demand > creation_on_demand::at_sender)
    fault = fmt::format("they create elements on demand by way {}, which does not exist",
                        static_cast<int>(facts.on_demand));
  else if (facts.on_demand != creation_on_demand::no && facts.element_type >= element_types())
    fault = fmt::format("their elements are of class {}, which does not exist", facts.element_type);
  else if (facts.placement >= placements())
    fault = fmt::format("their placement is {}, which must be 0 to {}", facts.placement, placements() - 1);
  else if (!placement_fits(facts.placement, facts.map == 0 ? nullptr : known_node_object(facts.map)))
    fault = fmt::format("their placement map has no state of its kind in node group {}", facts.map);
  else if (facts.creator < 0 || facts.creator >= job.pes())
    fault = fmt::format("their creator is PE {}; there are PEs 0..{}", facts.creator, job.pes() - 1);
  else if (facts.id > most_collections)
    fault = fmt::format("collection {} would be one of more than {}", facts.id, most_collections);
  else if (const std::string of_shape = fault_of_shape(facts.shape); !of_shape.empty())
    fault = of_shape;
  else if (pe_objects::of(here).find_local_collection(facts.id) != nullptr)
    fault = fmt::format("there is a collection {} already", facts.id);
  if (!fault.empty()) refuse_arguments(message, fault.c_str());
}

void make_carried_portable(sched::pe& here, sched::envelope& message) { make_portable(here, message, true); }
void load_carried_message(input_archive& archive, sched::envelope& message) { load_message(archive, message, true); }

const collection_facts& facts_of_leader(sched::pe& here, std::uint32_t collection) {
  const pe_objects& objects = pe_objects::of(here);
  const local_collection* const found = collection == 0 ? nullptr : objects.find_local_collection(collection);
  if (found == nullptr || !found->facts().shape.dense || found->facts().one_per_pe)
    throw std::logic_error("tri::make_bound_array: the array to bind to is no dense array that exists here");
  const std::uint32_t first = found->facts().bound_to;
  return first == 0 ? found->facts() : objects.find_local_collection(first)->facts();
}

void check_insertion_origin(sched::pe& here, const sched::envelope& message, const insertion_origin& origin) {
  if (here.job().is_on_own_host(static_cast<int>(message.source)) || origin.pe == no_pe ||
      origin.pe == static_cast<int>(message.source))
    return;
  refuse_arguments(message, fmt::format("they are of PE {}, which is not their sender", origin.pe).c_str());
}

namespace {

collection_manager* find_collection(sched::pe& here, const sched::envelope& message) {
  return static_cast<collection_manager*>(pe_objects::of(here).find_local_collection(message.collection));
}
collection_manager* find_or_hold(sched::pe& here, const sched::envelope& message) {
  return static_cast<collection_manager*>(pe_objects::of(here).find_or_hold(message));
}

// For answers: they come only from PEs that learned of the collection here.
collection_manager& existing_collection(sched::pe& here, const sched::envelope& message) {
  collection_manager* const found = find_collection(here, message);
  if (found == nullptr)
    refuse_arguments(message, fmt::format("there is no collection {} here", message.collection).c_str());
  return *found;
}

void element_deliver(sched::pe& here, sched::envelope& message) {
  collection_manager* const found = find_or_hold(here, message);
  if (found == nullptr) return;
  collection_manager& home = *found;
  home.check_number(message);
  std::unique_ptr<element_base> element;
  if (message.kind == sched::payload_kind::direct) {
    unpacked_arguments<std::tuple<travelling_element>> arguments(message);
    const travelling_element& facts = std::get<0>(arguments.values());
    element.reset(reinterpret_cast<element_base*>(facts.address));
    home.element_arrived(message.element, static_cast<int>(message.source), std::move(element), facts.seen_broadcasts,
                         facts.contributions);
    return;
  }
  serialized_element found_facts;
  read_archive(message, [&](input_archive& archive) {
    found_facts.load(archive, !here.job().is_on_own_host(static_cast<int>(message.source)));
    current_construction() = {&home, message.element, nullptr};
    const construction_scope before;  // element_base sets the owner
    element = element_type_of(found_facts.type).load(archive);
    element->take_undelivered(std::move(found_facts.undelivered));
    for (auto& each : found_facts.kept) element->awaited().arrive(each.key, each.message);
  });
  arena::release(message.block().block);
  home.element_arrived(message.element, static_cast<int>(message.source), std::move(element),
                       found_facts.seen_broadcasts, found_facts.contributions);
}

// The element does not arrive any more. It still belongs to the local collection that it left.
void element_drop(sched::pe& here, sched::envelope& message) {
  if (message.kind == sched::payload_kind::direct) {
    unpacked_arguments<std::tuple<travelling_element>> arguments(message);
    const std::unique_ptr<element_base> element(
        reinterpret_cast<element_base*>(std::get<0>(arguments.values()).address));
    collection_manager::end(here, *element);
    return;
  }
  serialized_element facts;
  read_archive(message, [&](input_archive& archive) {
    facts.load(archive, !here.job().is_on_own_host(static_cast<int>(message.source)));
  });
  for (auto& each : facts.kept) sched::drop_message(here, each.message);
  for (sched::envelope& each : facts.undelivered) sched::drop_message(here, each);
  arena::release(message.block().block);
}

void control_deliver(sched::pe& here, sched::envelope& message) {
  collection_manager* const home = find_or_hold(here, message);
  if (home == nullptr) return;
  home->check_number(message);
  unpacked_arguments<std::tuple<location_control>> arguments(message);
  home->control_arrived(message.element, static_cast<int>(message.source), std::get<0>(arguments.values()));
}

void death_deliver(sched::pe& here, sched::envelope& message) {
  if (collection_manager* const home = find_or_hold(here, message)) home->member_left(message.element);
}

void count_created_deliver(sched::pe& here, sched::envelope& message) {
  if (collection_manager* const home = find_or_hold(here, message))
    home->count_created(message.element, static_cast<int>(message.source));
}

void created_counted_deliver(sched::pe& here, sched::envelope& message) {
  existing_collection(here, message).created_counted(message.element);
}

void low_water_mark_deliver(sched::pe& here, sched::envelope& message) {
  collection_manager* const home = find_collection(here, message);
  if (home != nullptr &&
      !home->low_water_mark_arrived(here.job().host_of(static_cast<int>(message.source)), message.element))
    refuse_arguments(message, "their sender is no neighbour in the tree of hosts");
}

void create_here_deliver(sched::pe& here, sched::envelope& message) {
  existing_collection(here, message).create_here(message.element);
}

void level_deliver(sched::pe& here, sched::envelope& message) {
  collection_manager* const home = find_or_hold(here, message);
  if (home == nullptr) return;
  home->check_combined_here(message);
  count_part(here, message);
  home->level_reported(static_cast<int>(message.source),
                       std::get<0>(unpacked_arguments<std::tuple<reported_watermark>>(message).values()));
}

void acknowledge_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<std::uint64_t>> arguments(message);
  if (!existing_collection(here, message).arrival_acknowledged(std::get<0>(arguments.values()), message.element))
    refuse_arguments(message, "no element is on its way that has had so many broadcasts");
}

}  // namespace

}  // namespace tri::objects
