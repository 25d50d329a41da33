// `trireme top` beside real jobs: what it shows is what they count, and whatever is wrong is one line.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "live/live_page.hpp"
#include "support/another_user.hpp"
#include "support/command_runner.hpp"
#include "tools/made_window.hpp"
#include "tools/watched_job.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::command_result;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::made_window;
using testing::objects_job;
using testing::watched_job;

command_result top(const std::string& arguments) { return testing::run_command(TRIREME_COMMAND " top " + arguments); }

json top_json(const watched_job& job) {
  const command_result shown = top(std::to_string(job.pid()) + " --once --json --interval 0.2");
  EXPECT_EQ(shown.status, 0) << shown.errors;
  EXPECT_EQ(shown.errors, "");
  return json::parse(shown.output);
}

// A row that has nothing to do says so when its thread has had a core to find that out.
json top_json_when_idle(const watched_job& job, const std::set<int>& rows) {
  const auto all_idle = [&](const json& shown) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](int row) { return shown["rows"].at(static_cast<std::size_t>(row))["state"] == "idle"; });
  };
  while (!all_idle(top_json(job))) {
  }
  return top_json(job);
}

// How often PEs fell asleep and were woken is theirs, though they found nothing.
const std::set<std::string> changes_at_rest{"sleeps", "wakes"};

TEST(top_command, shows_what_the_pes_count) {
  watched_job job(objects_job(2, 2));
  const json shown = top_json_when_idle(job, {1, 2, 3});
  EXPECT_EQ(shown["job"]["kind"], "objects");
  EXPECT_EQ(shown["job"]["program"], "watched_program");
  EXPECT_EQ(shown["job"]["processes"], 2);
  EXPECT_EQ(shown["job"]["rows"], 4);
  const auto counted = job.counters();
  ASSERT_EQ(counted.size(), 4U);
  ASSERT_EQ(shown["rows"].size(), 4U);
  std::uint64_t migrations = 0;
  for (const auto& [pe, counters] : counted) {
    const json& row = shown["rows"][static_cast<std::size_t>(pe)];
    EXPECT_EQ(row["number"], pe);
    EXPECT_GE(row["totals"]["sent"], 3000U);
    for (const auto& [name, value] : counters)
      if (!changes_at_rest.contains(name)) {
        EXPECT_EQ(row["totals"][name], value) << "PE " << pe << " " << name;
      }
    migrations += row["totals"]["migrations"].get<std::uint64_t>();
    EXPECT_EQ(row["sent_per_s"], 0.0);
    EXPECT_EQ(row["queue"], 0U);
  }
  EXPECT_EQ(migrations, 6U) << "two of eight elements were there already";
  // The main program has PE 0 all the time, though it does not run messages; the others have nothing to do. The parts
  // are exact: an idle PE needs no core to stay idle, and a busy one none to stay busy.
  EXPECT_EQ(shown["rows"][0]["state"], "busy");
  EXPECT_EQ(shown["rows"][0]["busy"], 1.0);
  for (int pe = 1; pe < 4; ++pe) {
    const json& row = shown["rows"][static_cast<std::size_t>(pe)];
    EXPECT_EQ(row["state"], "idle");
    EXPECT_EQ(row["idle"], 1.0);
  }
  for (const json& process : shown["process_figures"]) {
    EXPECT_GT(process["resident_bytes"], 0U);
    EXPECT_GT(process["arena_bytes"], 0U);
    EXPECT_GE(process["arena_limit_bytes"], process["arena_bytes"]);
    EXPECT_EQ(process["has_ended"], false);
  }
}

// Readers may look at any time, so every process has to be there when the first program can say that the job runs.
TEST(top_command, a_job_whose_program_runs_is_there_with_all_its_processes) {
  const watched_job job(objects_job(16, 1), "begin");
  const auto seen = job.counters();
  ASSERT_EQ(seen.size(), 16U);
  for (const auto& [pe, values] : seen) EXPECT_EQ(values.at("is_shown"), 1U) << "process of PE " << pe;
}

