// The decisions of the launcher: events of processes in, actions out; every state, and what ends the job.
#include "launch/job_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tri::launch {
namespace {

using ::testing::HasSubstr;

int exit_of(int status) { return status << 8; }  // wait status as the kernel makes it
int signal_of(int signal) { return signal; }

boot::hello_message hello_of(int process, std::uint64_t fingerprint = 1, int hosts = 1) {
  boot::hello_message hello;
  hello.process = process;
  hello.pes = 1;
  hello.hosts = hosts;
  hello.fingerprint = fingerprint;
  return hello;
}

// A monitor with its actions as short words.
class monitored {
 public:
  explicit monitored(int processes) : monitor(processes), processes_(processes) {
    for (int i = 0; i < processes; ++i) monitor.started(i, 100 + i);
  }
  std::optional<std::string> hello(int process, std::uint64_t fingerprint = 1, int hosts = 1) {
    return monitor.hello(process, 100 + process, hello_of(process, fingerprint, hosts));
  }
  void join_all() {
    for (int i = 0; i < processes_; ++i) hello(i);
    for (int i = 0; i < processes_; ++i) monitor.peers_taken(i);
    actions();
  }
  std::vector<std::string> actions() {
    std::vector<std::string> words;
    for (const auto& action : monitor.take_actions()) {
      if (const auto* peers = std::get_if<job_monitor::send_peers>(&action))
        words.push_back("peers " + std::to_string(peers->process));
      if (const auto* all = std::get_if<job_monitor::send_to_all>(&action))
        words.push_back(std::string("all ") + name_of(all->message));
      if (const auto* one = std::get_if<job_monitor::send_to>(&action)) {
        const auto& address = std::get<boot::address_message>(one->message);
        words.push_back("address " + std::to_string(address.about.question) + " of " +
                        std::to_string(address.about.process) + " to " + std::to_string(one->process) + ": " +
                        (address.about.published != 0 ? std::to_string(address.address.size()) : "none"));
      }
      if (const auto* print = std::get_if<job_monitor::print>(&action)) words.push_back(print->text);
      if (const auto* signal = std::get_if<job_monitor::signal_all>(&action)) {
        words.push_back("signal " + std::to_string(signal->signal) + " except " + std::to_string(signal->except));
      }
      if (const auto* timer = std::get_if<job_monitor::start_timer>(&action))
        words.push_back("timer " + std::to_string(timer->milliseconds));
    }
    return words;
  }
  // The text of the one message among the actions.
  std::string message() {
    std::string found;
    for (const auto& action : monitor.take_actions())
      if (const auto* print = std::get_if<job_monitor::print>(&action)) found += print->text;
    return found;
  }
  job_monitor monitor;

 private:
  int processes_;
};

using words = std::vector<std::string>;

TEST(job_monitor, a_clean_job) {
  monitored job(2);
  EXPECT_FALSE(job.hello(1));
  EXPECT_EQ(job.actions(), words{});
  EXPECT_FALSE(job.hello(0));
  EXPECT_EQ(job.actions(), words{"peers 0"});
  job.monitor.peers_taken(0);
  EXPECT_EQ(job.actions(), words{"peers 1"});
  job.monitor.peers_taken(1);
  EXPECT_EQ(job.actions(), words{"all start"});
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    job.monitor.barrier(1, epoch);
    EXPECT_EQ(job.actions(), words{});
    job.monitor.barrier(0, epoch);
    EXPECT_EQ(job.actions(), words{"all released"});
  }
  for (int i = 0; i < 2; ++i) {
    job.monitor.left(i, 0);
    job.monitor.disconnected(i);
    job.monitor.exited(i, exit_of(0));
  }
  EXPECT_EQ(job.actions(), words{});
  EXPECT_TRUE(job.monitor.finished());
  EXPECT_EQ(job.monitor.exit_status(), 0);
}

TEST(job_monitor, addresses_go_to_every_process_that_asks) {
  monitored job(2);
  job.join_all();
  job.monitor.published_address(1, std::vector<std::byte>(5));
  job.monitor.wanted_address(0, {1, 7});
  job.monitor.wanted_address(0, {0, 8});
  job.monitor.wanted_address(1, {1, 1});
  EXPECT_EQ(job.actions(), (words{"address 7 of 1 to 0: 5", "address 8 of 0 to 0: none", "address 1 of 1 to 1: 5"}));
  job.monitor.left(1, 0);
  job.monitor.exited(1, exit_of(0));
  job.monitor.wanted_address(0, {1, 9});  // what it published stays true
  EXPECT_EQ(job.actions(), words{"address 9 of 1 to 0: 5"});
}

