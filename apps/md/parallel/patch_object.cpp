// See patch_object.hpp.
#include "md/parallel/patch_object.hpp"

#include <algorithm>

#include "md/output/recorder.hpp"
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

patch_object::patch_object(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output)
    : world_(*the_world),
      proxies_(proxies),
      own_proxies_(&proxies.local()),
      output_(output),
      number_(world_.grid().index({this_index()[2], this_index()[1], this_index()[0]})),
      clock_(world_.settings(), world_.steps_since_build()),
      step_(world_.plan().first),
      neighbours_(world_.grid().neighbours(number_)) {
  const auto contributions = world_.grid().contributions(number_);
  for (std::size_t c = 0; c < contributions.size(); ++c) {
    const int pe = world_.pair_pe(contributions[c].patch, contributions[c].kind);
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
}

patch_object::source& patch_object::source_of(int pe) { return *std::ranges::find(sources_, pe, &source::pe); }

void patch_object::load(tri::buffer<atom_record> atoms, tri::buffer<vec3> present) {
  for (const atom_record& atom : atoms) atoms_.arrive(atom);
  for (std::size_t i = 0; i < present.size(); ++i) present_.push_back({atoms[i].id, present[i]});
}

tri::task<std::int64_t> patch_object::start() {
  co_await when<&patch_object::load>();
  atoms_.settle(world_.grid().low_corner(number_), world_.grid().width());
  const bool from_restart = world_.plan().continued;
  send_positions({step_, true, !from_restart});
  co_await when_n<&patch_object::forces>(sources_.size(), step_);
  if (from_restart) {
    // The lists are those of the last build; now the atoms go where they are.
    std::ranges::sort(present_);
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      atoms_.move(
          i, std::ranges::lower_bound(present_, atoms_.ids()[i], {}, [](const auto& p) { return p.first; })->second);
    }
    present_ = {};
    send_positions({step_, false, true});
    co_await when_n<&patch_object::forces>(sources_.size(), step_);
  }
  sum_forces();
  report_step(true);
  co_return static_cast<std::int64_t>(atoms_.size());
}

tri::task<std::int64_t> patch_object::run() {
  std::int64_t builds = 0;
  while (step_ < world_.plan().last) {
    ++step_;
    {
      patch_timer timer(*own_proxies_);
      atoms_.first_half_step(world_.settings().dt, world_.masses());
    }
    bool build = clock_.due();
    if (build && clock_.checks_displacement()) {
      contribute(step_maximum{step_, atoms_.displacement_squared()}, tri::maximum,
                 tri::to<&recorder::displacement>(output_));
      build = co_await when<&patch_object::decision>(step_) != 0;
    }
    if (build) {
      co_await exchange_atoms();
      clock_.built();
      ++builds;
    }
    const bool sums = world_.plan().thermo(step_);
    send_positions({step_, build, sums});
    co_await when_n<&patch_object::forces>(sources_.size(), step_);
    {
      patch_timer timer(*own_proxies_);
      sum_forces();
      atoms_.second_half_step(world_.settings().dt, world_.masses());
    }
    report_step(sums);
  }
  co_return builds;
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

void patch_object::forces(std::int64_t, int pe, tri::buffer<vec4> forces) { source_of(pe).forces = std::move(forces); }

void patch_object::touched(int pe, tri::buffer<std::uint32_t> counts, tri::buffer<atom_span> spans) {
  source& from = source_of(pe);
  from.span_counts = std::move(counts);
  from.spans = std::move(spans);
}

void patch_object::sum_forces() {
  std::array<force_contribution, contributions_per_patch> contributions{};
  std::vector<const atom_span*> next;
  for (const source& each : sources_) next.push_back(each.spans.data());
  for (std::size_t c = 0; c < contributions.size(); ++c) {
    const auto [from, slot] = slots_[c];
    const std::size_t count = sources_[from].span_counts[slot];
    contributions[c] = {sources_[from].forces.data() + slot * slot_stride(atoms_.size()), next[from], count};
    next[from] += count;
  }
  atoms_.sum_forces(world_.kernels(), contributions);
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