// Who sends what when depends on who has a core: looks on until every PE was seen to send and to receive, and the
// overhead of each one was sampled.
TEST(top_command, shows_who_sends_to_whom) {
  const watched_job job(objects_job(2, 2), "traffic");
  const std::set<std::pair<int, int>> ring{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  std::set<std::pair<int, int>> pairs;
  std::set<int> senders;
  std::set<int> receivers;
  std::set<int> sampled;
  while (pairs != ring || senders.size() + receivers.size() + sampled.size() < 12) {
    const json shown = top_json(job);
    ASSERT_EQ(shown["rows"].size(), 4U);
    for (const json& each : shown["messages"]) {
      const std::pair<int, int> pair{each["from"], each["to"]};
      ASSERT_TRUE(ring.contains(pair)) << each;
      ASSERT_GT(each["per_s"], 0.0);
      pairs.insert(pair);
    }
    for (const json& row : shown["rows"]) {
      const int number = row["number"];
      if (row["sent_per_s"] > 0.0) senders.insert(number);
      if (row["received_per_s"] > 0.0) receivers.insert(number);
      if (row["totals"]["overhead"] > 0U) sampled.insert(number);
      for (const char* const part : {"busy", "idle", "overhead"}) {
        ASSERT_GE(row[part], 0.0) << row;
        ASSERT_LE(row[part], 1.0) << row;
      }
      ASSERT_NEAR(row["busy"].get<double>() + row["idle"].get<double>() + row["overhead"].get<double>(), 1, 1e-9);
    }
  }
}

TEST(top_command, shows_emulated_hosts_as_one_job) {
  const watched_job job(objects_job(3, 1, "--tri-hosts=3"));
  const json shown = top_json(job);
  EXPECT_EQ(shown["job"]["hosts"], 3);
  EXPECT_EQ(shown["rows"].size(), 3U);
  std::set<int> hosts;
  for (const json& process : shown["process_figures"]) hosts.insert(process["host"].get<int>());
  EXPECT_EQ(hosts, (std::set<int>{0, 1, 2}));
}

TEST(top_command, a_table_has_a_line_for_each_pe) {
  const watched_job job(objects_job(2, 1));
  top_json_when_idle(job, {1});
  const command_result shown = top(std::to_string(job.pid()) + " --once --interval 0.1");
  EXPECT_EQ(shown.status, 0) << shown.errors;
  EXPECT_THAT(shown.output, ContainsRegex("^job [0-9]+  watched_program: 2 processes, 2 PEs, running for "));
  EXPECT_THAT(shown.output, ContainsRegex("\n    0    0 #################### 100.0   0.0   0.0 "));
  EXPECT_THAT(shown.output, ContainsRegex("\n    1    1 +0.0   0.0 100.0 "));
}

// The view in a terminal: what it draws, until a key ends it.
class terminal {
 public:
  explicit terminal(pid_t job) {
    setenv("TERM", "xterm", 1);
    winsize size{.ws_row = 20, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
    pid_ = forkpty(&side_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      execl(TRIREME_COMMAND, "trireme", "top", std::to_string(job).c_str(), "--interval", "0.1", nullptr);
      _exit(127);
    }
  }
  ~terminal() { close(side_); }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  /// Reads on until that was drawn, or the command has ended.
  bool draws(const std::string& text) {
    std::array<char, 4096> part{};
    while (drawn_.find(text) == std::string::npos) {
      const ssize_t came = read(side_, part.data(), part.size());
      if (came <= 0) return false;
      drawn_.append(part.data(), static_cast<std::size_t>(came));
    }
    return true;
  }
  void press(char key) { EXPECT_EQ(write(side_, &key, 1), 1); }
  int wait() {
    while (draws("this is never drawn")) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }
  const std::string& drawn() const { return drawn_; }

 private:
  int side_ = -1;
  pid_t pid_ = 0;
  std::string drawn_;
};

TEST(top_command, refreshes_in_a_terminal_until_a_key_or_the_end) {
  watched_job job(objects_job(2, 1));
  terminal first(job.pid());
  if (!first.draws("q quit")) {
    EXPECT_THAT(first.drawn(), HasSubstr("built without ncurses (libncurses-dev)"));
    GTEST_SKIP() << "built without ncurses";
  }
  EXPECT_THAT(first.drawn(), HasSubstr("watched_program: 2 processes, 2 PEs"));
  EXPECT_THAT(first.drawn(), HasSubstr("busy%"));
  first.press('s');
  first.press('q');
  EXPECT_EQ(first.wait(), 0);
  terminal second(job.pid());
  EXPECT_TRUE(second.draws("q quit"));
  job.end();
  EXPECT_EQ(second.wait(), 0);
  EXPECT_THAT(second.drawn(), ContainsRegex("job [0-9]+ has ended"));
}

TEST(top_command, lists_several_jobs_and_wants_a_choice) {
  const watched_job one(objects_job(2, 1));
  const watched_job other(objects_job(1, 1));
  const command_result listed = top("--list --json");
  EXPECT_EQ(listed.status, 0) << listed.errors;
  int ours = 0;
  for (const json& each : json::parse(listed.output)) ours += each["program"] == "watched_program" ? 1 : 0;
  EXPECT_GE(ours, 2);
  const command_result unclear = top("--once");
  EXPECT_EQ(unclear.status, 1);
  EXPECT_EQ(unclear.output, "");
  EXPECT_THAT(unclear.errors, ContainsRegex("JOB +kind +processes +PEs +running +program\n"));
  // "several" while others have a launcher of a job on several hosts here.
  EXPECT_THAT(unclear.errors,
              ContainsRegex("trireme top: ([0-9]+|several) jobs run here: choose one, as in `trireme top [0-9]+`"));
  EXPECT_EQ(top_json(one)["job"]["processes"], 2);
  EXPECT_EQ(top_json(other)["job"]["processes"], 1);
  // Of the process that started both.
  const command_result both = top(std::to_string(getpid()) + " --once");
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.errors, ContainsRegex("has started several jobs: .*\\(watched_program\\), .*; choose one of them"));
}

TEST(top_command, a_process_that_is_no_job_is_named) {
  const pid_t sleeper = fork();
  ASSERT_GE(sleeper, 0);
  if (sleeper == 0) {
    pause();
    _exit(0);
  }
  const command_result none = top(std::to_string(sleeper) + " --once");
  kill(sleeper, SIGKILL);
  waitpid(sleeper, nullptr, 0);
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.errors, HasSubstr("is not part of a job that can be watched; `trireme top --list` lists the jobs"));
  const command_result gone = top("4194303 --once");
  EXPECT_EQ(gone.status, 1);
  EXPECT_EQ(gone.errors, "trireme top: there is no process 4194303; `trireme top --list` lists the jobs\n");
}

