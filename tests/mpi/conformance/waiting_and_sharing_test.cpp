// Who works while ranks wait: cores that waits yield, loops that poll, strategies of sharing, modes of progress.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "mpi/conformance/conformance_run.hpp"
#include "support/command_runner.hpp"

namespace mpi_programs {
namespace {

using testing::ContainsRegex;
using testing::Each;
using testing::EndsWith;
using testing::Gt;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two cores of those that we may use, for a command before which it stands.
std::vector<int> two_cores() {
  cpu_set_t ours;
  CPU_ZERO(&ours);
  sched_getaffinity(0, sizeof ours, &ours);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core)
    if (CPU_ISSET(core, &ours)) cores.push_back(core);
  return cores;
}

std::string on_two_cores() { return fmt::format("taskset -c {} ", fmt::join(two_cores(), ",")); }

// With more ranks than cores, Open MPI alone yields in every synchronisation, and MPICH alone nowhere; the drop-in has
// both do it while the library waits. With a core for each rank, MPICH keeps it. (How Open MPI is started here, it
// never does.)
TEST_P(conformance, only_waits_in_the_library_yield_the_core) {
  if (how().name != "drop_in" || ranks() == 3) GTEST_SKIP() << "a matter of the drop-in, with few and with many ranks";
  if (ranks() == 2 && (with().name == "openmpi" || std::thread::hardware_concurrency() < 2))
    GTEST_SKIP() << "a matter of MPICH, with a core for each rank";
  mpi starter = with();
  starter.launcher = on_two_cores() + starter.launcher;
  // How long the wait in the library is at most: it ends when all have given their cores away, and where none is to do
  // it, 0.1 s without is enough.
  const auto ended = run(starter, how(), ranks(), "yields", ranks() == 8 ? "60000" : "100");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, StartsWith("yields of the library: 0\n")) << ended.errors;
  EXPECT_THAT(ended.output,
              EndsWith(fmt::format("waits in the library give the core away: {}\n", ranks() == 8 ? "yes" : "no")));
}

// Ranks that poll give their cores to the ranks that they poll for: some calls per hop, where a rank that keeps its
// core makes tens of thousands.
TEST_P(conformance, polling_loops_yield_the_core) {
  if (how().name != "drop_in" || ranks() < 4) GTEST_SKIP() << "a matter of the drop-in, with more ranks than cores";
  mpi starter = with();
  starter.launcher = on_two_cores() + starter.launcher;
  for (const char* way : {"test", "testall", "iprobe", "win8", "win16"}) {
    const auto ended = run(starter, how(), ranks(), "polls", way);
    EXPECT_EQ(ended.status, 0) << way << ": " << ended.errors;
    long calls = -1;
    EXPECT_EQ(std::sscanf(ended.output.c_str(), "%ld calls per hop", &calls), 1) << ended.output;
    EXPECT_LT(calls, 2000) << way;
  }
}

// Seconds of processor time that others than the programs of this test have used on its two cores since the start.
double used_by_others_s() {
  const std::vector<int> cores = two_cores();
  std::ifstream stat("/proc/stat");
  double used = 0;
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waits = 0, interrupts = 0, soft = 0, stolen = 0;
    words >> name >> user >> nice >> system >> idle >> waits >> interrupts >> soft >> stolen;
    for (const int core : cores)
      if (name == fmt::format("cpu{}", core)) used += user + nice + system + interrupts + soft + stolen;
  }
  rusage own{};
  getrusage(RUSAGE_CHILDREN, &own);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return used / static_cast<double>(sysconf(_SC_CLK_TCK)) - seconds(own.ru_utime) - seconds(own.ru_stime);
}

