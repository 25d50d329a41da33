// The suites `mpi` and `coll` as a user runs them: rows, peers, what they say while there is no drop-in,
// and a library that the user names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/command_runner.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const tri::testing::temporary_folder folder;

tri::testing::command_result bench(const std::string& environment, const std::string& arguments,
                                   const std::string& suite = "mpi") {
  // Open MPI does not look for fast networks, which is half of a short job.
  return tri::testing::run_command("export OMPI_MCA_pml=ob1; " + environment + " " + TRIREME_COMMAND + " bench " +
                                   suite + " " + arguments);
}
json rows(const std::string& environment, const std::string& arguments, const std::string& suite = "mpi") {
  const std::string file = (folder.path() / "rows.json").string();
  const auto ended = bench(environment, arguments + " --json " + file, suite);
  EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
  return json::parse(tri::testing::contents_of(file)).at("rows");
}

TEST(mpi_suite, has_the_rows_of_both_abis) {
  const std::string list = bench("", "--list").output;
  for (const char* abi : {"openmpi", "mpich"}) {
    for (const char* name :
         {"latency/8 ", "latency/65536 ", "latency/524288 ", "latency/4194304 ", "vector/1MiB ", "overlap/2MiB ",
          "allreduce8/2ranks ", "allreduce8/4ranks ", "allreduce8/8ranks ", "scan8/8ranks ", "get8_busy_target ",
          "rate/8 ", "latency8/one_core ", "memory_at_start ", "offering/one_piece ", "offering/two_pieces "})
      EXPECT_THAT(list, HasSubstr(std::string("mpi/") + abi + "/" + name));
    for (const char* name : {"idle/contiguous/8/no_idle ", "idle/contiguous/8388608/6_in_barrier ",
                             "idle/contiguous/65536/2_in_receive ", "idle/vector/1048576/1_in_barrier "})
      EXPECT_THAT(list, HasSubstr(std::string("mpi/") + abi + "/" + name));
    for (const char* name : {"fence/accumulate/131072/2ranks ", "fence/put/8388608/8ranks ", "groups/one_way/8 ",
                             "hosts2x2/one_way/8/delay0us ", "hosts2x2/one_way/4194304/delay50us "})
      EXPECT_THAT(list, HasSubstr(std::string("mpi/") + abi + "/" + name));
  }
}

// Every kind of measurement, with two ranks.
TEST(mpi_suite, measures_every_library_and_says_what_is_not_available) {
  const json all = rows("",
                        "--quick --filter '(latency/8|latency/65536|vector/1MiB|rate/8|overlap/2MiB|"
                        "overlap/2MiB_vector|allreduce8/2ranks|get8_busy_target|memory_at_start|groups/one_way/8)$'");
  ASSERT_EQ(all.size(), 20u);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    for (const std::string library : {INSTALLED_MPIS}) {
      const bool memory = row.at("name").get<std::string>().ends_with("memory_at_start");
      ASSERT_TRUE(row.at("peers").contains(memory ? library + " in all" : library));
      EXPECT_GE(row.at("peers").at(memory ? library + " in all" : library).get<double>(), 0);
    }
    // Of an MPI that was not there there is a reason in the place of a figure, never a figure.
    const std::string abi = row.at("name").get<std::string>().substr(4, 5) == "mpich" ? "mpich" : "openmpi";
    const std::vector<std::string> installed = {INSTALLED_MPIS};
    const bool there = std::find(installed.begin(), installed.end(), abi) != installed.end();
    EXPECT_EQ(row.at("median").is_null(), !there);
    EXPECT_EQ(row.contains("not_available"), !there);
  }
}

