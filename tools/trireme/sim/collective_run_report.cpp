#include "sim/collective_run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "duration.hpp"
#include "plan/plan_report.hpp"

namespace tri::tools {
namespace {

std::string noise_text(const sim::simulated_collective& wanted) {
  std::string text;
  if (wanted.hit_chance > 0.0 && wanted.longest_hit > 0.0)
    text = fmt::format("a step of {:.3g} up to {} longer", wanted.hit_chance, format_duration(wanted.longest_hit));
  if (wanted.longest_jitter > 0.0)
    text +=
        fmt::format("{}a message up to {} longer", text.empty() ? "" : ", ", format_duration(wanted.longest_jitter));
  return text.empty() ? "none" : fmt::format("{}; seed {}", text, wanted.seed);
}

std::string traffic_text(const sim::simulated_traffic& of) {
  return fmt::format("{}, {}", of.messages, bytes_text(of.bytes));
}

std::string rounds_table(const std::vector<coll::round_times>& rounds) {
  std::string text = fmt::format("\nRounds between hosts\n  {:>6} {:>12} {:>12} {:>12} {:>12}\n", "", "messages",
                                 "bytes", "first sent", "last there");
  for (std::size_t i = 0; i < std::min(rounds.size(), most_listed_rounds); ++i)
    if (rounds[i].messages > 0)
      text += fmt::format("  {:>6} {:>12} {:>12} {:>12} {:>12}\n", i, rounds[i].messages, bytes_text(rounds[i].bytes),
                          format_duration(rounds[i].begin), format_duration(rounds[i].end));
  if (rounds.size() > most_listed_rounds)
    text += fmt::format("  and {} more, which --json has\n", rounds.size() - most_listed_rounds);
  return text;
}

}  // namespace

std::string table_of(const sim::simulated_collective& wanted, const sim::collective_run& run,
                     const std::string& origin_of_costs) {
  const int hosts = wanted.asked.hosts.hosts();
  std::string text = heading_of(wanted.asked, *wanted.by) + '\n';
  const auto fact = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<24} {}\n", name, value);
  };
  fact("virtual time", format_duration(run.time));
  fact("costs", origin_of_costs);
  fact("noise", noise_text(wanted));
  fact("messages between hosts", traffic_text(run.between_hosts));
  fact("messages inside hosts", traffic_text(run.inside_hosts));
  fact("most of one host",
       fmt::format("{} sent to other hosts, {} received", run.most_sent_by_host, run.most_received_by_host));
  fact("steps", fmt::format("{} of all ranks", run.steps));
  fact("memory at most",
       fmt::format("{}, {} a host; plans: {}", bytes_text(run.peak_bytes),
                   bytes_text(run.peak_bytes / static_cast<std::uint64_t>(hosts)), bytes_text(run.peak_plan_bytes)));
  fact("plans in memory",
       fmt::format("of {} of {} hosts at most; those of a host were generated {:.3g} times", run.most_hosts_with_plans,
                   hosts, static_cast<double>(run.generated_hosts) / hosts));
  if (!run.rounds.empty()) text += rounds_table(run.rounds);
  return text;
}

nlohmann::json to_json(const sim::simulated_collective& wanted, const sim::collective_run& run) {
  using nlohmann::json;
  const coll::request& asked = wanted.asked;
  const auto traffic = [](const sim::simulated_traffic& of) {
    return json{{"messages", of.messages}, {"bytes", of.bytes}};
  };
  json rounds = json::array();
  for (std::size_t i = 0; i < run.rounds.size(); ++i)
    if (const coll::round_times& each = run.rounds[i]; each.messages > 0)
      rounds.push_back({{"round", i},
                        {"messages", each.messages},
                        {"bytes", each.bytes},
                        {"begin_ns", each.begin},
                        {"end_ns", each.end}});
  json all{{"collective", coll::name_of(asked.what)},
           {"algorithm", wanted.by->name},
           {"hosts", asked.hosts.hosts()},
           {"ranks", asked.hosts.ranks()},
           {"bytes", asked.vector_bytes()},
           {"noise",
            {{"chance", wanted.hit_chance},
             {"longest_ns", wanted.longest_hit},
             {"longest_jitter_ns", wanted.longest_jitter},
             {"seed", wanted.seed}}},
           {"time_ns", run.time},
           {"between_hosts", traffic(run.between_hosts)},
           {"inside_hosts", traffic(run.inside_hosts)},
           {"most_messages_of_a_host", {{"sent", run.most_sent_by_host}, {"received", run.most_received_by_host}}},
           {"steps", run.steps},
           {"peak_bytes", run.peak_bytes},
           {"peak_bytes_of_plans", run.peak_plan_bytes},
           {"most_hosts_with_plans", run.most_hosts_with_plans},
           {"generated_hosts", run.generated_hosts},
           {"rounds", rounds}};
  if (coll::has_root(asked.what)) all["root"] = asked.root;
  return all;
}

}  // namespace tri::tools
