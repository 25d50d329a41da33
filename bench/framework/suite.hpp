// The measurements: suites of rows, each row a name, a unit, its target and the function that measures it. A program
// fills one registry at start (bench/suites.cpp) and passes it to run_benchmarks(). Not thread-safe; no global state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/batches.hpp"
#include "framework/row.hpp"

namespace tri::bench {

// The environment of a row's function.
class context {
 public:
  explicit context(const batch_options& options) : runner_(options) {}

  const batch_runner& runner() const { return runner_; }

 private:
  batch_runner runner_;
};

// The row against something else that was measured in the same batches.
struct comparison {
  std::string name;            // "static"
  std::vector<double> ratios;  // of the row's figure to it, batch by batch
};

// The result of a row's function: nanoseconds per operation of each batch, converted by the framework into the unit of
// the row. A row whose unit is not a time or rate (bytes, for example) fills `values` instead.
struct measurement {
  bench::samples samples = {};
  std::vector<double> values = {};            // in the unit of the row; used when not empty
  std::map<std::string, double> peers = {};   // in the unit of the row
  std::map<std::string, double> counts = {};  // counters per operation: messages, allocations, bytes
  std::string note = {};
  std::optional<comparison> reference = {};  // takes the place of the hand-off: `target_ratio` is for its ratios
  std::optional<comparison> best_peer = {};
  std::optional<double> limit = {};  // in the unit of the row; takes the place of the one by hand-offs
  std::string not_available = {};    // why there is no figure of our own; the peers still have theirs
};

// What other software takes for a row, measured by programs of its own: medians in the unit of the row.
struct peer_figures {
  std::map<std::string, double> medians = {};
  std::string note = {};  // who could not take part, and why
};

// A row that needs PEs is measured in a Trireme program of its own: `trireme run -n <processes> --pes <pes> <options>`.
// Rows with the same launch share one. The row's function runs on PE 0; the other PEs serve its messages.
struct launch {
  int processes = 1;
  int pes = 1;
  std::vector<std::string> options = {};  // of trireme run, e.g. "--tri-idle=spin"
  // The command that makes the hosts of the program (tests/support/network_hosts.sh): it runs the command behind it
  // with HOSTS and HOST_SHELL in the environment. Empty: all processes are of this host.
  std::vector<std::string> on_hosts = {};
  const std::string& (*why_not)() = nullptr;  // why it cannot be started here; empty: it can

  bool operator==(const launch&) const = default;
};

struct row_definition {
  std::string name;  // "entry/threads/one_way"
  std::string unit;
  better direction = better::lower;
  std::optional<double> target = {};
  std::optional<double> target_ratio = {};  // against the hand-off of the same batch, or the measurement's reference
  double handoffs = 1;  // that the operation needs at least, one after another: the row's limit; 0: no such limit
  std::string description = {};  // one line for --list
  std::function<measurement(context&)> measure = {};
  std::optional<bench::launch> launch = {};  // without: measured in this process
  // Called by the command itself, ahead of the program of the row, so that nothing else runs meanwhile.
  std::function<peer_figures(context&)> peers = {};
};

struct suite {
  std::string name;
  std::string description = {};
  std::vector<row_definition> rows = {};
};

class registry {
 public:
  // Throws std::logic_error when the suite's name, or a row's name within any suite, is taken or a row is incomplete.
  void add(suite added);

  const std::vector<suite>& suites() const { return suites_; }
  // Throw std::invalid_argument that suggests the nearest known name.
  const suite& find_suite(std::string_view name) const;
  const row_definition& find_row(std::string_view name) const;
  // The suite of a row of this registry.
  const suite& suite_of(const row_definition& row) const;

 private:
  std::vector<suite> suites_;
};

// The row of a measurement: statistics, unit and ratio.
row make_row(const row_definition& definition, const measurement& measured);

// Calls the row's function here and makes the row; a failure becomes row::error.
row measure_here(const row_definition& definition, context& tools);

// Adds what the row's peers have reached, and which of them is the best.
void add_peers(row& made, const peer_figures& found);

// A row that could not be measured, and one that cannot be measured here.
row unavailable_row(const row_definition& definition, const std::string& why);
row failed_row(const row_definition& definition, std::string error);

}  // namespace tri::bench
