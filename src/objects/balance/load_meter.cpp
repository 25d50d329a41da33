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
std::vector<double> position_in(const array_shape& shape, std::uint64_t number) {
  constexpr int most_dimensions = 3;
  if (!shape.dense || shape.dimensions < 1 || shape.dimensions > most_dimensions) return {};
  std::vector<double> position(shape.dimensions);
  for (std::size_t d = position.size(); d-- > 0;) {  // the last index counts fastest
    const std::uint64_t extent = shape.extent[d];
    position[d] = (static_cast<double>(number % extent) + 0.5) / static_cast<double>(extent);
    number /= extent;
  }
  return position;
}

}  // namespace

void charge_load(load_meter& meter, coroutine_owner* owner) { meter.charge(owner); }

void count_traffic(load_meter& meter, std::uint32_t collection, std::uint64_t number, std::uint64_t bytes) {
  meter.count({collection, number}, bytes);
}

load_meter::load_meter(sched::pe& here) : here_(here), clock_(os::task_clock::of_this_thread()) {
  here.measure_spare_time(clock_);
  reset();
  running_load_meter = this;
}

load_meter::~load_meter() { running_load_meter = nullptr; }

std::size_t load_meter::hash_of_pair::operator()(const std::pair<element_name, element_name>& pair) const {
  const std::uint64_t from = pair.first.number + (std::uint64_t{pair.first.collection} << 40);
  const std::uint64_t to = pair.second.number + (std::uint64_t{pair.second.collection} << 40);
  return static_cast<std::size_t>(finalize_hash(from * 0x9e3779b97f4a7c15u + to));
}

void load_meter::count(element_name to, std::uint64_t bytes) {
  const element_base* const sender = running_owner == nullptr ? nullptr : running_owner->element();
  if (sender == nullptr) return;
  const element_name from{sender->home().facts().id, sender->number()};
  if (from == to) return;
  amount& pair = traffic_[{from, to}];
  ++pair.messages;
  pair.bytes += static_cast<std::int64_t>(bytes);
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
  return all > known ? to_ns(all - known) : 0;
}

void load_meter::reset() {
  last_ = began_ = clock_.read();
  spare_before_ = here_.idle_ticks() + here_.helped_ticks();
  in_elements_ = 0;
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
  const bool crosses = here_.job().processes() > 1;
  pe_objects::of(here_).for_each_collection([&](local_collection& home) {
    const collection_facts& facts = home.facts();
    for (element_base* const element : home.local_elements()) {
      const element_type& type = element_type_of(element->type());
      load_part::element& one = into.elements.emplace_back();
      one.name = {facts.id, element->number()};
      one.load_ns = to_ns(element->coroutines().load());
      one.is_migratable = !facts.one_per_pe && (!crosses || (type.save != nullptr && type.load != nullptr));
      one.coordinates = position_in(facts.shape, element->number());
      if (counters_ != nullptr) one.counts = counters_->counts_of(one.name);
      if (type.describe_load == nullptr) continue;
      load_description said;
      type.describe_load(*element, said);
      load_description::contents known = said.take();
      one.is_work = known.load_ns.has_value();
      if (one.is_work) one.load_ns = *known.load_ns;
      if (!known.coordinates.empty()) one.coordinates = std::move(known.coordinates);
      one.user_data = std::move(known.user_data);
      one.bytes = known.bytes;
      one.is_migratable = one.is_migratable && !known.stays;
    }
  });
  into.traffic.reserve(traffic_.size());
  for (const auto& [names, counted] : traffic_)
    into.traffic.push_back({names.first, names.second, counted.messages, counted.bytes});
}

}  // namespace tri::objects
