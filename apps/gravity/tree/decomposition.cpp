// See decomposition.hpp.
#include "gravity/tree/decomposition.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace gravity {
namespace {

// Two levels of each cell are 64 counts; more would send zeros for clustered bodies, fewer would take more rounds.
constexpr int levels_per_round = 2;

}  // namespace

std::vector<std::uint64_t> count_bodies(std::span<const std::uint64_t> keys, const count_request& request) {
  std::vector<std::uint64_t> counts;
  const std::size_t parts = request.counts_per_cell();
  counts.reserve(request.cells.size() * parts);
  for (const cell& each : request.cells) {
    const std::uint64_t step = keys_at(static_cast<int>(each.level) + request.levels);
    auto from = std::ranges::lower_bound(keys, each.first_key);
    for (std::size_t part = 1; part <= parts; ++part) {
      const auto to = std::lower_bound(from, keys.end(), each.first_key + part * step);
      counts.push_back(static_cast<std::uint64_t>(to - from));
      from = to;
    }
  }
  return counts;
}

cell_refinement::cell_refinement(std::uint64_t bodies, std::uint64_t most) : most_(most) {
  sort_out({0, bodies, 0}, request_.cells);
  request_.levels = levels_per_round;
}

void cell_refinement::sort_out(const cell& made, std::vector<cell>& too_large) {
  if (made.bodies == 0) return;
  const bool divisible = made.level < key_levels;
  (made.bodies > most_ && divisible ? too_large : finished_).push_back(made);
}

void cell_refinement::take(std::span<const std::uint64_t> counts) {
  const count_request asked = std::move(request_);
  const std::size_t parts = asked.counts_per_cell();
  if (counts.size() != asked.cells.size() * parts)
    throw std::logic_error("gravity: " + std::to_string(counts.size()) + " counts for " +
                           std::to_string(asked.cells.size()) + " cells of " + std::to_string(parts) + " parts");
  request_ = {};
  for (std::size_t i = 0; i < asked.cells.size(); ++i) {
    const auto own = counts.subspan(i * parts, parts);
    if (const auto found = std::accumulate(own.begin(), own.end(), std::uint64_t{0}); found != asked.cells[i].bodies)
      throw std::logic_error("gravity: " + std::to_string(found) + " bodies in a cell that had " +
                             std::to_string(asked.cells[i].bodies));
    refine(asked.cells[i], own);
  }
  // All cells of a round are cut alike, so none may be cut beyond the last level.
  request_.levels = levels_per_round;
  for (const cell& each : request_.cells)
    request_.levels = std::min(request_.levels, key_levels - static_cast<int>(each.level));
}

// From the counts of the smallest parts upwards: a child is cut further only when it has too many bodies, so that the
// cells do not depend on how many levels are counted at once.
void cell_refinement::refine(const cell& of, std::span<const std::uint64_t> counts) {
  const std::size_t part = counts.size() / 8;
  for (std::size_t child = 0; child < 8; ++child) {
    const auto own = counts.subspan(child * part, part);
    cell made = {of.first_key + child * keys_at(static_cast<int>(of.level) + 1), 0, of.level + 1};
    for (const std::uint64_t count : own) made.bodies += count;
    if (part > 1 && made.bodies > most_)
      refine(made, own);
    else
      sort_out(made, request_.cells);
  }
}

std::vector<cell> cell_refinement::subtrees() const {
  std::vector<cell> sorted = finished_;
  std::ranges::sort(sorted, {}, &cell::first_key);
  return sorted;
}

std::uint64_t decomposition::bodies_of(std::size_t piece) const {
  std::uint64_t sum = 0;
  for (std::size_t s = first_of_piece[piece]; s < first_of_piece[piece + 1]; ++s) sum += subtrees[s].bodies;
  return sum;
}

std::size_t decomposition::subtree_of(std::uint64_t key) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(subtrees, key, {}, &cell::first_key) - subtrees.begin()) - 1;
}

std::size_t decomposition::piece_of(std::size_t subtree) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_of_piece, subtree) - first_of_piece.begin()) - 1;
}

decomposition deal(const root_cube& cube, std::vector<cell> subtrees, std::size_t pieces) {
  decomposition made{cube, std::move(subtrees), {0}};
  std::uint64_t all = 0;
  for (const cell& each : made.subtrees) all += each.bodies;
  // A subtree goes to the piece in whose part of all bodies its middle lies.
  std::uint64_t before = 0;
  for (std::size_t s = 0; s < made.subtrees.size(); ++s) {
    const double middle = static_cast<double>(before) + 0.5 * static_cast<double>(made.subtrees[s].bodies);
    const auto piece = static_cast<std::size_t>(middle / static_cast<double>(all) * static_cast<double>(pieces));
    while (made.first_of_piece.size() <= std::min(piece, pieces - 1))
      made.first_of_piece.push_back(static_cast<std::uint32_t>(s));
    before += made.subtrees[s].bodies;
  }
  made.first_of_piece.resize(pieces + 1, static_cast<std::uint32_t>(made.subtrees.size()));
  return made;
}

division division_of(const decomposition& now) {
  division made{now.cube, {0}};
  for (std::size_t p = 1; p < now.pieces(); ++p) {
    const std::size_t first = now.first_of_piece[p];
    made.first_keys.push_back(first < now.subtrees.size() ? now.subtrees[first].first_key : key_end);
  }
  made.first_keys.push_back(key_end);
  return made;
}

decomposition deal_as(const division& before, std::vector<cell> subtrees) {
  decomposition made{before.cube, std::move(subtrees), {}};
  for (const std::uint64_t key : before.first_keys)
    made.first_of_piece.push_back(static_cast<std::uint32_t>(
        std::ranges::lower_bound(made.subtrees, key, {}, &cell::first_key) - made.subtrees.begin()));
  return made;
}

}  // namespace gravity
