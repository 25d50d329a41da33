// The cost of messages between processes over the wire, beside plain UCX. Both are restarted in each of several rounds,
// in turn, and compared round by round.
#include "wire/rows.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"
#include "os/child_process.hpp"
#include "wire/task.hpp"

namespace tri::bench {
namespace {

struct wire_row {
  std::string name;  // behind wire/{conduit}/{place}/
  wire_task task;
  std::string unit;
  std::string description;
  std::optional<double> target = {};
  std::optional<double> target_ratio = {};       // of times, to raw UCX; below 1: faster
  std::optional<double> target_difference = {};  // to raw UCX, in the unit
};

/// What starts two competitors that talk by TCP, on the loopback device or over the cable of the namespaces; empty:
/// what that needs is not installed.
std::vector<std::string> under_mpi(const std::string& place, const std::vector<std::string>& competitor) {
  std::vector<std::string> command;
  const auto append = [&](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  if (place == "veth") {
    if (os::has_program("mpirun.mpich")) append(competitor);  // starts itself anew under it, in two namespaces
  } else if (os::has_program("mpirun.openmpi")) {
    // clang-format off
    append({"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun.openmpi", "--oversubscribe",
            "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo",
            "--mca", "mpi_yield_when_idle", "0", "-n", "2"});
    // clang-format on
    append(competitor);
  } else if (os::has_program("mpirun.mpich")) {
    append({"env", "UCX_TLS=tcp", "UCX_NET_DEVICES=lo", "MPIR_CVAR_NOLOCAL=1", "mpirun.mpich", "-n", "2"});
    append(competitor);
  }
  return command;
}

std::vector<double> start(const std::string& program, wire_task task) {
  std::vector<double> samples;
  std::vector<std::string> command = {program, "bench", "--wire-competitor", written(task)};
  if (task.conduit == "mpi") command = under_mpi(task.place, command);
  if (task.who == "mailbox") {
    const std::vector<std::string> launch = {program, "run", "-n", "2", "--pes", std::to_string(task.senders)};
    command.insert(command.begin(), launch.begin(), launch.end());
  }
  process_lines(
      command,
      [&](const std::string& line) {
        char* end = nullptr;
        const double ns = std::strtod(line.c_str(), &end);
        if (line.empty() || *end != '\0')
          throw std::runtime_error(fmt::format("a competitor of the suite wire printed '{}'", line));
        samples.push_back(ns);
      },
      60, end_of_measurement);
  if (samples.empty()) throw std::runtime_error("a competitor of the suite wire measured nothing");
  return samples;
}

measurement measure_row(context& tools, const std::string& program, const wire_row& about) {
  measurement made;
  if (about.task.place == "veth" && geteuid() != 0) {
    made.not_available = "only root can make network namespaces";
    return made;
  }
  if (about.task.conduit == "mpi" && under_mpi(about.task.place, {program}).empty()) {
    made.not_available = about.task.place == "veth" ? "no mpirun.mpich is installed"
                                                    : "neither mpirun.openmpi nor mpirun.mpich is installed";
    return made;
  }
  const batch_options& method = tools.runner().options();
  const bool in_a_hurry = method.max_time_s <= 2;
  const int rounds = in_a_hurry ? 1 : 5;
  wire_task own = about.task;
  own.seconds = std::max(in_a_hurry ? 0.05 : 0.3, method.min_time_s / rounds);
  if (own.what == "multi") {  // the peer has one message in flight
    for (int round = 0; round < rounds; ++round)
      for (const double ns : start(program, own)) made.samples.operation_ns.push_back(ns);
    return made;
  }
  wire_task raw = own;
  std::string beside_name = "raw UCX", peer_name = "raw_ucx";
  if (own.credits > 0) {
    raw.credits = 0;
    beside_name = "asking", peer_name = "asking";
  } else if (own.memory >= 0) {
    raw.memory = -1;
    beside_name = "no limit", peer_name = "no_limit";
  } else if (own.division == "spread") {
    raw.senders = 1;
    beside_name = "one thread", peer_name = "one_thread";
  } else {
    raw.who = "raw_ucx";
    raw.conduit = "ucx";
  }
  std::vector<double> all_raw;
  comparison beside = {.name = beside_name, .ratios = {}};
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> of_own, of_raw;
    for (const bool own_turn : {round % 2 == 0, round % 2 != 0})
      (own_turn ? of_own : of_raw) = start(program, own_turn ? own : raw);
    beside.ratios.push_back(summarize(of_own).median / summarize(of_raw).median);
    made.samples.operation_ns.insert(made.samples.operation_ns.end(), of_own.begin(), of_own.end());
    all_raw.insert(all_raw.end(), of_raw.begin(), of_raw.end());
  }
  const double raw_ns = summarize(all_raw).median;
  made.peers[peer_name] = nanoseconds_in_unit(raw_ns, about.unit);
  made.reference = std::move(beside);
  if (about.target_difference) {
    const double added = nanoseconds_in_unit(summarize(made.samples.operation_ns).median - raw_ns, about.unit);
    made.note = fmt::format("{:+.2f} {} to raw UCX, target {:+.1f}", added, about.unit, *about.target_difference);
  }
  if (about.task.bytes >= 65536) {
    const double megabytes = static_cast<double>(about.task.bytes) / 1e6;
    made.counts["MB/s"] = megabytes / (summarize(made.samples.operation_ns).median * 1e-9);
    made.counts[fmt::format("MB/s of {}", beside_name)] = megabytes / (raw_ns * 1e-9);
  }
  return made;
}

std::vector<wire_row> described(const std::string& place, const std::string& conduit = "ucx") {
  const auto task = [&](const char* what, std::size_t bytes, bool coalesced = true, int senders = 1) {
    return wire_task{
        .what = what, .place = place, .bytes = bytes, .coalesced = coalesced, .senders = senders, .conduit = conduit};
  };
  std::vector<wire_row> rows = {
      {.name = "one_way/8",
       .task = task("one_way", 8),
       .unit = "us",
       .description = "8 B, half of a round trip",
       .target_difference = 1.0},
      {.name = "one_way/4096",
       .task = task("one_way", 4096),
       .unit = "us",
       .description = "4 KiB, half of a round trip"},
      {.name = "one_way/65536",
       .task = task("one_way", 65536),
       .unit = "us",
       .description = "64 KiB, half of a round trip",
       .target_ratio = 1 / 0.95},
      {.name = "one_way/4194304",
       .task = task("one_way", 4194304),
       .unit = "us",
       .description = "4 MiB, half of a round trip",
       .target_ratio = 1 / 0.95},
      {.name = "rate8",
       .task = task("stream", 8),
       .unit = "M/s",
       .description = "8 B messages in one direction, those to one process in common packets",
       .target = 2.0},
      {.name = "rate8_alone",
       .task = task("stream", 8, false),
       .unit = "M/s",
       .description = "8 B messages in one direction, each in a packet of its own"},
      {.name = "stream/65536",
       .task = task("stream", 65536),
       .unit = "us",
       .description = "64 KiB in one direction, 16 in flight",
       .target_ratio = 1 / 0.95},
      {.name = "stream/4194304",
       .task = task("stream", 4194304),
       .unit = "us",
       .description = "4 MiB in one direction, 16 in flight",
       .target_ratio = 1 / 0.95},
      {.name = "wake8",
       .task = task("wake", 8),
       .unit = "us",
       .description = "8 B to a process that sleeps on the wire, and back",
       .target_ratio = 1.3},
  };
  if (place == "loopback") {
    const auto add_division = [&](const char* division, const char* description) {
      wire_task of_two = task("stream", 8, true, 2);
      of_two.division = division;
      rows.push_back({.name = fmt::format("divisions/{}", division),
                      .task = of_two,
                      .unit = "M/s",
                      .description = fmt::format("8 B messages of two threads on one core{}", description)});
    };
    add_division("all", ", which make progress themselves");
    add_division("receiving", "; a third one there makes progress");
    add_division("funnelled", "; a third one there sends them, and makes progress");
    for (const std::size_t bytes : {8, 4096, 65536}) {
      wire_task of_two = task("stream", bytes, true, 2);
      of_two.division = "spread";
      rows.push_back(
          {.name = fmt::format("distributed_send/{}", bytes),
           .task = of_two,
           .unit = "us",
           .description = fmt::format("{} B in one direction by two threads on two cores, beside one thread", bytes)});
    }
  }
  return rows;
}

// Of the conduit over MPI: what shows its protocols.
std::vector<wire_row> described_over_mpi(const std::string& place) {
  std::vector<wire_row> rows;
  for (wire_row& about : described(place, "mpi")) {
    if (!about.name.starts_with("one_way/") && about.name != "rate8" && about.name != "wake8") continue;
    about.target = about.target_ratio = about.target_difference = {};
    rows.push_back(about);
  }
  return rows;
}

std::vector<wire_row> described_multi_ping_pong(const std::string& conduit) {
  constexpr int in_flight = 16;
  std::vector<wire_row> rows;
  for (const std::size_t bytes : {4096, 16384, 65536}) {
    for (const bool posted : {false, true}) {
      if (posted && (conduit != "mpi" || bytes == 4096)) continue;
      rows.push_back(
          {.name = fmt::format("multi_ping_pong{}/{}x{}", posted ? "_posted" : "", in_flight, bytes),
           .task = {.what = "multi", .bytes = bytes, .conduit = conduit, .in_flight = in_flight, .posted = posted},
           .unit = "us",
           .description = fmt::format("{} messages of {} B there and each of them back{}", in_flight, bytes,
                                      posted ? ", receives posted ahead" : "")});
    }
  }
  return rows;
}

// A receiver that consumes no message while more arrive: without a limit all of them pile up there. Beside the same
// without one, so the ratio is the cost of the limit.
std::vector<wire_row> with_limits() {
  std::vector<wire_row> rows;
  const auto add = [&](const char* what, const char* name, std::size_t bytes, std::int64_t memory, double target) {
    rows.push_back({.name = fmt::format("{}/{}", name, memory),
                    .task = {.what = what, .bytes = bytes, .memory = memory},
                    .unit = "us",
                    .description = fmt::format("{} B with {} B for the messages at their receiver", bytes, memory),
                    .target_ratio = target});
  };
  constexpr std::int64_t plenty = 256 << 20;
  add("one_way", "one_way/8", 8, plenty, 1.02);
  add("stream", "stream8", 8, plenty, 1.02);
  for (const std::size_t bytes : {8, 1024, 10240, 102400})
    for (const std::int64_t memory :
         {plenty, std::int64_t{1} << 20, std::int64_t{250'000}, std::int64_t{1} << 17, std::int64_t{0}})
      add("unexpected_flood", fmt::format("flood{}", bytes).c_str(), bytes, memory, memory == plenty ? 1.02 : 2.0);
  return rows;
}

// Messages by mailbox between two hosts of one PE each: more PEs than cores would show the scheduler.
std::vector<wire_row> by_mailbox_with_limits() {
  std::vector<wire_row> rows;
  for (const std::size_t bytes : {1024, 10240, 102400})
    for (const std::int64_t memory : {std::int64_t{256} << 20, std::int64_t{1} << 17, std::int64_t{0}})
      rows.push_back(
          {.name = fmt::format("mailbox/{}/{}", bytes, memory),
           .task = {.who = "mailbox", .what = "unexpected_flood", .bytes = bytes, .memory = memory},
           .unit = "us",
           .description = fmt::format("messages of {} B by mailbox, received in the reverse order of sending with {} B "
                                      "of memory for unexpected ones",
                                      bytes, memory),
           .target_ratio = memory >> 20 != 0 ? 1.02 : 2.0});
  return rows;
}
std::vector<wire_row> by_predicted_mailbox() {
  std::vector<wire_row> rows;
  for (const std::size_t bytes : {4096, 32768, 131072})
    for (const char* what : {"one_way", "exchange"})
      rows.push_back({.name = fmt::format("{}/{}", what, bytes),
                      .task = {.who = "mailbox", .what = what, .bytes = bytes, .credits = std::int64_t{64} << 20},
                      .unit = "us",
                      .description = fmt::format(
                          "{} B by mailbox {}, on credit, beside messages that ask first", bytes,
                          std::string(what) == "one_way" ? "there and back, half of it" : "both ways at once")});
  return rows;
}

}  // namespace

std::vector<row_definition> wire_rows(const std::string& program) {
  std::vector<row_definition> rows;
  const auto add = [&](const std::string& group, const std::vector<wire_row>& all) {
    for (const wire_row& about : all) {
      rows.push_back({.name = fmt::format("wire/{}/{}", group, about.name),
                      .unit = about.unit,
                      .direction = about.unit == "M/s" ? better::higher : better::lower,
                      .target = about.target,
                      .target_ratio = about.target_ratio,
                      .handoffs = 0,
                      .description = about.description,
                      .measure = [=](context& tools) { return measure_row(tools, program, about); }});
    }
  };
  add("ucx/loopback", described("loopback"));
  add("ucx/veth", described("veth"));
  add("ucx/loopback", described_multi_ping_pong("ucx"));
  add("tcp/loopback", described("loopback", "tcp"));
  add("tcp/veth", described("veth", "tcp"));
  add("mpi/loopback", described_over_mpi("loopback"));
  add("mpi/veth", described_over_mpi("veth"));
  add("mpi/loopback", described_multi_ping_pong("mpi"));
  add("unexpected_flood", with_limits());
  add("unexpected_flood", by_mailbox_with_limits());
  add("mailbox", by_predicted_mailbox());
  for (row_definition& about : broadcast_rows()) rows.push_back(std::move(about));
  for (row_definition& about : cache_rows(program)) rows.push_back(std::move(about));
  for (row_definition& about : remap_rows()) rows.push_back(std::move(about));
  return rows;
}

}  // namespace tri::bench
