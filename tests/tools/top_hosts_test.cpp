// `trireme top` beside a job on several hosts, through its launcher: a script stands for the remote shell and runs the
// agents here, where they share neither arenas nor sockets. Whatever a host does, the others are shown.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
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
  explicit job_on_hosts(const std::string& what)
      : job_(TRIREME_COMMAND " run -n 4 --pes 2 --hosts a,b --rsh " REMOTE_SHELL
                             " --peer-timeout 30 -- " WATCHED_PROGRAM " " +
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

TEST(top_hosts, all_hosts_are_shown_through_the_launcher) {
  const job_on_hosts job("traffic");
  const json shown = top_json(job.launcher());
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
  double sent = 0;
  for (const json& row : shown["rows"]) {
    EXPECT_EQ(row["process"].get<int>(), row["number"].get<int>() / 2);
    sent += row["sent_per_s"].get<double>();
  }
  EXPECT_GT(sent, 0.0);
  std::set<int> senders;
  for (const json& each : shown["messages"]) senders.insert(each["from"].get<int>());
  EXPECT_TRUE(senders.contains(0) && senders.contains(4)) << "of both hosts: " << shown["messages"];
  // By the pid of any of its processes, and as a table.
  const command_result table = top(shown["process_figures"][3]["pid"].dump() + " --once --interval 0.2");
  EXPECT_EQ(table.status, 0) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("4 processes on 2 hosts, 8 PEs"));
}

TEST(top_hosts, a_host_that_does_not_answer_is_shown_as_such) {
  const job_on_hosts job("rest");
  const pid_t agent = job.agent_of("b");
  ASSERT_GT(agent, 0);
  ASSERT_EQ(kill(agent, SIGSTOP), 0);
  const json shown = top_json(job.launcher());
  EXPECT_EQ(numbers_of_rows(shown), (std::set{0, 1, 2, 3}));
  EXPECT_EQ(shown["hosts"][0]["state"], "answers");
  EXPECT_EQ(shown["hosts"][1]["state"], "silent");
  EXPECT_GT(shown["hosts"][1]["silent_s"].get<double>(), 0.0);
  for (const json& process : shown["process_figures"])
    EXPECT_EQ(process["is_lost"].get<bool>(), process["process"].get<int>() >= 2);
  const command_result table = top(std::to_string(job.launcher()) + " --once --interval 0.2");
  EXPECT_THAT(table.output, HasSubstr("host b does not answer: nothing was heard of it for "));
  kill(agent, SIGCONT);
  EXPECT_EQ(numbers_of_rows(top_json(job.launcher())).size(), 8U) << "it is back";
}

TEST(top_hosts, other_users_are_refused) {
  if (!testing::can_be_another_user()) GTEST_SKIP() << testing::why_no_other_user;
  const job_on_hosts job("rest");
  const std::string command = TRIREME_COMMAND " top " + std::to_string(job.launcher()) + " --once 2>&1 | grep -q '" +
                              "belongs to another user, and only that one may watch its job'";
  EXPECT_EQ(testing::run_as_another_user([&] { return std::system(command.c_str()) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(numbers_of_rows(top_json(job.launcher())).size(), 8U);
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