TEST(job_monitor, a_wrong_question_or_a_second_address_breaks_the_protocol) {
  for (const int wanted : {-1, 2}) {
    monitored job(2);
    job.join_all();
    job.monitor.wanted_address(0, {wanted, 1});
    EXPECT_THAT(job.message(),
                HasSubstr("the network address of process " + std::to_string(wanted) + " at a wrong moment"));
  }
  monitored job(2);
  job.join_all();
  job.monitor.published_address(0, {});
  EXPECT_EQ(job.message(), "");
  job.monitor.published_address(0, {});
  EXPECT_THAT(job.message(), HasSubstr("a network address at a wrong moment"));
}

TEST(job_monitor, one_message_for_the_first_problem_only) {
  monitored job(3);
  job.join_all();
  job.monitor.exited(1, signal_of(SIGSEGV));
  job.monitor.exited(0, signal_of(SIGTERM));
  job.monitor.failed(2, "too late");
  EXPECT_EQ(job.actions(),
            (words{"signal 15 except -1", "timer 300",
                   "trireme: process 1 (pid 101) ended by signal 11 (Segmentation fault); the job is ended"}));
  EXPECT_FALSE(job.monitor.finished());
  job.monitor.timer_expired();
  EXPECT_EQ(job.actions(), words{"signal 9 except -1"});
  job.monitor.exited(2, signal_of(SIGKILL));
  EXPECT_TRUE(job.monitor.finished());
  EXPECT_EQ(job.monitor.exit_status(), 128 + SIGSEGV);
}

TEST(job_monitor, a_crash_after_leaving_is_told) {
  monitored job(1);
  job.join_all();
  job.monitor.left(0, 0);
  job.monitor.exited(0, signal_of(SIGABRT));
  EXPECT_THAT(job.message(), HasSubstr("ended by signal 6 (Aborted)"));
  EXPECT_EQ(job.monitor.exit_status(), 134);
}

TEST(job_monitor, the_failing_process_is_spared_at_first) {
  monitored job(2);
  job.join_all();
  job.monitor.failed(1, "out of memory");
  EXPECT_EQ(job.actions(), (words{"signal 15 except 1", "timer 300", "trireme: process 1 (pid 101): out of memory"}));
  EXPECT_EQ(job.monitor.exit_status(), 1);
}

TEST(job_monitor, a_closed_connection_waits_for_the_exit_that_says_more) {
  monitored job(2);
  job.join_all();
  job.monitor.disconnected(1);
  EXPECT_EQ(job.actions(), words{"timer 200"});
  EXPECT_EQ(job.monitor.lost_here(), std::optional<pid_t>(101)) << "whose exit may be under way";
  job.monitor.exited(1, signal_of(SIGKILL));
  EXPECT_EQ(job.monitor.lost_here(), std::nullopt);
  EXPECT_THAT(job.message(), HasSubstr("ended by signal 9 (Killed)"));

  monitored other(2);
  other.join_all();
  other.monitor.disconnected(1);
  other.actions();
  other.monitor.timer_expired();
  EXPECT_THAT(other.message(), HasSubstr("closed its connection without leaving the job"));
}

TEST(job_monitor, exit_before_join_in_either_order) {
  monitored first(2);
  first.monitor.exited(0, exit_of(0));
  EXPECT_EQ(first.actions(), words{});
  first.hello(1);
  EXPECT_THAT(first.message(), HasSubstr("process 0 (pid 100) exited with status 0 before it joined the job"));
  EXPECT_EQ(first.monitor.exit_status(), 1);

  monitored second(2);
  second.hello(1);
  second.monitor.exited(0, exit_of(4));
  EXPECT_THAT(second.message(), HasSubstr("exited with status 4 before it joined the job"));
  EXPECT_EQ(second.monitor.exit_status(), 4);
}

