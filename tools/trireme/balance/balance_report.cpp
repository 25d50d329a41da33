#include "balance/balance_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "duration.hpp"
#include "plan/plan_report.hpp"

namespace tri::tools {
namespace {

std::size_t hosts_of(const balancing::snapshot& of) {
  std::set<std::int32_t> hosts;
  for (const balancing::pe_load& each : of.pes) hosts.insert(each.host);
  return hosts.size();
}

std::int64_t moves_between_hosts(const balancing::snapshot& of, const strategy_run& run) {
  const auto host_of = [&](std::int32_t pe) { return of.pes[static_cast<std::size_t>(pe)].host; };
  return std::count_if(run.result.moves.begin(), run.result.moves.end(),
                       [&](const balancing::move& each) { return host_of(each.from) != host_of(each.to); });
}

std::string bytes(std::int64_t count) { return bytes_text(static_cast<std::uint64_t>(count)); }

double messages_of_a_pe(const balancing::snapshot& of, const strategy_run& run) {
  return static_cast<double>(run.result.cost.messages) / static_cast<double>(of.pes.size());
}

}  // namespace

double imbalance_of(const balancing::quality& of) { return of.level_ns > 0.0 ? of.longest_ns / of.level_ns : 1.0; }

std::string title_of(const balancing::snapshot& of) {
  const auto plural = [](std::size_t count, const char* one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
  };
  return fmt::format("{} on {} of {}", plural(of.objects.size(), "object"), plural(of.pes.size(), "PE"),
                     plural(hosts_of(of), "host"));
}

std::string table_of(const balancing::snapshot& of, const strategy_run& run) {
  const balancing::quality &before = run.result.before, &after = run.result.after;
  std::string text = fmt::format("{}\nstrategy {}, {} to decide\n\n{:<28} {:>14} {:>14}\n", title_of(of), run.name,
                                 format_duration(run.taken_ns), "", "before", "after");
  const auto row = [&](const char* name, const std::string& was, const std::string& is) {
    text += fmt::format("{:<28} {:>14} {:>14}\n", name, was, is);
  };
  row("makespan", format_duration(before.longest_ns), format_duration(after.longest_ns));
  row("by the shortest possible", fmt::format("{:.3f}", imbalance_of(before)),
      fmt::format("{:.3f}", imbalance_of(after)));
  if (!of.traffic.empty()) {
    row("messages between hosts", fmt::format("{}", before.messages_between_hosts),
        fmt::format("{}", after.messages_between_hosts));
    row("bytes between hosts", bytes(before.bytes_between_hosts), bytes(after.bytes_between_hosts));
  }
  text += fmt::format("\n{:<28} {} of {} objects, {}; {} to other hosts\n", "moves", after.moved_objects,
                      of.objects.size(), bytes(after.moved_bytes), moves_between_hosts(of, run));
  if (run.result.cost.messages > 0)
    text += fmt::format("{:<28} {}, {:.2f} for each PE, at most {} of one host\n", "messages to decide",
                        run.result.cost.messages, messages_of_a_pe(of, run), run.result.cost.most_of_a_host);
  if (run.result.is_refused)
    text += "The moves of the strategy would have lengthened the makespan, so there are none.\n";
  return text;
}

std::string comparison_of(const balancing::snapshot& of, const std::vector<strategy_run>& runs) {
  std::string text = fmt::format("{}\n", title_of(of));
  const auto first =
      std::find_if(runs.begin(), runs.end(), [](const strategy_run& each) { return each.fault.empty(); });
  if (first != runs.end()) {
    const balancing::quality& before = first->result.before;
    text += fmt::format("before: makespan {}, {:.3f} of the shortest possible; {} messages and {} between hosts\n",
                        format_duration(before.longest_ns), imbalance_of(before), before.messages_between_hosts,
                        bytes(before.bytes_between_hosts));
  }
  text += fmt::format(
      "\n{:<15} {:>10} {:>8} {:>8} {:>10} {:>8} {:>12} {:>12} {:>10}\n{:<15} {:>10} {:>8} {:>8} {:>10} "
      "{:>8} {:>12} {:>12} {:>10}\n",
      "strategy", "makespan", "by the", "objects", "bytes", "to other", "messages", "bytes", "time to", "", "",
      "shortest", "moved", "moved", "hosts", "betw. hosts", "betw. hosts", "decide");
  for (const strategy_run& run : runs) {
    if (!run.fault.empty()) {
      text += fmt::format("{:<15} {}\n", run.name, run.fault);
      continue;
    }
    const balancing::quality& after = run.result.after;
    text += fmt::format("{:<15} {:>10} {:>8.3f} {:>8} {:>10} {:>8} {:>12} {:>12} {:>10}", run.name,
                        format_duration(after.longest_ns), imbalance_of(after), after.moved_objects,
                        bytes(after.moved_bytes), moves_between_hosts(of, run), after.messages_between_hosts,
                        bytes(after.bytes_between_hosts), format_duration(run.taken_ns));
    if (run.result.cost.messages > 0)
      text += fmt::format("  {:.2f} messages for each PE, at most {} of one host", messages_of_a_pe(of, run),
                          run.result.cost.most_of_a_host);
    if (run.result.is_refused) text += "  moves dropped: a longer makespan";
    text += '\n';
  }
  return text;
}

nlohmann::json to_json(const balancing::snapshot& of, const std::vector<strategy_run>& runs) {
  using nlohmann::json;
  const auto quality = [](const balancing::quality& one) {
    return json{{"makespan_ns", one.longest_ns},
                {"shortest_possible_ns", one.level_ns},
                {"messages_between_hosts", one.messages_between_hosts},
                {"bytes_between_hosts", one.bytes_between_hosts}};
  };
  json list = json::array();
  for (const strategy_run& run : runs) {
    if (!run.fault.empty()) {
      list.push_back({{"strategy", run.name}, {"fault", run.fault}});
      continue;
    }
    json moves = json::array();
    for (const balancing::move& each : run.result.moves)
      moves.push_back({{"object", of.objects[each.object].id}, {"from", each.from}, {"to", each.to}});
    list.push_back({{"strategy", run.name},
                    {"taken_ns", run.taken_ns},
                    {"before", quality(run.result.before)},
                    {"after", quality(run.result.after)},
                    {"moved_bytes", run.result.after.moved_bytes},
                    {"moves_between_hosts", moves_between_hosts(of, run)},
                    {"messages_to_decide", run.result.cost.messages},
                    {"most_messages_of_a_host", run.result.cost.most_of_a_host},
                    {"moves_dropped", run.result.is_refused},
                    {"moves", std::move(moves)}});
  }
  return {
      {"objects", of.objects.size()}, {"pes", of.pes.size()}, {"hosts", hosts_of(of)}, {"strategies", std::move(list)}};
}

}  // namespace tri::tools
