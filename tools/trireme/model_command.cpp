// `trireme model`: the cost of a choice, computed without running anything.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "duration.hpp"
#include "model/broadcast_tree.hpp"
#include "model/waiting_time.hpp"
#include "os/output_file.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr std::int64_t most_pending = 10'000'000;
constexpr std::int64_t most_pes = 10'000'000;

constexpr const char* footer =
    "Examples:\n"
    "  trireme model waiting --sends 60 --receives 60 --send-cost 1us --receive-cost 5us --switch-cost 300ns\n"
    "  trireme model broadcast --hosts 128 --pes 7 --pes 15";

constexpr const char* waiting_footer =
    "A thread that serves the network finds messages to send and messages to receive, and serves a number of one "
    "kind,\n"
    "then a number of the other. A message waits until its service begins. Serving the cheap kind first, and all of "
    "it,\n"
    "makes the sum of all waits least; but the other kind then waits for all of that, and with the expensive kind "
    "first "
    "turns\n"
    "should be short. The rows `rounds` share both kinds out evenly over that many turns; `best` is the number with "
    "the\n"
    "least sum for that order. --sends-per-turn and --receives-per-turn add a row of your own.";

constexpr const char* broadcast_footer =
    "PE 0 broadcasts to all others. Trees: `binomial` and `children,C` over PEs ignore hosts; `hosts,C` sends once\n"
    "to each host, by a tree over hosts with C children each, and the PE that receives it forwards it inside (with\n"
    "C = 4 what collections of Trireme do, where the memory of a host is shared). `steps` is how often the longest\n"
    "way crosses between hosts, `one PE` how many of these messages the busiest PE sends.";

struct waiting_request {
  std::int64_t sends = 0, receives = 0;
  std::string send_cost, receive_cost, switch_cost = "0ns";
  std::int64_t sends_per_turn = 0, receives_per_turn = 0;
  std::string json;
};

double cost_of(const char* option, const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option, problem.what()));
  }
}

void write_json(const std::string& file, const nlohmann::json& content) {
  if (file.empty()) return;
  os::write_output_file(file, content.dump(2) + '\n');
}

class waiting_table {
 public:
  explicit waiting_table(const pending_messages& pending) : pending_(pending) {
    fmt::print("{} to send, {} each; {} to receive, {} each; a change costs {}\n\n", pending.sends,
               format_duration(pending.send_cost), pending.receives, format_duration(pending.receive_cost),
               format_duration(pending.switch_cost));
    fmt::print("{:<9} {:>7} {:>15}  {:>10} {:>12} {:>15} {:>10}\n", "first", "rounds", "turns", "mean wait",
               "of a send", "of a receive", "longest");
  }
  void row(first_served first, std::int64_t sends_per_turn, std::int64_t receives_per_turn, const char* note) {
    const waits found = simulate_waits(pending_, first, sends_per_turn, receives_per_turn);
    const auto part = [](double sum, std::int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); };
    const auto turns_of = [](std::int64_t count, std::int64_t per_turn) { return (count + per_turn - 1) / per_turn; };
    const std::int64_t rounds =
        std::max(turns_of(pending_.sends, sends_per_turn), turns_of(pending_.receives, receives_per_turn));
    const char* const name = first == first_served::sends ? "sends" : "receives";
    const double mean = part(found.total(), pending_.sends + pending_.receives);
    fmt::print("{:<9} {:>7} {:>15}  {:>10} {:>12} {:>15} {:>10}{}\n", name, rounds,
               fmt::format("{} + {}", sends_per_turn, receives_per_turn), format_duration(mean),
               format_duration(part(found.of_sends, pending_.sends)),
               format_duration(part(found.of_receives, pending_.receives)), format_duration(found.longest), note);
    rows_.push_back({{"first", name},
                     {"rounds", rounds},
                     {"sends_per_turn", sends_per_turn},
                     {"receives_per_turn", receives_per_turn},
                     {"total_wait_ns", found.total()},
                     {"wait_of_sends_ns", found.of_sends},
                     {"wait_of_receives_ns", found.of_receives},
                     {"longest_wait_ns", found.longest},
                     {"note", std::string(note)}});
  }
  const nlohmann::json& rows() const { return rows_; }

 private:
  pending_messages pending_;
  nlohmann::json rows_ = nlohmann::json::array();
};

void print_waiting(const waiting_request& wish) {
  const pending_messages pending{wish.sends, wish.receives, cost_of("--send-cost", wish.send_cost),
                                 cost_of("--receive-cost", wish.receive_cost),
                                 cost_of("--switch-cost", wish.switch_cost)};
  waiting_table table(pending);
  const std::int64_t fewer = std::min(wish.sends, wish.receives);
  for (const first_served first : {first_served::sends, first_served::receives}) {
    const std::int64_t best = best_rounds(pending, first);
    std::vector<std::int64_t> rounds{1, best};
    for (std::int64_t more = 4; more <= fewer; more *= 4) rounds.push_back(more);
    std::sort(rounds.begin(), rounds.end());
    rounds.erase(std::unique(rounds.begin(), rounds.end()), rounds.end());
    const auto share = [](std::int64_t count, std::int64_t turns) {
      return std::max<std::int64_t>((count + turns - 1) / turns, 1);
    };
    for (const std::int64_t each : rounds)
      table.row(first, share(wish.sends, each), share(wish.receives, each), each == best ? "  best" : "");
  }
  if (wish.sends_per_turn > 0)
    for (const first_served first : {first_served::sends, first_served::receives})
      table.row(first, wish.sends_per_turn, wish.receives_per_turn, "  as given");
  write_json(wish.json, table.rows());
}