// Two ways of one drop-in beside each other; no MPI library takes part by itself. The figure is their difference, so
// only that they were started in these ways can be told.
TEST(mpi_suite, measures_what_offering_costs) {
  const json all = rows("", "--quick --filter 'offering/one_piece$'");
  ASSERT_EQ(all.size(), 2u);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    if (row.contains("not_available")) continue;
    const std::string own =
        row.at("name").get<std::string>().starts_with("mpi/mpich") ? "trireme/mpich" : "trireme/openmpi";
    ASSERT_EQ(row.at("peers").size(), 2u);
    for (const char* way : {", offered", ", not offered"}) EXPECT_GT(row.at("peers").at(own + way).get<double>(), 0);
    // In a hurry there is one round.
    EXPECT_NEAR(
        row.at("median").get<double>(),
        row.at("peers").at(own + ", offered").get<double>() - row.at("peers").at(own + ", not offered").get<double>(),
        0.01);
  }
}

// In one run: the libraries, the drop-in, and the drop-in whose waiting ranks do not help.
void expect_libraries_and_both_ways(const json& rows, std::size_t count) {
  ASSERT_EQ(rows.size(), count);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    for (const std::string library : {INSTALLED_MPIS}) {
      for (const std::string& peer : {library, "trireme/" + library + ", sharing off"}) {
        ASSERT_TRUE(row.at("peers").contains(peer)) << peer;
        EXPECT_GT(row.at("peers").at(peer).get<double>(), 0);
      }
    }
    if (row.contains("not_available")) continue;
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_THAT(row.at("reference").get<std::string>(), HasSubstr("the best peer, "));
  }
}

TEST(mpi_suite, measures_messages_beside_idle_ranks) {
  expect_libraries_and_both_ways(
      rows("", "--quick --filter 'idle/(contiguous/65536/1_in_receive|vector/65536/1_in_barrier)$'"), 4);
}

TEST(mpi_suite, measures_fences) {
  expect_libraries_and_both_ways(rows("", "--quick --filter 'fence/(accumulate|put)/131072/2ranks$'"), 4);
}

// The suite `coll` has the same measuring program and the same peers.
TEST(coll_suite, measures_collectives_beside_both_libraries) {
  const json all = rows("", "--quick --filter '(allgather/8|barrier|groups/reduce/1024)/2ranks$'", "coll");
  ASSERT_EQ(all.size(), 10u);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    for (const std::string library : {INSTALLED_MPIS}) EXPECT_GT(row.at("peers").at(library).get<double>(), 0);
    if (row.contains("not_available")) continue;
    EXPECT_GT(row.at("median").get<double>(), 0);
  }
}

TEST(coll_suite, measures_how_long_plans_take_to_generate) {
  const json all = rows("", "--quick --filter '^plan/(allreduce/ring|alltoall/pairwise)$'", "coll");
  ASSERT_EQ(all.size(), 2u);
  for (const json& row : all) {
    ASSERT_FALSE(row.contains("error")) << row;
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_GT(row.at("counts").at("steps").get<double>(), 2000);
  }
}

TEST(coll_suite, has_rows_on_hosts_with_a_delay_between_them) {
  const std::string list = bench("", "--list", "coll").output;
  for (const char* abi : {"openmpi", "mpich"})
    for (const char* name : {"hosts2x1/barrier/delay0us ", "hosts4x4/allgather/8/delay50us ",
                             "hosts4x2/scatter/65536/delay500us ", "rate/pairs1 ", "rate/pairs4 "})
      EXPECT_THAT(list, HasSubstr(std::string("coll/") + abi + "/" + name));
}

// Every message between hosts takes 50 us longer, so no such operation is shorter: neither ours nor the library's. Not
// of MPICH, whose ranks spin: where they share cores that takes minutes.
TEST(coll_suite, measures_collectives_and_rates_between_hosts_with_a_delay) {
  const json all =
      rows("", "--quick --filter 'openmpi/(hosts2x2/(allgather/8|scatter/1024)/delay50us|rate/pairs2)$'", "coll");
  ASSERT_EQ(all.size(), 3u);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    if (row.contains("not_available")) {
      EXPECT_THAT(row.at("not_available").get<std::string>(),
                  testing::AnyOf(HasSubstr("network_hosts.sh: "), HasSubstr("this MPI was not installed")));
      continue;
    }
    ASSERT_FALSE(row.contains("error"));
    const std::string name = row.at("name");
    ASSERT_EQ(row.at("peers").size(), 1u);
    if (name.ends_with("pairs2")) {
      EXPECT_GT(row.at("median").get<double>(), 0);
      EXPECT_GT(row.at("peers").at("openmpi").get<double>(), 0);
      continue;
    }
    EXPECT_GE(row.at("median").get<double>(), 50);
    EXPECT_GE(row.at("peers").at("openmpi").get<double>(), 50);
    EXPECT_EQ(row.at("counts").at("rounds"), 1);
    EXPECT_EQ(row.at("counts").at("messages"), name.find("/scatter/") != std::string::npos ? 1 : 2);  // by leaders
    EXPECT_EQ(row.at("counts").at("rounds at least"), 1);
  }
}

