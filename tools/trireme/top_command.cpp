// `trireme top`: watches a running job from outside.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "command_line.hpp"
#include "subcommands.hpp"
#include "top/job_figures.hpp"
#include "top/job_finder.hpp"
#include "top/job_text.hpp"
#include "top/job_watch.hpp"
#include "top/screen.hpp"
#include "top/web_server.hpp"

namespace tri::tools {
namespace {

constexpr int not_there_status = 1;

constexpr const char* footer =
    "JOB is the pid of any process of the job, or of the one that started it (`trireme run`, mpirun). Without it the\n"
    "only job of yours on this host is shown; where there are several, they are listed.\n"
    "\n"
    "A job on several hosts (trireme run --hosts) is watched where its launcher runs, which asks the agents of the\n"
    "other hosts.\n"
    "\n"
    "Figures are read from the job's shared memory. Nothing is sent to it, nothing in it stops or slows down. Only "
    "the\n"
    "user who runs a job can watch it.\n"
    "\n"
    "How to read it: `busy` is time in methods, the main program and loops; `over` is the scheduler between them,\n"
    "estimated from samples; `idle` is the rest. A PE that is busy while the others are idle has too much of the "
    "work:\n"
    "`busiest` says how much more than the mean. Much overhead: methods are too short. Ranks of MPI jobs (trireme "
    "exec)\n"
    "are idle while they wait in MPI.\n"
    "\n"
    "Examples:\n"
    "  trireme run -n 4 ./app & trireme top           the only job\n"
    "  trireme top --list                             all of them\n"
    "  trireme top 12345 --once                       one table over the next second\n"
    "  trireme top 12345 --json --interval 5          a line of JSON every 5 s, until the job ends\n"
    "  trireme top 12345 --web                        a page for the browser; from elsewhere: ssh -L "
    "PORT:127.0.0.1:PORT\n";

struct request {
  pid_t job = 0;  // 0: the only one
  std::string kind;
  double interval_s = 1;
  bool once = false;
  bool as_json = false;
  bool lists = false;
  bool serves = false;
  std::uint16_t port = 0;  // 0: any
};

int list(const found_jobs& found, bool as_json) {
  for (const std::string& each : found.problems) fmt::print(stderr, "trireme top: {}\n", each);
  if (as_json)
    fmt::print("{}\n", list_as_json(found.jobs).dump(2));
  else if (!found.jobs.empty())
    fmt::print("{}", list_of(found.jobs));
  else
    fmt::print("no job of yours runs on this host\n");
  return 0;
}

// Null: the reason is printed.
std::unique_ptr<job_watch> only_job(const request& wanted) {
  found_jobs found = find_jobs(kind_named(wanted.kind));
  const std::vector<pid_t> launchers = find_launchers();
  const bool one_launcher = launchers.size() == 1 && std::all_of(found.jobs.begin(), found.jobs.end(), [&](auto& job) {
                              return is_started_by(job, launchers.front());
                            });
  if (one_launcher)
    if (std::unique_ptr<job_watch> watch = watch_launched(launchers.front(), wanted.kind)) return watch;
  if (found.jobs.size() == 1 && launchers.empty()) return std::make_unique<local_watch>(std::move(found.jobs.front()));
  for (const std::string& each : found.problems) fmt::print(stderr, "trireme top: {}\n", each);
  if (found.jobs.empty() && launchers.empty()) {
    fmt::print(stderr, "trireme top: no job of yours runs on this host{}\n",
               found.problems.empty() ? "" : " that can be watched");
    return nullptr;
  }
  if (!found.jobs.empty()) fmt::print(stderr, "{}", list_of(found.jobs));
  if (!launchers.empty()) fmt::print(stderr, "launchers of jobs on several hosts: {}\n", fmt::join(launchers, ", "));
  fmt::print(stderr, "trireme top: {} jobs run here: choose one, as in `trireme top {}`\n",
             launchers.empty() ? std::to_string(found.jobs.size()) : "several",
             found.jobs.empty() ? launchers.front() : found.jobs.front().number());
  return nullptr;
}

// Prints until the job ends, or once.
int print(job_watch& job, const request& wanted) {
  job.next();
  while (true) {
    std::this_thread::sleep_for(std::chrono::duration<double>(wanted.interval_s));
    const job_figures figures = job.next();
    const bool ended = job.has_ended();
    const bool nothing_is_left = ended && figures.rows.empty();  // of a job that is watched through its launcher
    if (wanted.as_json && !nothing_is_left)
      fmt::print("{}\n", to_json(figures).dump(wanted.once ? 2 : -1));
    else if (!nothing_is_left)
      fmt::print("{}", to_text(figures));
    std::fflush(stdout);
    if (std::ferror(stdout) != 0) return not_there_status;  // main reports it
    if (ended) fmt::print(stderr, "trireme top: job {} has ended\n", job.number());
    if (wanted.once || ended) return 0;
  }
}

int top(const request& wanted) {
  if (wanted.lists) return list(find_jobs(kind_named(wanted.kind)), wanted.as_json);
  std::unique_ptr<job_watch> job;
  if (wanted.job != 0) job = watch_launched(wanted.job, wanted.kind);
  if (job == nullptr)
    job =
        wanted.job == 0 ? only_job(wanted) : std::make_unique<local_watch>(job_of(wanted.job, kind_named(wanted.kind)));
  if (job == nullptr) return not_there_status;
  if (wanted.serves) {
    serve_page(*job, wanted.interval_s, wanted.port);
    fmt::print("job {} has ended\n", job->number());
    return 0;
  }
  if (wanted.once || wanted.as_json || isatty(STDOUT_FILENO) == 0) return print(*job, wanted);
  if (!has_screen()) {
    fmt::print(stderr,
               "trireme top: this command was built without ncurses (libncurses-dev), so the view does not refresh in "
               "place; --once and --json need none\n");
    return print(*job, wanted);
  }
  if (watch(*job, wanted.interval_s)) fmt::print("job {} has ended\n", job->number());
  return 0;
}

}  // namespace

int top_command(int argc, char** argv) {
  CLI::App app("Shows what each PE of a running job, or each rank of an MPI job under `trireme exec`, does now.",
               "trireme top");
  app.footer(footer);
  request wanted;
  app.add_option("job", wanted.job, "the pid of a process of the job")
      ->type_name("JOB")
      ->check(whole_number_between(1, 4'194'304));
  app.add_flag("--list", wanted.lists, "list the jobs of this user on this host");
  app.add_option("--kind", wanted.kind,
                 "objects or mpi: what to watch of a program that has both, and which jobs to list")
      ->type_name("KIND")
      ->check(CLI::IsMember({"objects", "mpi"}));
  app.add_flag("--once", wanted.once, "print one table, over one interval, and end");
  app.add_flag("--json", wanted.as_json, "print JSON: one object with --once or --list, otherwise one per line");
  CLI::Option* const web = app.add_option("--web", wanted.port,
                                          "serve a page with timelines and the matrix of messages to a browser of this "
                                          "host, on this port or (without PORT) on any; its address is printed")
                               ->type_name("[PORT]")
                               ->check(whole_number_between(0, 65535))
                               ->expected(0, 1);
  for (const char* const other : {"--list", "--once", "--json"}) web->excludes(app.get_option(other));
  app.add_option("--interval", wanted.interval_s, "seconds between two looks")
      ->type_name("S")
      ->check(number_between(0.05, 3600))
      ->capture_default_str();
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  wanted.serves = web->count() > 0;
  try {
    return top(wanted);
  } catch (const std::runtime_error& problem) {
    fmt::print(stderr, "trireme top: {}\n", problem.what());
    return not_there_status;
  }
}

}  // namespace tri::tools
