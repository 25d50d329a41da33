#include "balance/strategies/metis.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string>

#ifdef TRIREME_WITH_METIS
#include <metis.h>
#endif

namespace tri::balancing {

#ifndef TRIREME_WITH_METIS

const char* why_no_metis() { return "this build has no METIS; install libmetis-dev and build again"; }

std::vector<std::int32_t> metis_parts(const traffic_graph&, std::span<const double>, const std::vector<double>&, double,
                                      std::uint64_t) {
  throw std::runtime_error(fmt::format("strategy 'partition' needs METIS: {}", why_no_metis()));
}

#else

namespace {

static_assert(sizeof(idx_t) == sizeof(std::int32_t), "Debian's METIS has numbers of 32 bits");
constexpr const char* library_name = "libmetis.so.5";

struct metis_library {
  decltype(&METIS_PartGraphKway) part_graph = nullptr;
  decltype(&METIS_SetDefaultOptions) set_default_options = nullptr;
  std::string fault;

  metis_library() {
    void* const loaded = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      fault = fmt::format("{}; install libmetis5", dlerror());
      return;
    }
    part_graph = reinterpret_cast<decltype(part_graph)>(dlsym(loaded, "METIS_PartGraphKway"));
    set_default_options = reinterpret_cast<decltype(set_default_options)>(dlsym(loaded, "METIS_SetDefaultOptions"));
    if (part_graph == nullptr || set_default_options == nullptr)
      fault = fmt::format("{} lacks METIS_PartGraphKway or METIS_SetDefaultOptions", library_name);
  }
};
const metis_library& metis() {
  static const metis_library* const library = new metis_library;  // never unloaded
  return *library;
}

// Weights of METIS are 32 bits, and so are their sums.
std::vector<idx_t> scaled(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  const double scale = sum > 0.0 ? std::min(1.0, 1e9 / sum) : 1.0;
  std::vector<idx_t> made;
  made.reserve(values.size());
  for (const double value : values) made.push_back(static_cast<idx_t>(std::lround(value * scale)));
  return made;
}

}  // namespace

const char* why_no_metis() { return metis().fault.c_str(); }

std::vector<std::int32_t> metis_parts(const traffic_graph& graph, std::span<const double> works,
                                      const std::vector<double>& shares, double tolerance, std::uint64_t seed) {
  if (!metis().fault.empty())
    throw std::runtime_error(fmt::format("strategy 'partition' needs METIS: {}", metis().fault));
  std::vector<std::int32_t> parts(works.size());
  if (works.empty() || shares.size() == 1) return parts;
  if (graph.ends() > static_cast<std::size_t>(INT32_MAX) || works.size() > static_cast<std::size_t>(INT32_MAX))
    throw std::runtime_error(
        fmt::format("strategy 'partition': {} objects with {} pairs are too many for METIS, whose "
                    "numbers have 32 bits",
                    works.size(), graph.ends() / 2));
  std::vector<idx_t> begins{0}, neighbours;
  std::vector<double> weights;
  for (std::uint32_t object = 0; object < works.size(); ++object) {
    for (const traffic_graph::partner& each : graph.partners_of(object)) {
      neighbours.push_back(static_cast<idx_t>(each.object));
      weights.push_back(each.weight);
    }
    begins.push_back(static_cast<idx_t>(neighbours.size()));
  }
  std::vector<idx_t> vertex_weights = scaled(works), edge_weights = scaled(weights);
  if (std::all_of(vertex_weights.begin(), vertex_weights.end(), [](idx_t each) { return each == 0; }))
    std::fill(vertex_weights.begin(), vertex_weights.end(), 1);      // METIS divides by their sum
  for (idx_t& each : edge_weights) each = std::max(each, idx_t{1});  // METIS refuses edges without weight
  std::vector<real_t> part_shares(shares.begin(), shares.end());
  idx_t options[METIS_NOPTIONS];
  idx_t vertices = static_cast<idx_t>(works.size()), constraints = 1, count = static_cast<idx_t>(shares.size()),
        cut = 0;
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  metis().set_default_options(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed % INT32_MAX);
  options[METIS_OPTION_UFACTOR] = std::max<idx_t>(1, static_cast<idx_t>(std::lround(1000.0 * tolerance)));
  const int status =
      metis().part_graph(&vertices, &constraints, begins.data(), neighbours.data(), vertex_weights.data(), nullptr,
                         edge_weights.data(), &count, part_shares.data(), nullptr, options, &cut, parts.data());
  if (status != METIS_OK)
    throw std::runtime_error(fmt::format("strategy 'partition': METIS failed with status {}", status));
  return parts;
}

#endif

}  // namespace tri::balancing
