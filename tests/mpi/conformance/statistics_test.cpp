// What `trireme exec --mpi --stats` counts and prints.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "mpi/conformance/conformance_run.hpp"

namespace mpi_programs {
namespace {

using namespace std::string_literals;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// What the ranks counted agrees, and goes to the table and to the file that was asked for.
TEST_P(conformance, statistics_add_up) {
  if (how().exec.empty() || ranks() == 8) GTEST_SKIP() << "a matter of the drop-in";
  mode told = how();
  told.exec += " --stats";
  auto counted = run_counted(with(), told, ranks(), "traffic", "--messages 600 --largest 400000 --seed 3");
  const auto& ended = counted.ended;
  auto& json = counted.statistics;
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, StartsWith(fmt::format("traffic/{}_ranks ok (", ranks())));
  EXPECT_THAT(ended.errors, HasSubstr(fmt::format("trireme mpi: {} ranks, ", ranks())));
  EXPECT_THAT(ended.errors, ContainsRegex("\n  all +[0-9]+ +[0-9]+ +[0-9]+ "));
  ASSERT_EQ(counted.ranks(), static_cast<std::size_t>(ranks())) << ended.errors;
  EXPECT_EQ(json["faults"], "");
  EXPECT_EQ(json["unreceived"], 0);
  std::map<std::string, double> sums;
  for (const auto& rank : json["ranks"]) {
    for (const auto& [name, value] : rank.items()) sums[name] += value.get<double>();
    EXPECT_GT(rank["total_s"], 0.0);
    EXPECT_LE(rank["waited_s"], rank["total_s"]);
    if (!how().has_hosts) {  // a rank may be alone on its host
      EXPECT_GT(rank["rendezvous"], 0);
    }
  }
  for (const auto& [name, sum] : sums) EXPECT_NEAR(json["all"][name].get<double>(), sum, 1e-6) << name;
  EXPECT_EQ(sums["inline"] + sums["eager"] + sums["rendezvous"],
            sums["received_by_itself"] + sums["received_by_others"]);
  EXPECT_EQ(sums["bytes_received"], sums["bytes_copied"] + sums["bytes_helped"]);
  EXPECT_GT(sums["bytes_received"], 0.0);
  std::map<std::string, long> times;
  // All of it was intercepted, messages to other hosts too. Large synchronous ones travel in pieces.
  for (const auto& call : json["calls"]) {
    times[call["call"].get<std::string>()] += call["times"].get<long>();
    EXPECT_EQ(call["left_because"], "") << call;
  }
  EXPECT_EQ(sums["pieces_sent"] + sums["pieces_sent_for_others"],
            sums["pieces_received"] + sums["pieces_received_for_others"]);
  EXPECT_EQ(sums["pieces_sent"] + sums["pieces_sent_for_others"] > 0, how().has_hosts);
  EXPECT_GT(times["MPI_Isend"] + times["MPI_Send"], 0);
  EXPECT_THAT(ended.errors, ContainsRegex("\ncalls +intercepted +passed through +% intercepted  why passed through\n"));
}

// An inter-communicator that was made without waiting is the library's; messages between the groups of others are
// intercepted, and so are those within a group.
TEST_P(conformance, statistics_say_what_was_passed_through) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in";
  const auto counted = run_counted(with(), how(), ranks(), "conformance",
                                   "--sizes few --only between_groups/calls_on_one_made_without_waiting");
  EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
  std::map<std::string, long> times;
  for (const auto& call : counted.statistics["calls"]) {
    times[call["left_because"].get<std::string>()] += call["times"].get<long>();
    if (call["left_because"] != "") {
      EXPECT_EQ(call["communicator"], "of the library") << call;
    }
  }
  EXPECT_GT(times[""], 0);
  EXPECT_GT(times["inter-communicator"], 0);
}

