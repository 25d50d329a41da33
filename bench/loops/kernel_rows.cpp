// Each row is the default schedule beside the schedules that such a program would name, of every runtime, and is judged
// by the best of the other runtimes. Where the loop is one whose costs can be learned, its first execution has a row of
// its own: programs that run it a few times see no other.
#include "loops/kernel_rows.hpp"

#include "loops/comparison.hpp"
#include "loops/judging.hpp"

namespace tri::bench {
namespace {

struct kernel_row {
  const char* name;
  const char* description;
  double target_ratio;  // to the best peer
  comparison_plan plan;
};

measurement measure_kernel(context& tools, const std::string& program, const comparison_plan& plan) {
  std::vector<std::string> notes;
  const comparison_result result = run_comparison(plan, tools.runner().options(), program, notes);
  measurement made = measurement_of(result, "automatic", 1, "us", notes, true);
  judge_by_best_peer(made);
  return made;
}

std::vector<kernel_row> described_rows() {
  const std::vector<std::string> entries = {
      "trireme/automatic", "trireme/static", "trireme/dynamic,64", "trireme/guided", "trireme/serial", "openmp/static",
      "openmp/dynamic,64", "openmp/guided",  "tbb/auto",           "tbb/static",     "tbb/affinity",   "tbb/simple"};
  // Steps of 40 iterations: chunks of 64 would be all of them.
  const std::vector<std::string> fine_entries = {
      "trireme/automatic", "trireme/static", "trireme/dynamic,8", "trireme/guided", "trireme/serial", "openmp/static",
      "openmp/dynamic,8",  "openmp/guided",  "tbb/auto",          "tbb/static",     "tbb/affinity",   "tbb/simple"};
  const comparison_plan csr = {.which = kernel::sparse_rows,
                               .entries = entries,
                               .learning = 40,
                               .warm_up = 2,
                               .loops = 4,
                               .batches_per_round = 2};
  const comparison_plan front = {.which = kernel::sorted_graph,
                                 .entries = entries,
                                 .learning = 40,
                                 .warm_up = 1,
                                 .loops = 1,
                                 .batches_per_round = 4};
  const auto first = [](comparison_plan plan) {
    plan.first_executions = true;
    return plan;
  };
  return {
      {"short_regions",
       "a step of 12 loops of 1,024 to 4,096 light iterations, as on coarse grids",
       1.05,
       {.which = kernel::coarse_grids, .entries = entries, .learning = 40, .warm_up = 10, .loops = 20}},
      {"barriers",
       "a loop of 40 iterations of 0.1 us and a barrier, 10,000 of them in one parallel region",
       1.1,
       {.which = kernel::barrier_steps,
        .entries = fine_entries,
        .learning = 2000,
        .warm_up = 500,
        .loops = 10'000,
        .batches_per_round = 8}},
      {"csr_rows/first", "sparse matrix times vector, row lengths by a power law: first execution", 1.05, first(csr)},
      {"csr_rows/learned", "sparse matrix times vector, row lengths by a power law: later executions", 1.03, csr},
      {"front_loaded/first", "triangles of a graph sorted by degree, most of the work in front: first execution", 1.05,
       first(front)},
      {"front_loaded/learned", "triangles of a graph sorted by degree, most of the work in front: later executions",
       1.03, front},
  };
}

}  // namespace

std::vector<row_definition> kernel_rows(const std::string& program) {
  std::vector<row_definition> rows;
  for (const kernel_row& about : described_rows()) {
    rows.push_back(
        {.name = std::string("loop/kernel/") + about.name,
         .unit = "us",
         .target_ratio = about.target_ratio,
         .description = about.description,
         .measure = [program, plan = about.plan](context& tools) { return measure_kernel(tools, program, plan); }});
  }
  return rows;
}

}  // namespace tri::bench