struct broadcast_request {
  int hosts = 0;
  std::vector<int> pes;
  std::vector<std::string> trees{"binomial", "children,2", "children,4", "hosts,4"};
  std::string json;
};

void print_broadcast(const broadcast_request& wish) {
  std::vector<broadcast_tree> trees;
  for (const std::string& text : wish.trees) trees.push_back(parse_broadcast_tree(text));
  for (const int pes : wish.pes)
    if (static_cast<std::int64_t>(wish.hosts) * pes > most_pes)
      throw std::invalid_argument(
          fmt::format("--hosts {} with --pes {} are more than {} PEs", wish.hosts, pes, most_pes));
  nlohmann::json rows = nlohmann::json::array();
  fmt::print("{:>7} {:>12}  {:<14} {:>14} {:>13} {:>6} {:>8}\n", "hosts", "PEs of each", "tree", "between hosts",
             "inside hosts", "steps", "one PE");
  for (const int pes : wish.pes) {
    for (const broadcast_tree& tree : trees) {
      const broadcast_messages found = count_messages(tree, wish.hosts, pes);
      fmt::print("{:>7} {:>12}  {:<14} {:>14} {:>13} {:>6} {:>8}\n", wish.hosts, pes, name_of(tree),
                 found.between_hosts, found.inside_hosts, found.steps_between_hosts, found.most_between_hosts);
      rows.push_back({{"hosts", wish.hosts},
                      {"pes_of_host", pes},
                      {"tree", name_of(tree)},
                      {"between_hosts", found.between_hosts},
                      {"inside_hosts", found.inside_hosts},
                      {"steps_between_hosts", found.steps_between_hosts},
                      {"most_between_hosts_of_a_pe", found.most_between_hosts}});
    }
  }
  write_json(wish.json, rows);
}

}  // namespace

int model_command(int argc, char** argv) {
  CLI::App app("Works out what a choice in communication costs, without running anything.", "trireme model");
  app.footer(footer);
  app.require_subcommand(0, 1);

  waiting_request waiting;
  CLI::App* const wait =
      app.add_subcommand("waiting", "how long messages wait for a thread that sends and receives in turn");
  wait->footer(waiting_footer);
  wait->add_option("--sends", waiting.sends, "messages that wait to be sent")
      ->required()
      ->check(whole_number_between(1, most_pending));
  wait->add_option("--receives", waiting.receives, "messages that wait to be received")
      ->required()
      ->check(whole_number_between(1, most_pending));
  wait->add_option("--send-cost", waiting.send_cost, "time that a send takes, such as 1us")->required();
  wait->add_option("--receive-cost", waiting.receive_cost, "time that a receive takes")->required();
  wait->add_option("--switch-cost", waiting.switch_cost, "time that a change of the kind takes")->capture_default_str();
  auto* const per_send = wait->add_option("--sends-per-turn", waiting.sends_per_turn, "an extra row: sends in a turn")
                             ->check(whole_number_between(1, most_pending));
  auto* const per_receive = wait->add_option("--receives-per-turn", waiting.receives_per_turn, "and receives in a turn")
                                ->check(whole_number_between(1, most_pending));
  per_send->needs(per_receive);
  per_receive->needs(per_send);
  wait->add_option("--json", waiting.json, "write the rows to this file");

  broadcast_request broadcast;
  CLI::App* const cast =
      app.add_subcommand("broadcast", "how many messages a broadcast sends between hosts and inside them");
  cast->footer(broadcast_footer);
  cast->add_option("--hosts", broadcast.hosts, "number of hosts")->required()->check(whole_number_between(1, most_pes));
  cast->add_option("--pes", broadcast.pes, "PEs of each host; may be given again")
      ->required()
      ->check(whole_number_between(1, most_pes));
  cast->add_option("--tree", broadcast.trees, "binomial, children,C or hosts,C; may be given again");
  cast->add_option("--json", broadcast.json, "write the rows to this file");

  if (const auto done = parse_options(app, argc, argv)) return *done;
  try {
    if (wait->parsed())
      print_waiting(waiting);
    else if (cast->parsed())
      print_broadcast(broadcast);
    else
      throw std::invalid_argument(
          "a subcommand is missing, `waiting` or `broadcast`; `trireme model --help` shows more");
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme model: {}\n", problem.what());
    return usage_status;
  }
  return 0;
}

}  // namespace tri::tools
