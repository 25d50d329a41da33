// See block.hpp.
#include "amr/block.hpp"

#include <array>

namespace amr {

tri::read_only<problem> the_problem;

int pe_of(const mesh& of, const block_place& place) {
  const auto number = static_cast<std::uint64_t>(of.number_of(place));
  return static_cast<int>(number * static_cast<std::uint64_t>(tri::pe_count()) / of.blocks().size());
}

std::int64_t mesh_keeper::blocks_here(const tri::array<block>& blocks) const {
  return static_cast<std::int64_t>(blocks.local_elements().size());
}

block::block(const tri::group<mesh_keeper>& meshes) : meshes_(meshes), cells_(the_problem->cells) {
  cells_.set_exact(*the_problem, place(), 0.0);
}
block::block(const tri::group<mesh_keeper>& meshes, field cells) : meshes_(meshes), cells_(std::move(cells)) {}

tri::task<field_sums> block::advance(std::int64_t first, std::int64_t steps) {
  for (std::int64_t step = first; step < first + steps; ++step) {
    const std::size_t layers = send_layers(step);
    co_await when_n<&block::layer>(layers, step);
    cells_.advance(*the_problem, place().level);
  }
  co_return cells_.sums(*the_problem, place(), static_cast<double>(first + steps) * the_problem->time_step());
}

std::size_t block::send_layers(std::int64_t step) {
  const mesh& now = meshes_.local().now();
  const block_place own = place();
  std::size_t layers = 0;
  for (int s = 0; s < side_count; ++s) {
    const auto to = static_cast<side>(s);
    const std::vector<block_place> beside = now.neighbours(own, to);
    layers += beside.size();
    for (std::size_t k = 0; k < beside.size(); ++k) {
      const int difference = beside[k].level - own.level;
      std::int32_t half = field::whole;
      if (difference < 0) half = (to == side::left || to == side::right ? own.y : own.x) % 2;
      this_array()[index_of(beside[k])].send<&block::layer>(step, opposite(to), half,
                                                            cells_.border(to, difference, static_cast<int>(k)));
    }
  }
  return layers;
}

void block::layer(std::int64_t, side at, std::int32_t half, const std::vector<double>& values) {
  cells_.set_layer(at, half, values);
}

void block::describe_load(tri::load_description& load) const {
  const double width = the_problem->cell_width(place().level) * the_problem->cells;
  const std::array<double, 2> middle = {(place().x + 0.5) * width, (place().y + 0.5) * width};
  load.coordinates(middle);
  load.bytes(std::int64_t{8} * the_problem->cells * the_problem->cells);
  // So long that the measured time of all else on a PE does not matter.
  if (the_problem->blocks_are_equal != 0) load.load_ns(10'000'000);
}

int block::create_successors() {
  const mesh& now = meshes_.local().now();
  const block_place own = place();
  if (now.has(own)) return 0;
  const auto insert = [&](const block_place& made, field cells) {
    this_array().insert_on(pe_of(now, made), index_of(made), meshes_, std::move(cells));
  };
  if (own.level < now.most_levels() && now.has(own.child(0))) {
    for (int q = 0; q < 4; ++q) insert(own.child(q), cells_.quarter(q));
    return 4;
  }
  if (own.quarter() != 0) return 0;
  field parent(the_problem->cells);
  parent.set_quarter(0, cells_);
  insert(own.parent(), std::move(parent));
  return 1;
}

int block::leave() {
  const mesh& now = meshes_.local().now();
  const block_place own = place();
  if (now.has(own)) return 0;
  if (own.quarter() != 0 && own.level > 0 && now.has(own.parent()))
    this_array()[index_of(own.parent())].send<&block::take_quarter>(own.quarter(), cells_);
  erase_this();
  return 1;
}

}  // namespace amr
