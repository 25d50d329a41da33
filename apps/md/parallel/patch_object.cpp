// See patch_object.hpp.
#include "md/parallel/patch_object.hpp"

#include <algorithm>

#include "md/output/recorder.hpp"
#include "md/parallel/movable.hpp"
#include "md/parallel/pme_slab.hpp"
#include "os/clock.hpp"

namespace md {
namespace {

// Adds the life of this variable to the time that the PE spent on patches.
class patch_timer {
 public:
  explicit patch_timer(proxies& account) : account_(account), start_(tri::os::ticks()) {}
  ~patch_timer() { account_.spent_on_patches(tri::os::ticks() - start_); }
  patch_timer(const patch_timer&) = delete;
  patch_timer& operator=(const patch_timer&) = delete;

 private:
  proxies& account_;
  std::uint64_t start_;
};

}  // namespace

patch_object::patch_object()
    : world_(*the_world),
      number_(world_.grid().index({this_index()[2], this_index()[1], this_index()[0]})),
      clock_(world_.settings(), world_.steps_since_build()),
      step_(world_.plan().first),
      last_balancing_(step_ + world_.balance_first() - world_.balance_every()),
      neighbours_(world_.grid().neighbours(number_)) {
  if (world_.has_long_range()) near_slabs_ = world_.long_range().slabs_near(number_);
  parts_.resize(near_slabs_.size());
}

patch_object::patch_object(const tri::group<proxies>& proxies, const tri::array<pme_slab>& slabs,
                           const tri::element_ref<recorder>& output)
    : patch_object() {
  proxies_ = proxies;
  slabs_ = slabs;
  output_ = output;
  connect();
}

int patch_object::connect() {
  own_proxies_ = &proxies_.local();
  sources_.clear();
  const auto contributions = world_.grid().contributions(number_);
  for (std::size_t c = 0; c < contributions.size(); ++c) {
    const int pe = own_proxies_->pair_pe(contributions[c].patch, contributions[c].kind);
    auto found = std::ranges::find(sources_, pe, &source::pe);
    if (found == sources_.end()) {
      sources_.push_back({pe, {}, {}, {}});
      found = sources_.end() - 1;
    }
    const auto from = static_cast<std::size_t>(found - sources_.begin());
    const auto earlier = std::count_if(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(c),
                                       [&](const auto& slot) { return slot.first == from; });
    slots_[c] = {from, static_cast<std::size_t>(earlier)};
  }
  return 1;
}

int patch_object::allow_moves(bool may_move) {
  may_move_ = may_move;
  return 1;
}

void patch_object::scatter(std::int64_t round) { migrate_to(scattered_pe(round, 1, number())); }

void patch_object::describe_load(tri::load_description& load) {
  describe_object(load, world_.grid().middle(number_), may_move_);
}

bool patch_object::balancing_due() const {
  return world_.balance_every() != 0 && step_ - last_balancing_ >= world_.balance_every() && step_ < world_.plan().last;
}

patch_object::source& patch_object::source_of(int pe) { return *std::ranges::find(sources_, pe, &source::pe); }

void patch_object::fill(tri::buffer<atom_record> atoms, tri::buffer<vec3> present) {
  for (const atom_record& atom : atoms) atoms_.arrive(atom);
  for (std::size_t i = 0; i < present.size(); ++i) present_.push_back({atoms[i].id, present[i]});
}

tri::task<std::int64_t> patch_object::start() {
  co_await when<&patch_object::fill>();
  atoms_.settle(world_.grid().low_corner(number_), world_.grid().width());
  const bool from_restart = world_.plan().continued;
  send_positions({step_, true, !from_restart});
  if (!from_restart) send_charges({step_, true, true});
  co_await forces_of_step();
  if (from_restart) {
    // The lists are those of the last build; now the atoms go where they are.
    std::ranges::sort(present_);
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      atoms_.move(
          i, std::ranges::lower_bound(present_, atoms_.ids()[i], {}, [](const auto& p) { return p.first; })->second);
    }
    present_ = {};
    send_positions({step_, false, true});
    send_charges({step_, false, true});
    co_await forces_of_step();
  }
  sum_forces();
  report_step(true);
  co_return static_cast<std::int64_t>(atoms_.size());
}

