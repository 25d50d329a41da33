// `trireme advise` as its users meet it (M78).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string advise = TRIREME_COMMAND " advise ";

TEST(advise_command, suggests_two_processes_for_a_fake_topology_with_two_domains) {
  const command_result done = run_command(advise + "--tri-topology 'synthetic:pack:2 numa:1 core:4 pu:1'");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("2 processes with 4 PEs each"), HasSubstr("2 NUMA domains"),
                                 HasSubstr("process 1: NUMA domain 1, PEs on CPU 4-7"),
                                 HasSubstr("  trireme run -n 2 --pes 4 ./app\n"),
                                 HasSubstr("srun --mpi=pmix -N 1 --ntasks-per-node=2 --cpus-per-task=4 ./app")));
}

TEST(advise_command, reads_the_file_of_another_machine) {
  const temporary_folder folder;
  // As lstopo writes it, with what is needed: domains of 3 and 2 cores.
  std::string text =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n"
      "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000001f\" complete_cpuset=\"0x0000001f\" "
      "allowed_cpuset=\"0x0000001f\" nodeset=\"0x3\" complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\" "
      "gp_index=\"1\">\n";
  int core = 0;
  for (int domain = 0; domain < 2; ++domain) {
    const int cores = domain == 0 ? 3 : 2;
    const std::string cpus = domain == 0 ? "0x00000007" : "0x00000018";
    const std::string sets = " cpuset=\"" + cpus + "\" complete_cpuset=\"" + cpus + "\" nodeset=\"0x" +
                             std::to_string(domain + 1) + "\" complete_nodeset=\"0x" + std::to_string(domain + 1) +
                             "\"";
    const auto number = [](int value) { return "\"" + std::to_string(value) + "\""; };
    text += "<object type=\"Package\" os_index=" + number(domain) + sets + " gp_index=" + number(10 + domain) + ">\n";
    text += "<object type=\"NUMANode\" os_index=" + number(domain) + sets + " gp_index=" + number(20 + domain) +
            " local_memory=\"1073741824\"/>\n";
    for (int i = 0; i < cores; ++i, ++core) {
      char set[32];
      std::snprintf(set, sizeof set, "\"0x%08x\"", 1 << core);
      const std::string of_core = std::string(" cpuset=") + set + " complete_cpuset=" + set + " nodeset=\"0x" +
                                  std::to_string(domain + 1) + "\" complete_nodeset=\"0x" + std::to_string(domain + 1) +
                                  "\"";
      text += "<object type=\"Core\" os_index=" + number(core) + of_core + " gp_index=" + number(30 + core) + ">\n";
      text += "<object type=\"PU\" os_index=" + number(core) + of_core + " gp_index=" + number(60 + core) + "/>\n";
      text += "</object>\n";
    }
    text += "</object>\n";
  }
  write_file(folder.path() / "node.xml", text + "</object>\n</topology>\n");
  const command_result done = run_command(folder.path(), advise + "--json --tri-topology node.xml");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json found = json::parse(done.output);
  EXPECT_EQ(found["processes_per_host"], 2) << found.dump(2);
  EXPECT_EQ(found["pes_per_process"], 2);
  EXPECT_EQ(found["unused_cores"], 1);
  EXPECT_EQ(found["processes"][0]["cpus"], json({0, 1}));
  EXPECT_EQ(found["processes"][1]["cpus"], json({3, 4}));
  EXPECT_EQ(found["affinity"], "0-1,3-4");
}

TEST(advise_command, its_command_line_works_on_this_machine) {
  const command_result done = run_command(advise + "--json");
  ASSERT_EQ(done.status, 0) << done.errors;
  std::string command = json::parse(done.output)["commands"][0];
  ASSERT_TRUE(command.starts_with("trireme run "));
  command.replace(0, 7, TRIREME_COMMAND);
  command.replace(command.find("./app"), 5, TRIREME_COMMAND " bench --started-job");
  const command_result started = run_command(command);
  EXPECT_EQ(started.status, 0) << command << '\n' << started.errors;
}

TEST(advise_command, bad_input_is_reported) {
  EXPECT_EQ(run_command(advise + "--hosts 0").status, 2);
  const command_result none = run_command(advise + "--comm-thread --tri-topology 'synthetic:core:1 pu:1'");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, HasSubstr("a communication thread needs a core"));
  EXPECT_EQ(run_command(advise + "--tri-topology missing.xml").status, 2);
}

}  // namespace
}  // namespace tri::testing