TEST(mpi_suite, measures_messages_between_hosts_with_a_delay) {
  const json all = rows("", "--quick --filter 'openmpi/hosts2x2/one_way/8/delay50us$'");
  ASSERT_EQ(all.size(), 1u);
  const json& row = all.at(0);
  if (row.contains("not_available")) GTEST_SKIP() << row.at("not_available");
  ASSERT_FALSE(row.contains("error")) << row;
  EXPECT_GE(row.at("median").get<double>(), 50);
  EXPECT_GE(row.at("peers").at("openmpi").get<double>(), 50);
}

TEST(coll_suite, says_why_there_are_no_hosts) {
  const fs::path bin = folder.path() / "not_root";
  fs::create_directory(bin);
  tri::testing::write_file(bin / "id", "#!/bin/sh\necho 1000\n");
  fs::permissions(bin / "id", fs::perms::owner_all);
  const json all = rows("PATH=" + bin.string() + ":$PATH", "--quick --filter 'hosts2x1/barrier/delay0us$'", "coll");
  ASSERT_EQ(all.size(), 2u);
  for (const json& row : all) {
    EXPECT_EQ(row.at("not_available"), "network_hosts.sh: network namespaces need root");
    EXPECT_TRUE(row.at("median").is_null());
    EXPECT_TRUE(row.at("peers").empty());
  }
}

// What the libraries do by themselves is no figure of ours. Too little address space keeps the drop-in out.
TEST(mpi_suite, fails_when_the_drop_in_takes_no_part) {
  const auto ended = bench("ulimit -v 20000000;", "--quick --filter '/latency/8$'");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.output, HasSubstr("the drop-in took no part: trireme mpi: rank "));
}

TEST(mpi_suite, takes_libraries_that_the_user_names) {
  const fs::path bin = folder.path() / "bin";
  fs::create_directory(bin);
  // Launchers look for their helpers beside themselves: no links.
  for (const auto& [name, tool] : {std::pair{"mpicc", SOME_MPICC}, std::pair{"mpirun", SOME_MPIRUN}}) {
    tri::testing::write_file(bin / name, std::string("#!/bin/sh\nexec ") + tool + " \"$@\"\n");
    fs::permissions(bin / name, fs::perms::owner_all);
  }
  const json all = rows("TRIREME_BENCH_MPI=other=" + bin.string(), "--quick --filter 'openmpi/latency/8$'");
  ASSERT_TRUE(all.at(0).at("peers").contains("other")) << all;
  EXPECT_GT(all.at(0).at("peers").at("other").get<double>(), 0);
}

TEST(mpi_suite, explains_libraries_that_it_cannot_use) {
  const auto nameless = bench("TRIREME_BENCH_MPI=/usr/bin", "--quick --filter 'openmpi/latency/8$'");
  EXPECT_EQ(nameless.status, 1);
  EXPECT_THAT(nameless.output, HasSubstr("TRIREME_BENCH_MPI: '/usr/bin' is not NAME=FOLDER, such as openmpi5="));
  const auto empty = bench("TRIREME_BENCH_MPI=x=/nowhere", "--quick --filter 'openmpi/latency/8$'");
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.output, HasSubstr("TRIREME_BENCH_MPI: '/nowhere' has no mpicc; a folder with mpicc and mpirun"));
}

}  // namespace
