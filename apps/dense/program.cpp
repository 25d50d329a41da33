// See program.hpp.
#include "dense/program.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace dense {
namespace {

constexpr const char* usage = R"(usage: %s [options]
  %s
  --n N           rows and columns of the matrix (default: 512)
  --nb N          rows and columns of a tile (default: 192)
  --p N, --q N    rows and columns of the grid of PEs (default: all PEs, as square as they allow, P <= Q)
  --depth N       look-ahead of the version `tuned`: panels that are factored before their turn, 0 or 1 (default: 1)
  --seed N        of the random matrix (default: 42)
  --versions A,B  the versions to run, in this order (default: all): %s
Run it alone (./%s --tri-pes 4) or by trireme run -n 4 ./%s.
)";

std::string names_of(const program& what) {
  std::string names;
  for (const version& each : what.versions) names.append(names.empty() ? "" : ",").append(each.name);
  return names;
}

extent number(std::string_view option, std::string_view text, extent least, extent most) {
  extent value = least - 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw std::invalid_argument(std::string(option) + " is '" + std::string(text) + "'; it must be " +
                                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

std::vector<std::string> list_of_versions(std::string_view text, const program& what) {
  std::vector<std::string> names;
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    if (std::ranges::find(what.versions, name, [](const version& each) { return std::string_view(each.name); }) ==
        what.versions.end())
      throw std::invalid_argument("--versions has '" + std::string(name) + "'; there are " + names_of(what));
    names.emplace_back(name);
    if (name.size() == text.size()) return names;
    text.remove_prefix(name.size() + 1);
  }
}

/// False: --help.
bool parse(int argc, char** argv, const program& what, settings& chosen) {
  constexpr extent most = 1'000'000;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--help" || option == "-h") return false;
    const std::string_view text = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--n")
      chosen.n = number(option, text, 1, most);
    else if (option == "--nb")
      chosen.nb = number(option, text, 1, most);
    else if (option == "--p")
      chosen.p = static_cast<int>(number(option, text, 1, tri::pe_count()));
    else if (option == "--q")
      chosen.q = static_cast<int>(number(option, text, 1, tri::pe_count()));
    else if (option == "--depth")
      chosen.depth = static_cast<int>(number(option, text, 0, 1));
    else if (option == "--seed")
      chosen.seed = static_cast<std::uint64_t>(number(option, text, 0, most));
    else if (option == "--versions")
      chosen.versions = list_of_versions(text, what);
    else
      throw std::invalid_argument("unknown option '" + std::string(option) + "'; --help lists them");
  }
  return true;
}

void choose_grid(settings& chosen) {
  const int pes = tri::pe_count();
  if (chosen.p == 0 && chosen.q == 0) {
    for (int p = 1; p * p <= pes; ++p)
      if (pes % p == 0) chosen.p = p;
  }
  if (chosen.p == 0) chosen.p = pes / chosen.q;
  if (chosen.q == 0) chosen.q = pes / chosen.p;
  if (chosen.p * chosen.q > pes)
    throw std::invalid_argument("--p times --q is " + std::to_string(chosen.p * chosen.q) + "; there are " +
                                std::to_string(pes) + " PEs");
  chosen.nb = std::min(chosen.nb, chosen.n);
}

void print_head(const program& what, const settings& chosen) {
  std::printf("%s: n %lld, nb %lld, p %d, q %d, seed %llu; %d PEs on %d hosts\n", what.name,
              static_cast<long long>(chosen.n), static_cast<long long>(chosen.nb), chosen.p, chosen.q,
              static_cast<unsigned long long>(chosen.seed), tri::pe_count(), tri::sched::this_pe().job().hosts());
  std::printf("%-12s %10s %10s %8s %10s %12s\n", "version", "seconds", "GFLOPS", "gain", "messages", "residual");
}

int run_versions(const program& what, const settings& chosen) {
  const bool speaks = tri::this_pe() == 0;
  if (speaks) print_head(what, chosen);
  double first = 0;
  bool is_right = true;
  for (const std::string& name : chosen.versions) {
    const version& each =
        *std::ranges::find(what.versions, name, [](const version& one) { return std::string(one.name); });
    const outcome result = each.run(chosen);
    if (first == 0) first = result.seconds;
    const bool passes = result.residual < what.largest_residual;  // false for what is not a number
    is_right = is_right && passes;
    if (!speaks) continue;
    std::printf("%-12s %10.4f %10.3f %8.2f %10llu %12.3e%s\n", each.name, result.seconds,
                what.operations(chosen.n) / result.seconds * 1e-9, first / result.seconds,
                static_cast<unsigned long long>(result.messages), result.residual, passes ? "" : "  WRONG");
    std::fflush(stdout);
  }
  if (speaks)
    std::printf(is_right ? "verified: residuals are below %g\n" : "FAILED: residuals must be below %g\n",
                what.largest_residual);
  return is_right ? 0 : 1;
}

}  // namespace

int run_program(int argc, char** argv, const program& what) {
  settings chosen;
  const bool speaks = tri::this_pe() == 0;
  try {
    if (!parse(argc, argv, what, chosen)) {
      if (speaks) std::printf(usage, what.name, what.purpose, names_of(what).c_str(), what.name, what.name);
      return 0;
    }
    choose_grid(chosen);
  } catch (const std::invalid_argument& error) {
    if (speaks) std::fprintf(stderr, "%s: %s\n", what.name, error.what());
    return 2;
  }
  if (chosen.versions.empty())
    for (const version& each : what.versions) chosen.versions.emplace_back(each.name);
  use_one_thread();
  return run_versions(what, chosen);
}

outcome timed(const std::function<void()>& f) {
  const auto sent = [] { return tri::sched::this_pe().counters().sent_to_others.read(); };
  tri::barrier().get();
  const std::uint64_t before = sent();
  const auto begin = std::chrono::steady_clock::now();
  f();
  const std::uint64_t own = sent() - before;
  tri::barrier().get();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcome result;
  result.seconds = tri::team::world().allreduce(took.count(), tri::maximum).get();
  result.messages = tri::team::world().allreduce(own, tri::maximum).get();
  return result;
}

}  // namespace dense