tri::task<std::int64_t> patch_object::run() {
  while (stopped_ || step_ < world_.plan().last) {
    bool build = stopped_;
    if (!stopped_) {
      ++step_;
      {
        patch_timer timer(*own_proxies_);
        atoms_.first_half_step(world_.settings().dt, world_.masses());
      }
      build = clock_.due();
      if (build && clock_.checks_displacement()) {
        contribute(step_maximum{step_, atoms_.displacement_squared()}, tri::maximum,
                   tri::to<&recorder::displacement>(output_));
        build = co_await when<&patch_object::decision>(step_) != 0;
      }
      if (build && balancing_due()) {
        stopped_ = true;
        last_balancing_ = step_;
        co_return step_;
      }
    }
    stopped_ = false;
    if (build) {
      co_await exchange_atoms();
      clock_.built();
      ++list_builds_;
    }
    const bool sums = world_.plan().thermo(step_);
    send_positions({step_, build, sums});
    send_charges({step_, build, sums});
    co_await forces_of_step();
    {
      patch_timer timer(*own_proxies_);
      sum_forces();
      atoms_.second_half_step(world_.settings().dt, world_.masses());
    }
    report_step(sums);
    if (world_.barrier()) {
      contribute(step_maximum{step_, 0.0}, tri::maximum, tri::to<&recorder::step_ended>(output_));
      co_await when<&patch_object::decision>(step_);
    }
  }
  co_return ended;
}

tri::task<> patch_object::forces_of_step() {
  co_await when_n<&patch_object::forces>(sources_.size(), step_);
  if (!std::exchange(charges_sent_, false)) co_return;
  co_await when_n<&patch_object::potential>(near_slabs_.size(), step_);
  interpolate();
}

tri::task<> patch_object::exchange_atoms() {
  std::vector<departure> gone;
  {
    patch_timer timer(*own_proxies_);
    gone = atoms_.leave(world_.box(), world_.grid(), number_);
  }
  for (const int neighbour : neighbours_) {
    const auto travels = [&](const departure& each) { return each.patch == neighbour; };
    tri::buffer<atom_record> atoms;
    if (const auto count = std::ranges::count_if(gone, travels); count != 0) {
      atoms = tri::buffer<atom_record>(static_cast<std::size_t>(count));
      atom_record* next = atoms.data();
      for (const departure& each : gone) {
        if (travels(each)) *next++ = each.atom;
      }
    }
    this_array()[world_.patch_index(neighbour)].send<&patch_object::arrivals>(step_, std::move(atoms));
  }
  if (!neighbours_.empty()) co_await when_n<&patch_object::arrivals>(neighbours_.size(), step_);
  patch_timer timer(*own_proxies_);
  atoms_.settle(world_.grid().low_corner(number_), world_.grid().width());
}

void patch_object::arrivals(std::int64_t, const tri::buffer<atom_record>& atoms) {
  for (const atom_record& atom : atoms) atoms_.arrive(atom);
}

void patch_object::send_positions(const step_kind& kind) {
  patch_timer timer(*own_proxies_);
  const tri::shared_buffer<vec4> positions = tri::buffer<vec4>::copy_of(atoms_.packed_positions());
  for (source& each : sources_) {
    if (kind.build) each.forces = {};
    proxies_[each.pe].send<&proxies::positions>(this_element(), kind, positions, std::move(each.forces));
  }
}

