// What a job did between two readings of its live pages: figures per PE or rank and per process, and who sent to whom.
// A reading takes no lock and stops nothing: its figures are from almost, but not quite, the same moment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "top/job_finder.hpp"

namespace tri::tools {

/// All figures of a row by their names; `ticks` of the reader's clock. What a row did per second goes by these ticks: a
/// reader that loses its core between two rows reads the second one later.
struct row_reading {
  std::map<std::string, std::uint64_t> values;
  std::uint64_t ticks = 0;
  std::uint64_t idle_word = 0;
  std::uint64_t tickets = 0;
  std::uint64_t consumed = 0;
  std::map<std::int32_t, std::uint64_t> senders;  // of the messages that came since the reading before
};

struct process_reading {
  std::int64_t ns = 0;     // when it was read; 0: this process was not known then
  bool has_ended = false;  // before its rows were read: so they are its last ones
  std::uint64_t arena_bytes = 0;
  std::uint64_t resident_bytes = 0;
  double cpu_s = 0;
};

class job_reading {
 public:
  /// `before`: an earlier reading of the same job, or null; it says which messages are new.
  static job_reading take(const live_job& job, const job_reading* before);
  /// The process at this place of the job was found afterwards: a reading without figures of it.
  void add_unknown(std::size_t place);

  std::int64_t ns = 0;                         // of the monotonic clock
  std::vector<std::vector<row_reading>> rows;  // by process, then by row
  std::vector<process_reading> processes;
};

struct row_figures {
  std::int32_t number = 0;
  int process = 0;  // in the job
  bool is_idle = false;
  // parts of the time between the readings
  double busy = 0;
  double idle = 0;
  double overhead = 0;  // 0 where it is not measured (ranks of MPI)
  // per second
  double sent = 0;
  double received = 0;
  double bytes = 0;
  double steals = 0;
  double migrations = 0;
  std::uint64_t queue = 0;                      // messages that wait
  double busy_since_start = 0;                  // part of all time
  std::map<std::string, std::uint64_t> totals;  // everything that is counted, since the start
};

struct process_figures {
  int process = 0;  // in the job
  pid_t pid = 0;    // 0: not known
  int host = 0;
  std::uint64_t arena_bytes = 0;
  std::uint64_t arena_limit_bytes = 0;
  std::uint64_t resident_bytes = 0;
  double cpus = 0;  // processor time per second
  bool has_ended = false;
  bool is_lost = false;  // with its host
};

/// What the job is.
struct job_facts {
  pid_t number = 0;
  live::job_kind kind = live::job_kind::objects;
  std::string program;
  int processes = 0;
  int hosts = 0;
  int rows = 0;
  double age_s = 0;
};

/// A host of a job that is watched through its launcher.
struct host_figures {
  std::string name;
  bool is_lost = false;  // its launcher has lost it, and ends the job
  bool answers = false;
  double silent_s = 0;  // since its agent was heard of
  int first_process = 0;
  int processes = 0;
};

struct job_figures {
  job_facts facts;
  double seconds = 0;  // between the readings
  std::vector<row_figures> rows;
  std::vector<process_figures> processes;                            // those that are known of
  std::vector<host_figures> hosts;                                   // through the launcher; otherwise empty
  std::map<std::pair<std::int32_t, std::int32_t>, double> messages;  // per second, from and to
  int ended_processes = 0;                                           // of `processes`

  /// Largest part of the time that a row was busy over the mean; 1 when all did the same.
  double imbalance() const;
};
job_facts facts_of(const live_job& job);
job_figures figures_between(const live_job& job, const job_reading& before, const job_reading& after);
/// After the figures of several hosts were added up: in the order of their numbers, and what only all of them show.
void finish_added(job_figures& all);

/// Whether every process of it that was found has ended by now, whatever an earlier reading shows.
bool has_ended(const live_job& job);

}  // namespace tri::tools
