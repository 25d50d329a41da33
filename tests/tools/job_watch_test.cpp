// What `trireme top` makes of readings, where a test decides what lies between two of them: processes that begin and
// end, a reader that lost its core, a launcher that ends after the processes of its job.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "launch/host_link.hpp"
#include "os/unique_fd.hpp"
#include "tools/made_window.hpp"
#include "top/job_figures.hpp"
#include "top/job_finder.hpp"
#include "top/job_text.hpp"
#include "top/job_watch.hpp"

namespace tri::tools {
namespace {

using launch::link_kind;
using testing::made_window;
using testing::process_with_window;

live::page facts_of_process(int process) {
  live::page facts = made_window::usual_facts();
  facts.process = process;
  facts.processes = 2;
  facts.rows_of_job = 2;
  return facts;
}

TEST(local_watch, has_ended_with_the_figures_that_show_it) {
  process_with_window first(facts_of_process(0));
  process_with_window second(facts_of_process(1));
  local_watch watch(job_of(getpid(), {}));
  EXPECT_EQ(watch.next().processes.size(), 2U);
  first.end();
  const job_figures half = watch.next();
  EXPECT_TRUE(half.processes.at(0).has_ended);
  EXPECT_FALSE(half.processes.at(1).has_ended);
  EXPECT_EQ(half.ended_processes, 1);
  second.end();
  EXPECT_FALSE(watch.has_ended()) << "before figures have shown it";
  const job_figures last = watch.next();
  EXPECT_TRUE(last.processes.at(1).has_ended);
  EXPECT_EQ(last.ended_processes, 2);
  EXPECT_TRUE(watch.has_ended());
}

TEST(local_watch, shows_processes_that_begin_later) {
  const process_with_window second(facts_of_process(1));
  local_watch watch(job_of(getpid(), {}));
  const job_figures half = watch.next();
  ASSERT_EQ(half.rows.size(), 1U);
  EXPECT_EQ(half.rows[0].number, 1);
  const process_with_window first(facts_of_process(0));
  for (int look = 0; look < 2; ++look) {
    const job_figures all = watch.next();
    ASSERT_EQ(all.rows.size(), 2U);
    EXPECT_EQ(all.rows[0].number, 0);
    EXPECT_EQ(all.rows[0].process, 0);
    EXPECT_EQ(all.rows[1].number, 1);
    EXPECT_EQ(all.processes.at(0).pid, first.pid());
    EXPECT_EQ(all.processes.at(1).pid, second.pid());
    EXPECT_EQ(all.processes.at(0).cpus, 0.0) << "there is no reading from before it";
  }
  EXPECT_EQ(watch.number(), first.pid());
}

// The reader lost its core when it had read one row: the next one has two seconds more, and twice the messages.
TEST(figures_between, rates_go_by_the_time_between_the_readings_of_a_row) {
  const process_with_window first(facts_of_process(0));
  const process_with_window second(facts_of_process(1));
  const live_job job = job_of(getpid(), {});
  const job_reading before = job_reading::take(job, nullptr);
  job_reading after = before;
  after.ns += 2'000'000'000;
  for (std::size_t process = 0; process < 2; ++process) {
    const std::uint64_t seconds = process == 0 ? 2 : 4;
    row_reading& row = after.rows[process][0];
    row.ticks += seconds * 1'000'000'000;  // ns_per_tick is 1
    row.values["sent"] = 100 * seconds;
    row.values["idle"] += seconds * 250'000'000;
    row.senders[0] = 10 * seconds;
    after.processes[process].ns += static_cast<std::int64_t>(seconds) * 1'000'000'000;
    after.processes[process].cpu_s += 0.75 * static_cast<double>(seconds);
  }
  const job_figures figures = figures_between(job, before, after);
  EXPECT_DOUBLE_EQ(figures.seconds, 2);
  for (const row_figures& row : figures.rows) {
    EXPECT_DOUBLE_EQ(row.sent, 100) << row.number;
    EXPECT_DOUBLE_EQ(row.idle, 0.25) << row.number;
    EXPECT_DOUBLE_EQ(figures.messages.at({0, row.number}), 10) << row.number;
  }
  for (const process_figures& process : figures.processes) EXPECT_DOUBLE_EQ(process.cpus, 0.75) << process.process;
}

// The launcher of a job on one host, as a test plays it.
class played_launcher {
 public:
  played_launcher() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    link_.emplace(os::unique_fd(dup(ends[0])), os::unique_fd(ends[0]));
    watcher_.reset(ends[1]);
  }
  launched_watch watch() {
    os::unique_fd second(dup(watcher_.get()));
    return {4711, {std::move(watcher_), std::move(second)}, ""};
  }
  /// To the question with this number, which may still come.
  void answer(std::int64_t question, const std::string& text) {
    link_->send({.kind = link_kind::host_state, .process = 0, .number = 1, .text = "a", .words = {"0", "1"}});
    link_->send({.kind = link_kind::figures, .process = 0, .number = question, .text = text});
    link_->flush();
  }
  void end() { link_.reset(); }

 private:
  std::optional<launch::host_link> link_;
  os::unique_fd watcher_;
};

std::string figures_of_this_process() {
  const made_window window;
  return to_json(local_watch(job_of(getpid(), {})).next()).dump();
}
const std::string no_process = nlohmann::json{{"problem", "process 1 is not part of a job"}}.dump();

TEST(launched_watch, processes_that_end_before_their_launcher_are_no_problem) {
  played_launcher launcher;
  launched_watch watch = launcher.watch();
  launcher.answer(1, figures_of_this_process());
  EXPECT_EQ(watch.next().rows.size(), 1U);
  launcher.answer(2, no_process);
  const job_figures left = watch.next();
  EXPECT_TRUE(left.rows.empty());
  EXPECT_EQ(left.facts.processes, 1);
  EXPECT_FALSE(left.facts.program.empty());
  EXPECT_TRUE(left.hosts.at(0).answers);
  EXPECT_FALSE(watch.has_ended());
  launcher.end();
  watch.next();
  EXPECT_TRUE(watch.has_ended());
}

TEST(launched_watch, a_job_that_was_never_seen_is_one) {
  played_launcher launcher;
  launched_watch watch = launcher.watch();
  launcher.answer(1, no_process);
  try {
    watch.next();
    ADD_FAILURE() << "nothing thrown";
  } catch (const std::runtime_error& problem) {
    EXPECT_STREQ(problem.what(), "process 1 is not part of a job");
  }
}

}  // namespace
}  // namespace tri::tools