void patch_object::send_charges(const step_kind& kind) {
  if (!world_.has_long_range()) return;
  charges_sent_ = true;
  patch_timer timer(*own_proxies_);
  const long_range& mesh = world_.long_range();
  block_ = touched_block(mesh.mesh(), atoms_.positions());
  if (atoms_.size() != 0) mesh.check_near(number_, block_);
  mesh_values_.resize(block_.points());
  spread_charges(mesh.mesh(), atoms_.positions(), world_.charges(), block_, mesh_values_.data());
  for (std::size_t i = 0; i < near_slabs_.size(); ++i) {
    const mesh_range planes = mesh.planes(near_slabs_[i]);
    const std::size_t points = points_in(block_, mesh.mesh().points[2], planes);
    tri::buffer<double> part = std::exchange(parts_[i], {});
    if (part.size() != points) part = points == 0 ? tri::buffer<double>() : tri::buffer<double>(points);
    copy_out(block_, mesh.mesh().points[2], planes, mesh_values_.data(), part.data());
    slabs_(near_slabs_[i]).send<&pme_slab::charges>(this_element(), kind, number_, block_, std::move(part));
  }
}

void patch_object::potential(std::int64_t, int slab, tri::buffer<double> values) {
  const long_range& mesh = world_.long_range();
  copy_in(block_, mesh.mesh().points[2], mesh.planes(slab), values.data(), mesh_values_.data());
  const auto place = std::ranges::lower_bound(near_slabs_, slab) - near_slabs_.begin();
  parts_[static_cast<std::size_t>(place)] = std::move(values);
}

void patch_object::interpolate() {
  patch_timer timer(*own_proxies_);
  mesh_forces_.resize(atoms_.size());
  interpolate_forces(world_.long_range().mesh(), atoms_.positions(), world_.charges(), block_, mesh_values_.data(),
                     mesh_forces_.data());
}

void patch_object::forces(std::int64_t, int pe, tri::buffer<vec4> forces) { source_of(pe).forces = std::move(forces); }

void patch_object::touched(int pe, tri::buffer<std::uint32_t> counts, tri::buffer<atom_span> spans) {
  source& from = source_of(pe);
  from.span_counts = std::move(counts);
  from.spans = std::move(spans);
}

void patch_object::sum_forces() {
  std::array<force_contribution, contributions_per_patch + 1> contributions{};
  std::vector<const atom_span*> next;
  for (const source& each : sources_) next.push_back(each.spans.data());
  for (std::size_t c = 0; c < contributions_per_patch; ++c) {
    const auto [from, slot] = slots_[c];
    const std::size_t count = sources_[from].span_counts[slot];
    contributions[c] = {sources_[from].forces.data() + slot * slot_stride(atoms_.size()), next[from], count};
    next[from] += count;
  }
  const atom_span all = {0, static_cast<std::uint32_t>(atoms_.size())};
  contributions.back() = {mesh_forces_.data(), &all, 1};
  const bool mesh = world_.has_long_range() && atoms_.size() != 0;
  atoms_.sum_forces(world_.kernels(), std::span(contributions).first(contributions_per_patch + (mesh ? 1U : 0U)));
}

void patch_object::report_step(bool sums) {
  if (sums) {
    contribute(step_value<double>{step_, atoms_.mass_velocity_squared(world_.masses())}, tri::ordered(tri::sum),
               tri::to<&recorder::kinetic_total>(output_));
  }
  if (world_.plan().frame(step_) || world_.plan().restart(step_)) send_snapshot();
  if (world_.shows_progress() && number_ == 0) output_.send<&recorder::progress>(step_);
}

void patch_object::send_snapshot() {
  tri::buffer<atom_record> records(atoms_.size());
  tri::buffer<vec3> held;
  for (std::size_t i = 0; i < atoms_.size(); ++i) records[i] = atoms_.record(i);
  if (world_.plan().restart(step_)) {
    held = tri::buffer<vec3>(atoms_.size());
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      const vec4& at = atoms_.held_positions()[i];
      held[i] = {at.x, at.y, at.z};
    }
  }
  output_.send<&recorder::snapshot>(step_, clock_.steps_since_build(), std::move(records), std::move(held));
}

}  // namespace md
