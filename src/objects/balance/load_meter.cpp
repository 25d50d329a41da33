#include "objects/balance/load_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "trireme/detail/objects/element.hpp"
#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/detail/objects/load_description.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::objects {
namespace {

// Where an element of a dense array is, in units of the array; so arrays of different extents fit each other.
void set_position(load_part::element& one, const array_shape& shape) {
  if (!shape.dense || shape.dimensions < 1 || shape.dimensions > one.position.size()) return;
  std::uint64_t number = one.name.number;
  for (std::size_t d = shape.dimensions; d-- > 0;) {  // the last index counts fastest
    const std::uint64_t extent = shape.extent[d];
    one.position[d] = (static_cast<double>(number % extent) + 0.5) / static_cast<double>(extent);
    number /= extent;
  }
  one.dimensions = static_cast<std::uint8_t>(shape.dimensions);
}

// What the element says in place of what was measured.
void ask_element(element_base& element, const element_type& type, load_part& into, load_part::element& one) {
  load_description said;
  type.describe_load(element, said);
  const load_description::contents known = said.take();
  if (known.load_ns.has_value()) {
    one.is_work = 1;
    one.load_ns = *known.load_ns;
  }
  if (!known.coordinates.empty()) {
    one.dimensions = static_cast<std::uint8_t>(known.coordinates.size());
    std::copy(known.coordinates.begin(), known.coordinates.end(), one.position.begin());
  }
  one.user_data_bytes = static_cast<std::uint32_t>(known.user_data.size());
  into.user_data.insert(into.user_data.end(), known.user_data.begin(), known.user_data.end());
  one.bytes = known.bytes;
  if (known.stays) one.is_migratable = 0;
}

}  // namespace

void charge_load(load_meter& meter, coroutine_owner* owner) { meter.charge(owner); }

void count_traffic(load_meter& meter, std::uint32_t collection, std::uint64_t number, std::uint64_t bytes) {
  meter.count({collection, number}, bytes);
}

load_meter::load_meter(sched::pe& here)
    : here_(here), clock_(os::task_clock::of_this_thread()), loops_(*loops::this_participant()) {
  loops_.counts_help = true;
  here.measure_spare_time(clock_);
  reset();
  running_load_meter = this;
}

load_meter::~load_meter() {
  loops_.counts_help = false;
  running_load_meter = nullptr;
}

void load_meter::count(element_name to, std::uint64_t bytes) {
  const element_base* const sender = running_owner == nullptr ? nullptr : running_owner->element();
  if (sender == nullptr) return;
  const element_name from{sender->home().facts().id, sender->number()};
  if (from != to) traffic_.count(from, to, bytes);
}

void load_meter::count_events(std::vector<std::string> names) {
  counters_ = std::make_unique<element_counters>(std::move(names));
}

void load_meter::charge_counters(const coroutine_owner* owner) {
  const element_base* const element = owner == nullptr ? nullptr : owner->element();
  try {
    if (element == nullptr)
      counters_->skip();
    else
      counters_->charge({element->home().facts().id, element->number()});
  } catch (const std::exception& error) {
    here_.job().fail(fmt::format("load_counters: on PE {}: {}", here_.number(), error.what()));
  }
}

std::int64_t load_meter::background_ns() {
  charge(running_owner);
  const std::uint64_t spare = here_.idle_ticks() + here_.helped_ticks() - spare_before_;
  const std::uint64_t known = spare + in_elements_;
  const std::uint64_t all = last_ - began_;
  return to_ns((all > known ? all - known : 0) + help_without_element_);
}

void load_meter::reset() {
  last_ = began_ = clock_.read();
  spare_before_ = here_.idle_ticks() + here_.helped_ticks();
  in_elements_ = help_without_element_ = loops_.help_received = 0;
  traffic_.clear();
  if (counters_ != nullptr) counters_->clear();
  pe_objects* const objects = static_cast<pe_objects*>(here_.upper);
  if (objects == nullptr) return;
  objects->for_each_collection([](local_collection& home) {
    for (element_base* const element : home.local_elements()) element->coroutines().take_load();
  });
}

