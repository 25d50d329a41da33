#include "plan/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/checker.hpp"
#include "coll/cost_fit.hpp"
#include "coll/plan_text.hpp"
#include "duration.hpp"

namespace tri::tools {
namespace {

std::string shape_text(const coll::shape& hosts) {
  std::string text = fmt::format("{} rank{} on {} host{}", hosts.ranks(), hosts.ranks() == 1 ? "" : "s", hosts.hosts(),
                                 hosts.hosts() == 1 ? "" : "s");
  const int each = hosts.ranks_of(0);
  if (hosts.ranks() == each * hosts.hosts() && hosts.least_ranks() == each)
    return text + fmt::format(", {} on each", each);
  std::vector<int> table;
  for (int host = 0; host < hosts.hosts(); ++host) table.push_back(hosts.ranks_of(host));
  return text + fmt::format(" ({})", fmt::join(table, ","));
}

// Rows that are equal are one, by the first of them.
std::string traffic_table(std::string_view of, const std::vector<coll::traffic>& rows) {
  std::string text = fmt::format("  {:<24} {:>8} {:>12} {:>12}\n", "", "sends", "bytes", "receives");
  for (std::size_t first = 0; first < rows.size(); ++first) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::find(rows.begin(), begin, rows[first]) != begin) continue;
    const auto equals = std::count(begin, rows.end(), rows[first]);
    const std::string name =
        equals == 1 ? fmt::format("{} {}", of, first) : fmt::format("{} {} and {} like it", of, first, equals - 1);
    text += fmt::format("  {:<24} {:>8} {:>12} {:>12}\n", name, rows[first].messages, bytes_text(rows[first].bytes),
                        bytes_text(rows[first].received));
  }
  return text;
}

}  // namespace

std::string title_of(const coll::request& asked) {
  if (asked.what == coll::collective::barrier) return std::string(coll::name_of(asked.what));
  return fmt::format("{} of {} bytes", coll::name_of(asked.what), asked.vector_bytes());
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    if (value < 10'000) return fmt::format("{:.1f} {}", value, unit);
    value /= 1024;
  }
  return fmt::format("{:.1f} TiB", value);
}

std::string heading_of(const coll::request& asked, const coll::algorithm& by) {
  return fmt::format("{}, {}{}{}{}\nalgorithm {}: {}\n", title_of(asked), shape_text(asked.hosts),
                     coll::has_root(asked.what) ? fmt::format(", root {}", asked.root) : "",
                     asked.commutative ? "" : ", in the order of ranks", asked.in_place ? ", in place" : "", by.name,
                     by.summary);
}

plan_report report_of(const coll::request& asked, const coll::algorithm& by, const coll::cost_parameters& costs,
                      std::vector<coll::algorithm_cost> others, std::string origin_of_costs) {
  plan_report made{
      asked, &by, costs, coll::generate_all(by, asked), {}, {}, std::move(others), {}, std::move(origin_of_costs)};
  made.counts = coll::count_of(asked, made.plans);
  made.cost = coll::cost_of(asked, made.plans, costs);
  std::size_t steps = 0;
  for (const coll::plan& each : made.plans) steps += each.steps.size();
  if (steps > most_proven_steps) {
    made.proof = fmt::format("not asked, of {} steps; it is up to {}", steps, most_proven_steps);
  } else {
    const std::string problem = coll::problem_of(asked, made.plans);
    made.proof = problem.empty() ? fmt::format("right in every interleaving of {} steps", steps) : "WRONG: " + problem;
  }
  return made;
}

std::string table_of(const plan_report& report, int rank) {
  const coll::request& asked = report.asked;
  const coll::plan_counts& counts = report.counts;
  std::string text = heading_of(asked, *report.by) + '\n';
  const auto fact = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<24} {}\n", name, value);
  };
  fact("rounds between hosts", fmt::format("{}", counts.rounds));
  fact("messages between hosts",
       fmt::format("{}, {}", counts.between_hosts.messages, bytes_text(counts.between_hosts.bytes)));
  fact("messages inside hosts",
       fmt::format("{}, {}", counts.inside_hosts.messages, bytes_text(counts.inside_hosts.bytes)));
  fact("copied and reduced", fmt::format("{}, {}", bytes_text(counts.copied_bytes), bytes_text(counts.reduced_bytes)));
  fact("critical path", format_duration(report.cost.time));
  fact("costs", report.origin_of_costs);
  fact("checker", report.proof);
  if (!report.others.empty()) {
    text += fmt::format("\nAlgorithms, the cheapest first\n");
    for (const coll::algorithm_cost& each : report.others)
      text += fmt::format("  {:>10}  {:<22} {}\n", format_duration(each.time), each.by->name, each.by->summary);
  }
  if (counts.between_hosts.messages > 0) {
    text +=
        "\nMessages between hosts\n" + traffic_table("host", counts.of_hosts) + traffic_table("rank", counts.of_ranks);
  }
  text += fmt::format("\nCritical path\n  {:>10} {:>10} {:>5}  {}\n", "begins", "ends", "rank", "step");
  for (const coll::timed_step& each : report.cost.critical_path)
    text += fmt::format("  {:>10} {:>10} {:>5}  {}\n", format_duration(each.begin), format_duration(each.end),
                        each.rank, coll::text_of(report.plans[static_cast<std::size_t>(each.rank)], each.index));
  const coll::plan& listed = report.plans[static_cast<std::size_t>(rank)];
  text += fmt::format("\nSteps of rank {}, with {} of scratch\n  {:>4} {:>10} {:>10}  {:<60} {}\n", rank,
                      bytes_text(listed.scratch_bytes), "step", "begins", "ends", "", "after");
  for (std::size_t i = 0; i < listed.steps.size(); ++i) {
    const coll::timed_step& timed = report.cost.steps[static_cast<std::size_t>(rank)][i];
    text +=
        fmt::format("  {:>4} {:>10} {:>10}  {:<60} {}\n", i, format_duration(timed.begin), format_duration(timed.end),
                    coll::text_of(listed, i), fmt::join(listed.dependencies_of(i), ","));
  }
  return text;
}

