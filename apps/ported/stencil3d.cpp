// Heat in a box, in the shape of Charm++'s load balancing example stencil3d: blocks whose work differs, and changes
// every 30 steps. They exchange their faces, meet at a barrier after each step, and balance their loads every 5 steps,
// all by themselves. `stencil3d --help` has the arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ported/box.hpp"
#include "ported/main_program.hpp"
#include "trireme/balance.hpp"
#include "trireme/objects.hpp"

namespace {

using ported::box;
using ported::faces;

constexpr int steps_between_balancings = 5;

struct settings {
  int side = 64;  // cells
  int block_side = 16;
  int steps = 100;
  int blocks() const { return side / block_side; }  // in each direction
  int all_blocks() const { return blocks() * blocks() * blocks(); }
};

using place = std::array<int, 3>;

place beside(place at, int face, const settings& of) {
  int& moved = at[static_cast<std::size_t>(face / 2)];
  moved = (moved + (face % 2 == 0 ? -1 : 1) + of.blocks()) % of.blocks();
  return at;
}
int number_of(const place& at, const settings& of) { return at[0] + of.blocks() * (at[1] + of.blocks() * at[2]); }

class block : public tri::array_element<block, tri::index<3>> {
 public:
  block() = default;
  block(const settings& of, tri::callback<std::vector<double>> end) : of_(of), end_(end), cells_(of.block_side) {}

  // The steps until the next balancing. A suspended coroutine cannot go to another process; so it ends here, and
  // begins again where the block then is.
  tri::task<> go_on() {
    do {
      ++step_;
      send_faces();
      co_await when_n<&block::face>(faces, step_);
      cells_.relax(ported::times_of_block(number_of(where(), of_), of_.all_blocks(), step_));
      if (step_ == of_.steps) {
        contribute(cells_.sum(), tri::gather, end_);
        co_return;
      }
      if (step_ % steps_between_balancings == 0) break;
      contribute(tri::to<&block::all_have_stepped>(this_array(), step_));
      co_await when<&block::all_have_stepped>(step_);
    } while (true);
    balance_then<&block::go_on>();
  }

  // Awaited by go_on.
  void face(int step, int at, const tri::buffer<double>& values) {
    static_cast<void>(step);
    cells_.set_layer(at, values.data());
  }
  void all_have_stepped(int) {}

  template <class Archive>
  void serialize(Archive& archive) {
    archive(of_, end_, cells_, step_);
  }

 private:
  place where() const { return {this_index()[0], this_index()[1], this_index()[2]}; }
  void send_faces() {
    for (int face = 0; face < faces; ++face) {
      tri::buffer<double> values(static_cast<std::size_t>(of_.block_side * of_.block_side));
      cells_.copy_face(face, values.data());
      const auto [x, y, z] = beside(where(), face, of_);
      this_array()(x, y, z).send<&block::face>(step_, ported::opposite_face(face), std::move(values));
    }
  }

  settings of_;
  tri::callback<std::vector<double>> end_;
  box cells_;
  int step_ = 0;
};

// All blocks in one thread. Throws if one of them has another sum.
void compare(const std::vector<double>& found, const settings& of) {
  std::vector<box> blocks(static_cast<std::size_t>(of.all_blocks()), box(of.block_side));
  const auto for_all = [&](auto use) {
    for (int x = 0; x < of.blocks(); ++x)
      for (int y = 0; y < of.blocks(); ++y)
        for (int z = 0; z < of.blocks(); ++z) use(place{x, y, z});
  };
  const auto block_at = [&](const place& at) -> box& { return blocks[static_cast<std::size_t>(number_of(at, of))]; };
  std::vector<double> values(static_cast<std::size_t>(of.block_side * of.block_side));
  for (int step = 1; step <= of.steps; ++step) {
    for_all([&](const place& at) {
      for (int face = 0; face < faces; ++face) {
        block_at(at).copy_face(face, values.data());
        block_at(beside(at, face, of)).set_layer(ported::opposite_face(face), values.data());
      }
    });
    for (box& each : blocks) each.relax(1);  // more would give the same
  }
  auto next = found.begin();
  for_all([&](const place& at) {
    if (*next++ != block_at(at).sum())
      throw std::runtime_error(fmt::format("block ({}, {}, {}) differs from the loops", at[0], at[1], at[2]));
  });
}

void run(const settings& of, bool verify) {
  tri::future<std::vector<double>> end;
  const auto blocks = tri::make_array<block>({of.blocks(), of.blocks(), of.blocks()}, of, end.get_promise());
  const auto before = std::chrono::steady_clock::now();
  blocks.broadcast<&block::go_on>();
  const std::vector<double> found = end.get();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  if (verify) compare(found, of);
  double sum = 0.0;
  for (const double each : found) sum += each;
  fmt::print("{} blocks, {} steps: sum {:.12g}{}; {:.3f} ms per step\n", of.all_blocks(), of.steps, sum,
             verify ? ", verified" : "", seconds * 1e3 / of.steps);
}

settings settings_of(ported::arguments& given) {
  settings of;
  of.side = given.next("cells per side", of.side, 1, 4096);
  of.block_side = given.next("cells per side of a block", std::min(of.block_side, of.side), 1, of.side);
  of.steps = given.next("steps", of.steps, 1, 1'000'000);
  if (of.side % of.block_side != 0)
    throw std::invalid_argument(fmt::format("{} cells do not divide into blocks of {}", of.side, of.block_side));
  return of;
}

}  // namespace

int main(int argc, char** argv) {
  return ported::main_program(
      argc, argv,
      {.name = "stencil3d",
       .computes = "Heat in a box of cells. Blocks of them exchange their faces in each step. Their work differs,\n"
                   "and changes every 30 steps; every 5 steps they balance their loads, with the strategy that\n"
                   "--tri-balance names. Prints the sum of all cells.",
       .example = "64 16 100 verify --tri-balance greedy"},
      settings_of, run);
}