// A rank that sleeps at each look in vain does not do its own work meanwhile, and no other rank has use for the core.
// But ranks that have to wait for cores because of others do sleep (decision 0007).
TEST_P(conformance, programs_that_work_between_their_looks_do_not_sleep) {
  if (how().name != "drop_in" || ranks() < 3) GTEST_SKIP() << "a matter of the drop-in, with more ranks than cores";
  mpi starter = with();
  starter.launcher = on_two_cores() + starter.launcher;
  constexpr int most_tries = 4;  // where others need the cores
  std::string disturbed;
  for (const char* const way : {"work_test", "work_iprobe"}) {
    std::string disturbance = "not run";
    for (int tries = 0; tries < most_tries && !disturbance.empty(); ++tries) {
      const double others_before_s = used_by_others_s();
      const auto before = std::chrono::steady_clock::now();
      const auto counted = run_counted(starter, how(), ranks(), "polls", way);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - before;
      EXPECT_EQ(counted.ended.status, 0) << way << ": " << counted.ended.errors;
      EXPECT_EQ(counted.ended.output, "20000 looks\n");
      // Some: in the barriers, where a busy machine keeps a rank for long.
      const int most = 20000 / 3 * ranks();
      const int sleeps = counted.statistics["all"].value("sleeps", most);
      const double others = (used_by_others_s() - others_before_s) / elapsed.count();
      disturbance.clear();
      if (sleeps >= most && others > 0.1)
        disturbance = fmt::format("{}: {} sleeps, while others used {:.2f} of the two cores. ", way, sleeps, others);
      else
        EXPECT_LT(sleeps, most) << way;
    }
    disturbed += disturbance;
  }
  if (!disturbed.empty()) GTEST_SKIP() << "for now: " << most_tries << " times " << disturbed;
}

// Two ranks exchange large messages; a third one that waits, in whichever call, moves a part of them.
TEST_P(conformance, waiting_ranks_help) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in, with three ranks";
  for (const char* const call : {"recv", "probe", "send", "wait", "waitall", "barrier", "allreduce", "fence", "lock"}) {
    SCOPED_TRACE(call);
    auto counted = run_counted(with(), how(), ranks(), "helpers", call);
    const auto& ended = counted.ended;
    auto& json = counted.statistics;
    EXPECT_EQ(ended.output, "helpers ok\n") << ended.errors;
    ASSERT_EQ(counted.ranks(), 3u) << ended.errors;
    EXPECT_EQ(json["faults"], "");
    EXPECT_GT(json["ranks"][2]["chunks_helped"], 0);
  }
}

// Neither side of a large message between hosts has to call MPI when a neighbour waits there.
TEST_P(conformance, waiting_ranks_send_and_receive_between_hosts) {
  if (how().name != "two_hosts" || ranks() != 4) GTEST_SKIP() << "a matter of two hosts, with four ranks";
  struct {
    const char* who;
    bool sends, receives;  // for others
  } const cases[] = {{"receiver", false, true}, {"sender", true, false}, {"both", true, true}};
  for (const auto& [who, sends, receives] : cases) {
    for (const char* const gaps : {"", " gaps"}) {
      SCOPED_TRACE(fmt::format("{}{}", who, gaps));
      auto counted = run_counted(with(), how(), 4, "busy_ends", fmt::format("{}{}", who, gaps));
      const auto& ended = counted.ended;
      auto& json = counted.statistics;
      EXPECT_EQ(ended.output, "busy_ends ok\n") << ended.errors;
      ASSERT_EQ(counted.ranks(), 4u) << ended.errors;
      EXPECT_EQ(json["faults"], "");
      if (sends) {
        EXPECT_GT(json["ranks"][1]["pieces_sent_for_others"], 0);
      }
      if (receives) {
        EXPECT_GT(json["ranks"][3]["pieces_received_for_others"], 0);
      }
    }
  }
}

// Four ranks on a machine of two NUMA domains that is only said: the strategy decides which rank copies, never what
// arrives.
TEST_P(conformance, sharing_modes_change_only_which_rank_copies) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of the drop-in, with four ranks";
  const std::string arguments = "--messages 300 --largest 400000 --seed 3";
  const std::string expected = expected_traffic(4, arguments);
  for (const char* const sharing : {"off", "near", "mixed", "throughput,1", "throughput,99"}) {
    SCOPED_TRACE(sharing);
    const mode told{how().name, "TRIREME_TOPOLOGY='synthetic:numa:2 core:2 pu:1'",
                    fmt::format("{} --sharing {}", how().exec, sharing)};
    auto counted = run_counted(with(), told, 4, "traffic", arguments);
    const auto& ended = counted.ended;
    auto& json = counted.statistics;
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.output, expected);
    // Faces of more than 32 KiB, and blocks.
    for (const char* const application :
         {"halo_exchange --extent 24 --steps 3 --variables 12", "get_compute_update --blocks 5 --edge 40"}) {
      const auto computed = run(with(), told, 4, with().applications + "/" + application, "");
      EXPECT_EQ(computed.status, 0) << application << computed.output << computed.errors;
      EXPECT_THAT(computed.output, testing::AnyOf(EndsWith("as computed by one\n"), EndsWith("all sums are right\n")));
    }
    ASSERT_EQ(counted.ranks(), 4u) << ended.errors;
    EXPECT_EQ(json["faults"], "");
    for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(json["ranks"][rank]["domain"], rank / 2);
    const bool off = std::string(sharing) == "off";
    EXPECT_EQ(json["all"]["chunks_shared"] == 0, off);
    if (off) {
      EXPECT_EQ(json["all"]["refused"], 0);
    }
  }
}