nlohmann::json to_json(const plan_report& report) {
  using nlohmann::json;
  const auto traffic_json = [](const coll::traffic& of) {
    return json{{"messages", of.messages}, {"bytes", of.bytes}, {"received_bytes", of.received}};
  };
  const auto list = [&](const std::vector<coll::traffic>& rows) {
    json all = json::array();
    for (const coll::traffic& each : rows) all.push_back(traffic_json(each));
    return all;
  };
  const coll::request& asked = report.asked;
  json ranks_of_hosts = json::array();
  for (int host = 0; host < asked.hosts.hosts(); ++host) ranks_of_hosts.push_back(asked.hosts.ranks_of(host));
  json costs = json::object();
  for (const coll::cost_parameter& each : coll::all_cost_parameters())
    costs[std::string(each.name)] = report.costs.*each.value;
  json all{{"collective", coll::name_of(asked.what)},
           {"algorithm", report.by->name},
           {"ranks_of_hosts", ranks_of_hosts},
           {"bytes", asked.vector_bytes()},
           {"element_bytes", asked.extent},
           {"commutative", asked.commutative},
           {"in_place", asked.in_place},
           {"rounds", report.counts.rounds},
           {"between_hosts", traffic_json(report.counts.between_hosts)},
           {"inside_hosts", traffic_json(report.counts.inside_hosts)},
           {"copied_bytes", report.counts.copied_bytes},
           {"reduced_bytes", report.counts.reduced_bytes},
           {"time_ns", report.cost.time},
           {"costs", costs},
           {"checker", report.proof},
           {"hosts", list(report.counts.of_hosts)}};
  if (coll::has_root(asked.what)) all["root"] = asked.root;
  json path = json::array();
  for (const coll::timed_step& each : report.cost.critical_path)
    path.push_back({{"rank", each.rank}, {"step", each.index}, {"begin_ns", each.begin}, {"end_ns", each.end}});
  all["critical_path"] = path;
  json others = json::array();
  for (const coll::algorithm_cost& each : report.others)
    others.push_back({{"algorithm", each.by->name}, {"time_ns", each.time}});
  all["algorithms"] = others;
  json ranks = json::array();
  for (const coll::plan& each : report.plans) {
    const auto rank = static_cast<std::size_t>(each.rank);
    json steps = json::array();
    for (std::size_t i = 0; i < each.steps.size(); ++i) {
      const coll::step& one = each.steps[i];
      json step{{"kind", coll::name_of(one.kind)},
                {"begin_ns", report.cost.steps[rank][i].begin},
                {"end_ns", report.cost.steps[rank][i].end},
                {"after", std::vector<std::uint32_t>(each.dependencies_of(i).begin(), each.dependencies_of(i).end())}};
      const auto place = [](const coll::place& of) {
        return json{{"rank", of.rank}, {"buffer", coll::name_of(of.where)}, {"offset", of.offset}};
      };
      if (one.has_source()) step["source"] = place(one.source);
      if (one.has_target()) step["target"] = place(one.target);
      if (one.has_source() || one.has_target()) step["bytes"] = one.bytes;
      if (one.is_message()) {
        step["peer"] = one.peer;
        step["round"] = one.round;
        step["slot"] = one.slot;
      } else if (one.kind == coll::step_kind::signal || one.kind == coll::step_kind::wait) {
        step["counter"] = {{"rank", one.peer}, {"number", one.counter}};
        if (one.kind == coll::step_kind::wait) step["value"] = one.value;
      }
      steps.push_back(step);
    }
    ranks.push_back({{"rank", each.rank},
                     {"scratch_bytes", each.scratch_bytes},
                     {"between_hosts", traffic_json(report.counts.of_ranks[rank])},
                     {"steps", steps}});
  }
  all["ranks"] = ranks;
  return all;
}

}  // namespace tri::tools
