// `trireme top` beside a job on several hosts, through its launcher: a script stands for the remote shell and runs the
// agents here, where they share neither arenas nor sockets. Whatever a host does, the others are shown.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "support/another_user.hpp"
#include "tools/watched_job.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::command_result;
using ::testing::HasSubstr;

/// A job on hosts a and b, in a folder of its own.
class job_on_hosts {
 public:
  // Without time-outs between launcher and agents: one of these may be stopped for as long as the test takes.
  explicit job_on_hosts(const std::string& what)
      : job_(TRIREME_COMMAND " run -n 4 --pes 2 --hosts a,b --rsh " REMOTE_SHELL " --peer-timeout 0 -- " WATCHED_PROGRAM
                             " " +
                 what + " " + folder_.path().string(),
             folder_.path() / "out") {
    while (!fs::exists(folder_.path() / "ready") && !job_.has_ended()) usleep(5000);
    EXPECT_TRUE(fs::exists(folder_.path() / "ready")) << job_.output();
  }
  ~job_on_hosts() {
    { const std::ofstream go(folder_.path() / "go"); }
    const int status = job_.wait();
    EXPECT_EQ(status, 0) << job_.output();
  }
  pid_t launcher() const { return job_.pid(); }
  pid_t agent_of(const std::string& host) const {
    const std::string words = "agent of " + host + ": ";
    const std::string text = job_.output();
    const std::size_t found = text.find(words);
    return found == std::string::npos ? 0 : static_cast<pid_t>(std::stol(text.substr(found + words.size())));
  }

 private:
  testing::temporary_folder folder_;
  testing::background_command job_;
};

command_result top(const std::string& arguments) { return testing::run_command(TRIREME_COMMAND " top " + arguments); }

json top_json(pid_t pid) {
  const command_result shown = top(std::to_string(pid) + " --once --json --interval 0.2");
  EXPECT_EQ(shown.status, 0) << shown.errors;
  return json::parse(shown.output, nullptr, false);
}

std::set<int> numbers_of_rows(const json& shown) {
  std::set<int> numbers;
  for (const json& row : shown["rows"]) numbers.insert(row["number"].get<int>());
  return numbers;
}

// A host whose agent has no core for 2 s is left out of a look: the next ones show it.
json top_json_of_all_hosts(pid_t pid) {
  json shown;
  do shown = top_json(pid);
  while (shown["rows"].size() < 8);
  return shown;
}
// The same with a table.
std::string table_with(pid_t pid, const std::string& text) {
  command_result table;
  do {
    table = top(std::to_string(pid) + " --once --interval 0.2");
    EXPECT_EQ(table.status, 0) << table.errors;
  } while (table.status == 0 && table.output.find(text) == std::string::npos);
  return table.output;
}

class stopped_process {
 public:
  explicit stopped_process(pid_t pid) : pid_(pid) {
    EXPECT_EQ(kill(pid_, SIGSTOP), 0);
    while (testing::state_of_process(pid_) != 'T') usleep(1000);
  }
  ~stopped_process() { kill(pid_, SIGCONT); }
  stopped_process(const stopped_process&) = delete;
  stopped_process& operator=(const stopped_process&) = delete;

 private:
  pid_t pid_;
};

TEST(top_hosts, all_hosts_are_shown_through_the_launcher) {
  const job_on_hosts job("traffic");
  const json shown = top_json_of_all_hosts(job.launcher());
  EXPECT_EQ(shown["job"]["number"], job.launcher());
  EXPECT_EQ(shown["job"]["program"], "watched_program");
  EXPECT_EQ(shown["job"]["processes"], 4);
  EXPECT_EQ(shown["job"]["processes_here"], 4);
  EXPECT_EQ(shown["job"]["hosts"], 2);
  EXPECT_EQ(numbers_of_rows(shown), (std::set{0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ(shown["hosts"].size(), 2U);
  ASSERT_EQ(shown["process_figures"].size(), 4U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(shown["hosts"][i]["name"], i == 0 ? "a" : "b");
    EXPECT_EQ(shown["hosts"][i]["state"], "answers");
  }
  for (const json& row : shown["rows"]) EXPECT_EQ(row["process"].get<int>(), row["number"].get<int>() / 2);
  // Until PEs of both hosts had a core between two looks.
  std::set<int> busy;
  std::set<int> senders;
  while (!busy.contains(0) || !busy.contains(4) || !senders.contains(0) || !senders.contains(4)) {
    const json more = top_json(job.launcher());
    for (const json& row : more["rows"])
      if (row["sent_per_s"] > 0.0) busy.insert(row["number"].get<int>());
    for (const json& each : more["messages"]) senders.insert(each["from"].get<int>());
  }
  // By the pid of any of its processes, and as a table.
  table_with(shown["process_figures"][3]["pid"], "4 processes on 2 hosts, 8 PEs");
}

TEST(top_hosts, a_host_that_does_not_answer_is_shown_as_such) {
  const job_on_hosts job("rest");
  const pid_t agent = job.agent_of("b");
  ASSERT_GT(agent, 0);
  std::optional<stopped_process> stopped(agent);
  json shown;
  do {  // until the launcher has read all that the agent said before, and it and the other agent had a core
    shown = top_json(job.launcher());
    if (shown["hosts"].size() == 2) {
      ASSERT_EQ(shown["hosts"][1]["state"], "silent");
    }
  } while (shown["hosts"].size() < 2 || shown["hosts"][0]["state"] != "answers" ||
           shown["hosts"][1]["silent_s"] == 0.0);
  EXPECT_EQ(numbers_of_rows(shown), (std::set{0, 1, 2, 3}));
  for (const json& process : shown["process_figures"])
    EXPECT_EQ(process["is_lost"].get<bool>(), process["process"].get<int>() >= 2);
  table_with(job.launcher(), "host b does not answer: nothing was heard of it for ");
  stopped.reset();
  EXPECT_EQ(numbers_of_rows(top_json_of_all_hosts(job.launcher())), (std::set{0, 1, 2, 3, 4, 5, 6, 7})) << "it is back";
}

TEST(top_hosts, other_users_are_refused) {
  if (!testing::can_be_another_user()) GTEST_SKIP() << testing::why_no_other_user;
  const job_on_hosts job("rest");
  const testing::program_for_others trireme(TRIREME_COMMAND);
  const std::string command = trireme.path() + " top " + std::to_string(job.launcher()) + " --once 2>&1 | grep -q '" +
                              "belongs to another user, and only that one may watch its job'";
  EXPECT_EQ(testing::run_as_another_user([&] { return std::system(command.c_str()) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(numbers_of_rows(top_json_of_all_hosts(job.launcher())).size(), 8U);
}

TEST(top_hosts, a_job_that_ends_while_it_is_watched) {
  testing::temporary_folder folder;
  std::optional<job_on_hosts> job(std::in_place, "traffic");
  testing::background_command watcher(
      TRIREME_COMMAND " top " + std::to_string(job->launcher()) + " --json --interval 0.1", folder.path() / "out");
  watcher.wait_for("\"version\"");
  job.reset();
  EXPECT_EQ(watcher.wait(), 0);
  EXPECT_THAT(watcher.output(), HasSubstr("has ended"));
}

}  // namespace
}  // namespace tri::tools