// The modes differ in which thread receives, as the counters show; what arrives is the same.
TEST_P(conformance, modes_of_progress_change_only_which_thread_receives) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of the drop-in";
  const std::string arguments = "--messages 300 --largest 100000 --seed 3";
  const std::string expected = expected_traffic(3, arguments);
  for (const char* const progress : {"dynamic", "thread", "reserved,1"}) {
    SCOPED_TRACE(progress);
    const mode told{how().name, "", fmt::format("{} --progress {}", how().exec, progress)};
    auto counted = run_counted(with(), told, 3, "traffic", arguments);
    const auto& ended = counted.ended;
    auto& json = counted.statistics;
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.output, expected);
    EXPECT_THAT(ended.errors, Not(HasSubstr("are left to ")));
    ASSERT_EQ(counted.ranks(), 3u) << ended.errors;
    EXPECT_EQ(json["faults"], "");
    if (std::string(progress) != "dynamic") {
      EXPECT_EQ(json["all"]["received_by_others"], 0);
    }
    EXPECT_THAT(run(with(), told, 3, with().applications + "/five_point", "--rows 70 --columns 90").output,
                EndsWith("as computed by one\n"));
  }
  const mode too_many{how().name, "TRIREME_MPI_PROGRESS=reserved,5000", how().exec};
  const auto refused = run(with(), too_many, 2, "traffic", arguments);
  EXPECT_EQ(refused.status, 0);
  EXPECT_THAT(refused.errors, HasSubstr("reserves 5000 of "));
}

// Ranks compute in one stage and wait in the other. Without any mode chosen, waiting ranks receive for computing ones:
// in both stages, so for every rank. The modes that reserve something for it leave that to their threads.
TEST_P(conformance, the_receiving_thread_changes_with_the_stage) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of the drop-in";
  for (const int count : {2, 4}) {
    for (const char* const progress : {"none", "dynamic", "thread", "reserved,1"}) {
      SCOPED_TRACE(fmt::format("{} ranks, {}", count, progress));
      const tri::testing::temporary_folder folder;
      const bool helps = std::string(progress) != "none";
      const std::string statistics = folder.path().string() + "/statistics.json";
      const mode told{how().name, "",
                      helps ? fmt::format("{} --progress {} --stats-json {}", how().exec, progress, statistics) : ""};
      std::vector<int> received_by_others;
      const auto one_received_all_itself = [&] {
        return std::count(received_by_others.begin(), received_by_others.end(), 0) > 0;
      };
      // The receives stay open for a while, without a core being used. Nothing but time makes a waiting rank be there
      // before the receiver is back, once in the 8 or 12 steps of a stage: other processes may keep it from the cores,
      // but not for ever longer.
      for (const int sleep_us : {5'000, 50'000, 250'000}) {
        const auto ended =
            run(with(), told, count, with().applications + "/two_stages",
                fmt::format("--edge 32 --steps-1 8 --steps-2 12 --repeats-1 0 --repeats-2 0 --sleep-us {}", sleep_us));
        EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
        EXPECT_THAT(ended.output, ContainsRegex("stage 1: .*\n(.*\n)*idle share .*\nstage 2: .*\n(.*\n)*idle share "));
        EXPECT_THAT(ended.output, EndsWith("all sums are right\n"));
        if (!helps) break;
        const auto json = nlohmann::json::parse(tri::testing::contents_of(statistics), nullptr, false);
        const auto told_of = json.value("ranks", nlohmann::json::array());
        ASSERT_EQ(told_of.size(), static_cast<std::size_t>(count)) << ended.errors;
        EXPECT_EQ(json["faults"], "");
        received_by_others.clear();
        for (const auto& rank : told_of) received_by_others.push_back(rank["received_by_others"]);
        if (std::string(progress) != "dynamic" || !one_received_all_itself()) break;
      }
      if (std::string(progress) == "dynamic")
        EXPECT_THAT(received_by_others, Each(Gt(0)));
      else
        EXPECT_THAT(received_by_others, Each(0));
    }
  }
}

}  // namespace
}  // namespace mpi_programs