// A job that ends, however, ends the view; what was counted until then is still there.
TEST(top_command, a_job_that_is_killed_ends_the_view) {
  watched_job job(objects_job(2, 1));
  const testing::temporary_folder output;
  testing::background_command watcher(TRIREME_COMMAND " top " + std::to_string(job.pid()) + " --json --interval 0.05",
                                      output.path() / "out");
  watcher.wait_for("}\n");
  job.kill();
  EXPECT_EQ(watcher.wait(), 0);
  const std::string watched = watcher.output();
  EXPECT_THAT(watched, ContainsRegex("trireme top: job [0-9]+ has ended\n"));
  std::istringstream lines(watched);
  std::string line;
  json last;
  while (std::getline(lines, line))
    if (line.starts_with("{")) last = json::parse(line);
  ASSERT_EQ(last["process_figures"].size(), 2U);
  for (const json& process : last["process_figures"]) EXPECT_EQ(process["has_ended"], true);
  EXPECT_EQ(last["rows"].size(), 2U);
}

TEST(top_command, only_its_user_may_watch_a_job) {
  if (!testing::can_be_another_user()) GTEST_SKIP() << testing::why_no_other_user;
  const watched_job job(objects_job(1, 1));
  const testing::temporary_folder output;
  fs::permissions(output.path(), fs::perms::all);
  const std::string file = (output.path() / "out").string();
  const testing::program_for_others trireme(TRIREME_COMMAND);
  const std::string command = trireme.path() + " top " + std::to_string(job.pid()) + " --once >" + file + " 2>&1; " +
                              trireme.path() + " top --list >>" + file + " 2>&1";
  EXPECT_EQ(testing::run_as_another_user([&] { return std::system(command.c_str()) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(testing::contents_of(file),
            "trireme top: process " + std::to_string(job.pid()) +
                " belongs to root, and only root may watch its jobs\nno job of yours runs on this host\n");
}

command_result watch_this_process(const std::string& more = "") {
  return top(std::to_string(getpid()) + " --once --json --interval 0.05" + more);
}

TEST(top_command, damaged_memory_is_one_line) {
  made_window window;
  const command_result good = watch_this_process();
  ASSERT_EQ(good.status, 0) << good.errors;
  EXPECT_EQ(json::parse(good.output)["process_figures"][0]["arena_bytes"], 3 << 16);

  const auto refused = [](const std::string& why) {
    const command_result shown = watch_this_process();
    EXPECT_EQ(shown.status, 1);
    EXPECT_EQ(shown.output, "");
    EXPECT_EQ(shown.errors, "trireme top: process " + std::to_string(getpid()) + why + "\n");
  };
  const auto with = [](auto& place, auto value, auto&& check) {
    const auto before = place;
    place = value;
    check();
    place = before;
  };
  with(window.page().version, 99U,
       [&] { refused(" runs another version of Trireme: its live page has version 99, this command reads 1"); });
  with(window.header().version, 2U,
       [&] { refused(" runs another version of Trireme: its windows have version 2, this command reads 3"); });
  with(window.page().magic, std::uint64_t{5}, [&] { refused(": its live page is damaged: it begins with 0x5"); });
  with(window.page().rows, 0xffff'ffffU,
       [&] { refused(": its live page is damaged: it has 1 figures and 4294967295 rows in 208 bytes"); });
  with(window.page().ns_per_tick, -1.0, [&] { refused(": its live page is damaged: a tick would last -1 ns"); });
  with(window.header().window_bytes, std::uint64_t{1} << 40,
       [&] { refused(": its live page is damaged: its window should have 1099511627776 bytes and has 1048576"); });
  with(window.header().live_page, std::uint64_t{1} << 40,
       [&] { refused(": its live page is damaged: it would begin at byte 1099511627776 of a window of 1048576"); });
  with(window.figure().block, 7U, [&] { refused(": its live page is damaged: 'idle' is in block 7"); });
  with(window.figure().offset, 3U,
       [&] { refused(": its live page is damaged: idle would lie at byte 8195 of a window of 1048576"); });
  with(window.row().blocks[0], ~std::uint64_t{7}, [&] {
    refused(": its live page is damaged: idle would lie at byte 18446744073709551608 of a window of 1048576");
  });
  with(window.row().inbox, live::ring{.tickets = 64, .consumed = 64, .cells = 0, .capacity = 3, .cell_bytes = 64}, [&] {
    refused(": its live page is damaged: the inbox of row 0 has 3 cells of 64 bytes at byte 0 of a window of 1048576");
  });
}

TEST(top_command, a_process_with_objects_and_mpi_is_both) {
  made_window objects;
  live::page facts = made_window::usual_facts();
  facts.kind = live::job_kind::mpi;
  made_window mpi(facts);
  EXPECT_EQ(watch_this_process().errors,
            "trireme top: process " + std::to_string(getpid()) +
                " has objects and is a rank of MPI; choose what to watch by --kind objects or --kind mpi\n");
  for (const std::string kind : {"objects", "mpi"}) {
    const command_result shown = watch_this_process(" --kind " + kind);
    ASSERT_EQ(shown.status, 0) << shown.errors;
    EXPECT_EQ(json::parse(shown.output)["job"]["kind"], kind);
  }
}

#ifdef WATCHED_MPI
TEST(top_command, shows_ranks_of_mpi_jobs) {
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  const std::string start = WATCHED_MPIRUN " -n 2 " TRIREME_COMMAND " exec --mpi -- " WATCHED_MPI;
  const watched_job job(start, "");
  const json shown = top_json_when_idle(job, {1});
  EXPECT_EQ(shown["job"]["kind"], "mpi");
  EXPECT_EQ(shown["job"]["program"], "watched_mpi");
  ASSERT_EQ(shown["rows"].size(), 2U);
  EXPECT_EQ(shown["rows"][0]["state"], "busy");
  EXPECT_EQ(shown["rows"][0]["busy"], 1.0);
  // The way of a message depends on what its receiver has taken until then; the first one found room.
  const json& sent = shown["rows"][0]["totals"];
  EXPECT_GE(sent["inlined"], 1U);
  EXPECT_GE(sent["inlined"].get<int>() + sent["eager"].get<int>() + sent["rendezvous"].get<int>(), 101);
  EXPECT_EQ(shown["rows"][1]["state"], "idle");
  EXPECT_EQ(shown["rows"][1]["idle"], 1.0);
  const auto received = [&](int rank) {
    const json& totals = shown["rows"][static_cast<std::size_t>(rank)]["totals"];
    return totals["received_by_itself"].get<int>() + totals["received_by_others"].get<int>();
  };
  EXPECT_GE(received(1), 101);
}
#endif

}  // namespace
}  // namespace tri::tools
