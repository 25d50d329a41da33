// A job that is watched: its processes on this host, read from their memory, or through its launcher those of all
// hosts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "launch/host_link.hpp"
#include "top/job_figures.hpp"
#include "top/job_finder.hpp"

namespace tri::tools {

class job_watch {
 public:
  virtual ~job_watch() = default;
  /// What it did since the last call; the first time nothing. May throw std::runtime_error with a text for the user.
  virtual job_figures next() = 0;
  /// Whether the figures of the last call of next() were the last ones, and show the end.
  virtual bool has_ended() const = 0;
  virtual pid_t number() const = 0;
};

class local_watch final : public job_watch {
 public:
  explicit local_watch(live_job job) : job_(std::move(job)) {}
  job_figures next() override;
  bool has_ended() const override { return ended_; }
  pid_t number() const override { return job_.number(); }

 private:
  live_job job_;
  std::optional<job_reading> before_;
  bool ended_ = false;
};

class launched_watch final : public job_watch {
 public:
  /// `kind`: "objects", "mpi", or empty.
  launched_watch(pid_t launcher, launch::host_link link, std::string kind);
  job_figures next() override;
  bool has_ended() const override { return ended_; }
  pid_t number() const override { return launcher_; }

 private:
  struct round;
  bool take(round& of);
  void wait(std::int64_t until_ns);

  pid_t launcher_;
  launch::host_link link_;
  std::string kind_;
  std::int64_t questions_ = 0;
  std::optional<job_facts> known_;  // of the last answers with figures
  bool ended_ = false;
};

/// Launchers of jobs on several hosts, of this user and in this network namespace.
std::vector<pid_t> find_launchers();
/// The launcher of a job on several hosts that is this process or has started it; null: there is none.
std::unique_ptr<job_watch> watch_launched(pid_t process, const std::string& kind);

}  // namespace tri::tools