void load_meter::collect(load_part& into) {
  into.background_ns = background_ns();
  if (counters_ != nullptr) into.counters = counters_->names();
  std::vector<local_collection*> homes;
  std::size_t elements = 0;
  pe_objects::of(here_).for_each_collection([&](local_collection& home) {
    homes.push_back(&home);
    elements += home.local_elements().size();
  });
  std::ranges::sort(homes, {}, [](const local_collection* home) { return home->facts().id; });
  into.elements.reserve(elements);
  bool any_bound = false;
  for (local_collection* const home : homes) {
    if (home->facts().bound_to == 0)
      collect(*home, into);
    else
      any_bound = true;
  }
  traffic_.append_to(into.traffic);
  if (any_bound) join_partners(into.traffic);
}

// To balancing, elements that are bound to one another are the one of the first collection.
void load_meter::join_partners(std::vector<load_part::pair>& traffic) const {
  const auto name_first = [&](element_name& name) {
    const local_collection* const home = pe_objects::of(here_).find_local_collection(name.collection);
    if (home != nullptr && home->facts().bound_to != 0) name.collection = home->facts().bound_to;
  };
  const auto names = [](const load_part::pair& pair) { return std::pair(pair.from, pair.to); };
  for (load_part::pair& each : traffic) {
    name_first(each.from);
    name_first(each.to);
  }
  std::erase_if(traffic, [](const load_part::pair& each) { return each.from == each.to; });
  std::ranges::sort(traffic, {}, names);
  std::size_t kept = 0;
  for (std::size_t next = 1; next < traffic.size(); ++next) {
    if (names(traffic[next]) == names(traffic[kept])) {
      traffic[kept].messages += traffic[next].messages;
      traffic[kept].bytes += traffic[next].bytes;
    } else {
      traffic[++kept] = traffic[next];
    }
  }
  if (!traffic.empty()) traffic.resize(kept + 1);
}

// The load of a partner is added to that of the element; its own position and user data are left out.
void load_meter::add_partner(element_base& partner, load_part& into, load_part::element& one) {
  const element_type& type = element_type_of(partner.type());
  load_part of_partner;
  load_part::element own;
  own.load_ns = to_ns(partner.coroutines().load());
  own.is_migratable = here_.job().processes() == 1 || (type.save != nullptr && type.load != nullptr) ? 1 : 0;
  if (type.describe_load != nullptr) ask_element(partner, type, of_partner, own);
  one.load_ns += own.load_ns;
  one.bytes += own.bytes;
  one.is_work |= own.is_work;
  one.is_migratable &= own.is_migratable;
  if (counters_ == nullptr) return;
  counters_->add_counts_of({partner.home().facts().id, partner.number()}, of_partner.counts);
  const std::size_t counts = of_partner.counts.size();
  for (std::size_t i = 0; i < counts; ++i) into.counts[into.counts.size() - counts + i] += of_partner.counts[i];
}

void load_meter::collect(local_collection& home, load_part& into) {
  const collection_facts& facts = home.facts();
  const bool crosses = here_.job().processes() > 1;
  std::vector<std::pair<std::uint64_t, element_base*>> sorted;
  sorted.reserve(home.local_elements().size());
  for (element_base* const element : home.local_elements()) sorted.emplace_back(element->number(), element);
  std::ranges::sort(sorted);
  for (const auto& [number, element] : sorted) {
    const element_type& type = element_type_of(element->type());
    load_part::element& one = into.elements.emplace_back();
    one.name = {facts.id, number};
    one.load_ns = to_ns(element->coroutines().load());
    one.is_migratable = !facts.one_per_pe && (!crosses || (type.save != nullptr && type.load != nullptr)) ? 1 : 0;
    set_position(one, facts.shape);
    if (counters_ != nullptr) counters_->add_counts_of(one.name, into.counts);
    if (type.describe_load != nullptr) ask_element(*element, type, into, one);
    for (const local_collection* const each : home.bound())
      if (element_base* const partner = each->find(number)) add_partner(*partner, into, one);
  }
}

}  // namespace tri::objects
