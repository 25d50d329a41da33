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
  for (local_collection* const home : homes) collect(*home, into);
  traffic_.append_to(into.traffic);
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
  }
}

}  // namespace tri::objects