TEST(job_monitor, mismatches) {
  monitored builds(2);
  builds.hello(0, 1);
  EXPECT_FALSE(builds.hello(1, 2));
  EXPECT_THAT(builds.message(),
              HasSubstr("process 1 (pid 101) runs a different build of the program than process 0 (pid 100) "
                        "(fingerprints 0000000000000002 and 0000000000000001)"));
  monitored hosts(2);
  hosts.hello(0, 1, 1);
  hosts.hello(1, 1, 2);
  EXPECT_THAT(hosts.message(), HasSubstr("has hosts=2, but process 0 (pid 100) has hosts=1; all must have the same"));
}

TEST(job_monitor, untrusted_peers_are_refused_without_harm) {
  monitored job(2);
  EXPECT_THAT(job.hello(2).value(), HasSubstr("there is no process 2 in this job of 2"));
  EXPECT_THAT(job.hello(-1).value(), HasSubstr("there is no process -1"));
  EXPECT_THAT(job.hello(0, 1, 3).value(), HasSubstr("hosts is 3"));
  EXPECT_FALSE(job.hello(0));
  EXPECT_THAT(job.hello(0).value(), HasSubstr("process 0 of this job has joined already"));
  EXPECT_EQ(job.actions(), words{});
}

TEST(job_monitor, messages_at_wrong_moments) {
  const auto expect_broken = [](auto misbehave, const char* text) {
    monitored job(2);
    misbehave(job);
    EXPECT_THAT(job.message(), HasSubstr(std::string("broke the bootstrap protocol: ") + text));
  };
  expect_broken([](monitored& job) { job.hello(0), job.monitor.barrier(0, 1); }, "barrier 1 at a wrong moment");
  expect_broken([](monitored& job) { job.join_all(), job.monitor.barrier(0, 2); }, "barrier 2 at a wrong moment");
  expect_broken([](monitored& job) { job.join_all(), job.monitor.barrier(0, 1), job.monitor.barrier(0, 1); },
                "barrier 1 at");
  expect_broken([](monitored& job) { job.join_all(), job.monitor.peers_taken(0); }, "'peers taken'");
  expect_broken([](monitored& job) { job.join_all(), job.monitor.left(0, 0), job.monitor.left(0, 0); }, "'left'");
}

TEST(job_monitor, barrier_with_somebody_who_left) {
  monitored before(3);
  before.join_all();
  before.monitor.left(2, 0);
  before.monitor.barrier(0, 1);
  EXPECT_THAT(before.message(), HasSubstr("process 0 (pid 100) waits in a barrier, but process 2"));
  monitored after(3);
  after.join_all();
  after.monitor.barrier(0, 1);
  after.monitor.left(2, 0);
  EXPECT_THAT(after.message(), HasSubstr("process 0 (pid 100) waits in a barrier, but process 2"));
}

TEST(job_monitor, interrupts) {
  monitored job(1);
  job.join_all();
  job.monitor.interrupted(SIGINT, false);
  EXPECT_EQ(job.actions(),
            (words{"signal 2 except -1", "timer 1000", "trireme: got signal 2 (Interrupt); the job is ended"}));
  job.monitor.interrupted(SIGINT, false);
  EXPECT_EQ(job.actions(), words{"signal 9 except -1"});
  EXPECT_EQ(job.monitor.exit_status(), 130);

  monitored terminal(1);
  terminal.monitor.interrupted(SIGINT, true);  // the processes have it from the terminal
  EXPECT_EQ(terminal.actions(), (words{"timer 1000", "trireme: got signal 2 (Interrupt); the job is ended"}));
}

TEST(job_monitor, table_entries_of_emulated_hosts) {
  monitored job(5);
  for (int i = 0; i < 5; ++i) job.hello(i, 1, 2);
  EXPECT_EQ(job.monitor.entry_of(1).host, 0);
  EXPECT_EQ(job.monitor.entry_of(1).local_rank, 1);
  EXPECT_EQ(job.monitor.entry_of(4).host, 1);
  EXPECT_EQ(job.monitor.entry_of(4).local_rank, 2);
  EXPECT_EQ(job.monitor.entry_of(4).pid, 104);
}

