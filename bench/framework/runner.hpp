// Runs the chosen rows of a registry and reports them: the table on standard output, JSON into a file. Called once by
// the program that the user started, and (with emit_rows) by the child processes that it starts for rows with a launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

struct run_options {
  std::vector<std::string> suites = {};  // empty: all
  std::string filter = {};               // regular expression searched in the row's name; empty: all rows
  bool list = false;                     // print the rows instead of measuring them
  bool quick = false;                    // few and short batches: a smoke test, without meaningful times
  std::string json_file = {};            // empty: no JSON
  std::optional<std::size_t> repetitions = {};
  std::optional<double> min_time_s = {};
  std::vector<std::string> suite_arguments = {};  // what made the registry as it is; children get them too
  std::vector<std::string> emit_rows = {};        // be a child: measure these rows here and print them as JSON lines
};

// Starts a command line such as {"trireme"} or {"/path/trireme"}; children are started as
// <launcher> run -n P --pes Q ... <launcher> bench --emit-row NAME ....
struct program {
  std::vector<std::string> launcher;
};

batch_options batch_options_of(const run_options& options);

// The rows that the options select, in the order of the registry. Throws std::invalid_argument for an unknown suite
// (with the nearest name), a faulty regular expression, or a selection without rows.
std::vector<const row_definition*> select_rows(const registry& known, const run_options& options);

// {"context": {...}, "rows": [...]}
nlohmann::json make_report(const nlohmann::json& context, const std::vector<row>& rows);

// Indices of the rows, those of one suite and one launch together: suite by suite, so that rows can be printed in order
// soon after they were measured.
std::vector<std::vector<std::size_t>> order_of_measuring(const registry& known,
                                                         const std::vector<const row_definition*>& rows);

// The exit status: 0 when every row was measured (targets met or not), 1 when one failed. Throws std::invalid_argument
// as select_rows() does and std::runtime_error when the JSON file cannot be written.
int run_benchmarks(const registry& known, const run_options& options, const program& self);

}  // namespace tri::bench
