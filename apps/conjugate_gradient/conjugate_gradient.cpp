// NAS CG on global arrays, in several versions (see solver.hpp). Verified by the published zeta of its class, and by a
// sequential program.
#include <fmt/format.h>

#include <algorithm>

#include "conjugate_gradient/sequential.hpp"
#include "conjugate_gradient/solver.hpp"
#include "pgas/command_line.hpp"

namespace {

constexpr pgas::version<cg::solver> versions[] = {{"naive", &cg::solver::naive},
                                                  {"privatized", &cg::solver::privatized},
                                                  {"one_sided", &cg::solver::one_sided},
                                                  {"two_sided", &cg::solver::two_sided}};

int run(int argc, char** argv) {
  std::string name = "S";
  std::vector<std::string> names;
  for (const cg::problem& known : cg::problems()) names.push_back(known.name);
  pgas::version_choice chosen;
  pgas::command_line line("conjugate_gradient", "NAS CG on global arrays.");
  line.word("--class", name, names, "size of the problem, as NAS names it").versions(chosen, pgas::names_of(versions));
  if (const auto status = line.parse(argc, argv)) return *status;

  const cg::problem& of = *std::find_if(cg::problems().begin(), cg::problems().end(),
                                        [&](const cg::problem& known) { return known.name == name; });
  pgas::version_table table(fmt::format("class {}, {} rows, {} iterations", of.name, of.rows, of.iterations), "Mop/s",
                            cg::operations(of) * 1e-6);
  double expected = 0;
  if (tri::this_pe() == 0) {
    const cg::sparse_rows matrix = cg::make_rows(of, 0, of.rows);
    table.sequential(pgas::seconds_here([&] { expected = cg::sequential_zeta(of, matrix); }));
  }
  expected = tri::team::world().broadcast(expected, 0).get();
  cg::solver kernel(of, expected);
  return pgas::run_versions(table, kernel, versions, chosen);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &run); }