// Left to the library they would give the same results, but for its faults.
TEST_P(conformance, calls_between_two_groups_are_intercepted) {
  if ((how().name != "drop_in" || ranks() != 3) && how().name != "two_hosts") GTEST_SKIP() << "a matter of the drop-in";
  const auto counted = run_counted(with(), how(), ranks(), "conformance", "--sizes few --only between_groups/");
  EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
  std::set<std::string> intercepted, left;
  for (const auto& call : counted.statistics["calls"]) {
    if (call["communicator"].get<std::string>().find(" and ") == std::string::npos) continue;  // "1 and 2 ranks"
    (call["left_because"] == "" ? intercepted : left).insert(call["call"].get<std::string>());
  }
  EXPECT_THAT(left, testing::IsEmpty());
  for (const char* name : {"Send",      "Recv",       "Isend",           "Irecv",
                           "Bsend",     "Ssend",      "Issend",          "Probe",
                           "Iprobe",    "Mprobe",     "Sendrecv",        "Sendrecv_replace",
                           "Send_init", "Recv_init",  "Ibarrier",        "Ibcast",
                           "Ireduce",   "Iallreduce", "Ireduce_scatter", "Ireduce_scatter_block"})
    EXPECT_TRUE(intercepted.contains("MPI_"s + name)) << name;
  const auto has_persistent = [&](const std::string& name) {
    return intercepted.contains("MPI_" + name + "_init") || intercepted.contains("MPIX_" + name + "_init");
  };
  for (const char* name : {"Barrier", "Bcast", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block"}) {
    EXPECT_TRUE(intercepted.contains("MPI_"s + name)) << name;
    EXPECT_TRUE(has_persistent(name)) << name;
  }
  for (const char* name :
       {"gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"}) {
    const std::string capital = static_cast<char>(name[0] - 'a' + 'A') + std::string(name + 1);
    EXPECT_TRUE(intercepted.contains("MPI_I"s + name)) << name;
    EXPECT_TRUE(intercepted.contains("MPI_" + capital)) << name;
    EXPECT_TRUE(has_persistent(capital)) << name;
  }
}

// They run plans: without them these calls would be the library's, and the results the same.
TEST_P(conformance, reductions_in_the_order_of_ranks_are_intercepted) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in";
  const auto counted = run_counted(with(), how(), ranks(), "conformance", "--sizes few --only collectives/reductions_");
  EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
  std::set<std::string> intercepted;
  for (const auto& call : counted.statistics["calls"]) {
    EXPECT_EQ(call["left_because"], "") << call;
    if (call["size"] == "up to 1 MiB") intercepted.insert(call["call"].get<std::string>());
  }
  for (const char* const each : {"MPI_Scan", "MPI_Exscan", "MPI_Allreduce", "MPI_Reduce", "MPI_Reduce_scatter_block"})
    EXPECT_TRUE(intercepted.contains(each)) << each;
}

// Left to the library they would give the same results, but for its faults.
TEST_P(conformance, exchanges_in_place_and_reductions_of_own_operations_are_intercepted) {
  if ((how().name != "drop_in" || ranks() != 3) && how().name != "two_hosts") GTEST_SKIP() << "a matter of the drop-in";
  for (const auto& [group, calls] : {std::pair{"in_place/", 9u}, std::pair{"own_operations/", 13u}}) {
    const auto counted = run_counted(with(), how(), ranks(), "conformance", "--sizes few --only "s + group);
    EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
    std::set<std::string> intercepted;
    for (const auto& call : counted.statistics["calls"]) {
      EXPECT_EQ(call["left_because"], "") << call;
      const auto name = call["call"].get<std::string>();
      if (name.find("lltoall") != name.npos || name.find("educe") != name.npos || name.find("scan") != name.npos ||
          name.find("Scan") != name.npos)
        intercepted.insert(name);
    }
    EXPECT_GE(intercepted.size(), calls) << group;
  }
}

// On a communicator that spans hosts they run plans: without them these calls would be the library's, and the results
// the same.
TEST_P(conformance, collectives_over_hosts_are_intercepted) {
  if (how().name != "two_hosts") GTEST_SKIP() << "a matter of ranks that are numbered host by host";
  const auto counted = run_counted(with(), how(), ranks(), "conformance",
                                   "--sizes few --only collectives/ --skip " + left_out(with(), how()));
  EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
  std::set<std::string> intercepted;
  for (const auto& call : counted.statistics["calls"])
    if (call["communicator"] == "MPI_COMM_WORLD" && call["left_because"] == "")
      intercepted.insert(call["call"].get<std::string>());
  for (const char* name :
       {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall",
        "MPI_Reduce_scatter", "MPI_Scan", "MPI_Exscan", "MPI_Ibarrier", "MPI_Igather", "MPI_Iscatter", "MPI_Iallgather",
        "MPI_Ialltoall", "MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallv", "MPI_Alltoallw"})
    EXPECT_TRUE(intercepted.contains(name)) << name;
}

// As they are on the original: the members of a duplicate agree by messages on that one.
TEST_P(conformance, collectives_on_duplicates_over_hosts_are_intercepted) {
  if (!how().has_hosts) GTEST_SKIP() << "a matter of several hosts";
  const auto counted =
      run_counted(with(), how(), ranks(), "conformance", "--sizes few --only persistent_collectives/on_duplicates");
  EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
  std::set<std::string> intercepted;
  for (const auto& call : counted.statistics["calls"]) {
    EXPECT_EQ(call["left_because"], "") << call;
    if (call["communicator"] != "MPI_COMM_WORLD") intercepted.insert(call["call"].get<std::string>());
  }
  EXPECT_THAT(intercepted, testing::IsSupersetOf({"MPI_Barrier", "MPI_Allreduce"}));
}

// Left to the library they would give the same results, but for its faults.
TEST_P(conformance, persistent_and_neighbourhood_collectives_are_intercepted) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in";
  for (const std::string group : {"persistent_collectives/", "neighborhoods/"}) {
    const auto counted = run_counted(with(), how(), ranks(), "conformance", "--sizes few --only " + group);
    EXPECT_EQ(counted.ended.status, 0) << counted.ended.errors;
    std::set<std::string> intercepted;
    for (const auto& call : counted.statistics["calls"]) {
      const auto name = call["call"].get<std::string>();
      EXPECT_EQ(call["left_because"], "") << name;
      if (name.ends_with("_init") || name.find("eighbor") != name.npos) intercepted.insert(name);
    }
    EXPECT_GE(intercepted.size(), 15u) << group;
  }
}

}  // namespace
}  // namespace mpi_programs
