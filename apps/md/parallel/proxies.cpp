// See proxies.hpp.
#include "md/parallel/proxies.hpp"

#include <algorithm>

#include "md/parallel/pair_compute.hpp"
#include "md/parallel/patch_object.hpp"
#include "os/clock.hpp"

namespace md {

proxies::proxies() : places_(the_world->pair_places()), proxies_(static_cast<std::size_t>(the_world->grid().size())) {
  make_room_for_users();
}

int proxies::place(const std::vector<std::int32_t>& places) {
  places_ = places;
  make_room_for_users();
  return 1;
}

void proxies::make_room_for_users() {
  for (int p = 0; p < the_world->grid().size(); ++p) {
    std::size_t users = 0;
    for (const contribution_source& source : the_world->grid().contributions(p)) {
      if (pair_pe(source.patch, source.kind) == tri::this_pe()) ++users;
    }
    proxies_[static_cast<std::size_t>(p)].users.assign(users, {});
  }
}

std::size_t proxies::enroll(int patch, const contribution_source& source, pair_compute& pair) {
  std::size_t slot = 0;
  for (const contribution_source& each : the_world->grid().contributions(patch)) {
    if (each.patch == source.patch && each.kind == source.kind && each.side == source.side) break;
    if (pair_pe(each.patch, each.kind) == tri::this_pe()) ++slot;
  }
  proxies_[static_cast<std::size_t>(patch)].users[slot] = {&pair, source.side};
  return slot;
}

void proxies::positions(const tri::element_ref<patch_object>& patch, const step_kind& kind,
                        tri::shared_buffer<vec4> positions, tri::buffer<vec4> forces) {
  proxy& here = proxies_[patch.number()];
  here.patch = patch;
  here.positions = std::move(positions);
  here.forces = std::move(forces);
  if (here.forces.empty()) {
    here.forces = tri::buffer<vec4>(slot_stride(here.positions.size() - padding_atoms) * here.users.size());
  }
  here.kind = kind;
  here.unfinished = here.users.size();
  for (const user& each : here.users) each.pair->input_arrived(kind);
}

patch_view proxies::view(int patch) const {
  const tri::shared_buffer<vec4>& positions = proxies_[static_cast<std::size_t>(patch)].positions;
  return {positions.data(), positions.size() - padding_atoms};
}

vec4* proxies::forces(int patch, std::size_t slot) {
  proxy& here = proxies_[static_cast<std::size_t>(patch)];
  return here.forces.data() + slot * slot_stride(here.positions.size() - padding_atoms);
}

void proxies::finished(int patch) {
  proxy& here = proxies_[static_cast<std::size_t>(patch)];
  if (--here.unfinished != 0) return;
  if (here.kind.build) send_touched(here);
  here.positions = {};
  here.patch.send<&patch_object::forces>(here.kind.step, tri::this_pe(), std::move(here.forces));
}

void proxies::send_touched(const proxy& from) {
  tri::buffer<std::uint32_t> counts(from.users.size());
  std::size_t total = 0;
  for (std::size_t slot = 0; slot < from.users.size(); ++slot) {
    const std::size_t count = from.users[slot].pair->touched(from.users[slot].side).size();
    counts[slot] = static_cast<std::uint32_t>(count);
    total += count;
  }
  tri::buffer<atom_span> spans(total);
  atom_span* next = spans.data();
  for (const user& each : from.users) next = std::ranges::copy(each.pair->touched(each.side), next).out;
  from.patch.send<&patch_object::touched>(tri::this_pe(), std::move(counts), std::move(spans));
}

pe_report proxies::report() {
  const auto seconds = [](std::uint64_t& ticks) { return tri::os::ticks_to_ns(std::exchange(ticks, 0)) * 1e-9; };
  const auto& counters = tri::sched::this_pe().counters();
  const auto since = [](std::uint64_t& before, std::uint64_t now) { return now - std::exchange(before, now); };
  return {seconds(pair_ticks_),
          seconds(build_ticks_),
          seconds(patch_ticks_),
          seconds(mesh_ticks_),
          since(messages_before_, counters.sent_to_others.read()),
          since(bytes_before_, counters.bytes_copied.read())};
}

}  // namespace md