TEST(job_monitor, processes_of_several_machines) {
  job_monitor monitor(boot::layout({0, 1, 3}), {"a", "b"});
  for (int i = 0; i < 3; ++i) {
    monitor.started(i, 100 + i);
    EXPECT_FALSE(monitor.hello(i, 100 + i, hello_of(i)));
  }
  EXPECT_EQ(monitor.entry_of(0).host, 0);
  EXPECT_EQ(monitor.entry_of(2).host, 1);
  EXPECT_EQ(monitor.entry_of(2).local_rank, 1);
  monitor.take_actions();
  monitor.machine_failed(1, "the cable is cut");
  std::string text;
  for (const auto& action : monitor.take_actions())
    if (const auto* print = std::get_if<job_monitor::print>(&action)) text += print->text;
  EXPECT_EQ(text, "trireme: host b: the cable is cut; the job is ended");
  EXPECT_FALSE(monitor.finished());
  monitor.exited(0, signal_of(SIGTERM));
  EXPECT_TRUE(monitor.finished());
  EXPECT_EQ(monitor.exit_status(), 1);
}

TEST(job_monitor, a_machine_that_fails_when_its_processes_have_ended_is_harmless) {
  job_monitor monitor(boot::layout({0, 1, 2}), {"a", "b"});
  for (int i = 0; i < 2; ++i) {
    monitor.started(i, 100 + i);
    monitor.hello(i, 100 + i, hello_of(i));
  }
  for (int i = 0; i < 2; ++i) monitor.peers_taken(i);
  for (int i = 0; i < 2; ++i) {
    monitor.left(i, 0);
    monitor.exited(i, exit_of(0));
  }
  monitor.machine_failed(1, "gone");
  EXPECT_FALSE(monitor.ending());
  EXPECT_EQ(monitor.exit_status(), 0);
}

TEST(job_monitor, a_process_that_is_stopped_for_too_long_ends_the_job) {
  monitored job(2);
  job.join_all();
  job.monitor.stopped_too_long(1, 30);
  EXPECT_EQ(job.message(),
            "trireme: process 1 (pid 101) has been stopped by a signal for 30 s (--peer-timeout); the job is ended");
}

// Whether a job can go on elsewhere (survival.hpp): a process is lost if no signal of the launcher has ended it.
TEST(job_monitor, losses_differ_from_ends_that_were_asked_for) {
  {  // another process has noticed it first
    monitored job(3);
    job.join_all();
    job.monitor.failed(1, "process 2 is gone");
    job.monitor.exited(2, signal_of(SIGKILL));
    EXPECT_TRUE(job.monitor.lost_process());
    job.monitor.exited(1, exit_of(1));
    job.monitor.exited(0, signal_of(SIGTERM));
    EXPECT_EQ(job.monitor.requested_status(), std::nullopt);
    EXPECT_EQ(job.monitor.exit_status(), 1);
  }
  {  // the launcher has killed it
    monitored job(2);
    job.join_all();
    job.monitor.failed(0, "wrong input");
    job.monitor.timer_expired();
    job.monitor.exited(0, exit_of(1));
    job.monitor.exited(1, signal_of(SIGKILL));
    EXPECT_FALSE(job.monitor.lost_process());
  }
  {
    monitored job(1);
    job.join_all();
    job.monitor.interrupted(SIGINT, true);
    job.monitor.exited(0, signal_of(SIGINT));
    EXPECT_EQ(job.monitor.requested_status(), 130);
  }
  {  // asked for while it ends after a loss
    monitored job(2);
    job.join_all();
    job.monitor.exited(1, signal_of(SIGKILL));
    job.monitor.interrupted(SIGTERM, false);
    job.monitor.interrupted(SIGINT, false);
    job.monitor.exited(0, signal_of(SIGTERM));
    EXPECT_EQ(job.monitor.exit_status(), 137);
    EXPECT_EQ(job.monitor.requested_status(), 143);
  }
  {
    monitored job(2);
    job.join_all();
    job.monitor.exited(1, signal_of(SIGKILL));
    job.monitor.out_of_time(3);
    job.monitor.exited(0, signal_of(SIGTERM));
    EXPECT_EQ(job.monitor.requested_status(), 124);
  }
  {
    monitored job(1);
    job.join_all();
    job.monitor.exited(0, exit_of(3));
    EXPECT_FALSE(job.monitor.lost_process());
  }
}

TEST(job_monitor, a_lost_machine_is_named) {
  job_monitor monitor(boot::layout::even(4, 2), {"a", "b"});
  for (int process = 0; process < 4; ++process) monitor.started(process, 100 + process);
  monitor.machine_failed(1, "no power");
  EXPECT_TRUE(monitor.lost_process());
  EXPECT_EQ(monitor.lost_machines(), std::vector<int>{1});
}

}  // namespace
}  // namespace tri::launch
