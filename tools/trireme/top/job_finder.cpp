#include "top/job_finder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "os/clock.hpp"
#include "os/process_tree.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

// Of a job whose processes begin: launchers of many start them within seconds.
constexpr double young_s = 60;

std::string name_of(uid_t user) {
  const passwd* const known = getpwuid(user);
  return known != nullptr ? known->pw_name : std::to_string(user);
}

bool descends_from(pid_t process, pid_t ancestor) {
  for (pid_t at = process; at > 1; at = os::parent_of(at))
    if (at == ancestor) return true;
  return false;
}

bool by_number(const std::unique_ptr<live_process>& one, const std::unique_ptr<live_process>& other) {
  return one->page().process < other->page().process;
}

std::string texts_of(const std::vector<live_job>& jobs) {
  std::vector<std::string> names;
  for (const live_job& each : jobs) names.push_back(fmt::format("{} ({})", each.number(), each.program()));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

int live_job::rows() const {
  std::size_t count = 0;
  for (const auto& each : processes) count += each->rows().size();
  return static_cast<int>(count);
}

double live_job::age_s() const {
  // The clocks of two cores may differ a little.
  const auto ticks = static_cast<std::int64_t>(os::ticks() - page().began_ticks);
  return std::max(0.0, static_cast<double>(ticks) * page().ns_per_tick * 1e-9);
}

found_jobs find_jobs(std::optional<live::job_kind> kind) {
  found_jobs found;
  std::map<std::pair<std::uint64_t, live::job_kind>, live_job> by_name;
  std::error_code problem;
  for (fs::directory_iterator at("/proc", problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    try {
      for (std::unique_ptr<live_process>& process : live_process::open(pid)) {
        const live::page& page = process->page();
        if (!kind || page.kind == *kind) by_name[{page.job, page.kind}].processes.push_back(std::move(process));
      }
    } catch (const unreadable_process& why) {
      found.problems.emplace_back(why.what());
    }
  }
  for (auto& [name, job] : by_name) {
    std::sort(job.processes.begin(), job.processes.end(), by_number);
    found.jobs.push_back(std::move(job));
  }
  std::sort(found.jobs.begin(), found.jobs.end(),
            [](const live_job& one, const live_job& other) { return one.number() < other.number(); });
  return found;
}

bool is_started_by(const live_job& job, pid_t process) {
  return std::any_of(job.processes.begin(), job.processes.end(),
                     [&](const auto& each) { return descends_from(each->pid(), process); });
}

const char* name_of(live::job_kind kind) { return kind == live::job_kind::mpi ? "mpi" : "objects"; }

std::optional<live::job_kind> kind_named(std::string_view name) {
  if (name.empty()) return std::nullopt;
  return name == name_of(live::job_kind::mpi) ? live::job_kind::mpi : live::job_kind::objects;
}

live_job job_of(pid_t pid, std::optional<live::job_kind> kind) {
  struct stat facts {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &facts) != 0)
    throw std::runtime_error(fmt::format("there is no process {}; `trireme top --list` lists the jobs", pid));
  if (facts.st_uid != geteuid())
    throw std::runtime_error(fmt::format("process {} belongs to {}, and only {} may watch its jobs", pid,
                                         name_of(facts.st_uid), name_of(facts.st_uid)));
  found_jobs found = find_jobs(kind);
  std::vector<live_job> fitting;
  for (live_job& each : found.jobs)
    if (is_started_by(each, pid)) fitting.push_back(std::move(each));
  if (fitting.size() == 1) return std::move(fitting.front());
  if (fitting.size() == 2 && fitting[0].number() == fitting[1].number())
    throw std::runtime_error(fmt::format(
        "process {} has objects and is a rank of MPI; choose what to watch by --kind objects or --kind mpi", pid));
  if (fitting.size() > 1)
    throw std::runtime_error(
        fmt::format("process {} has started several jobs: {}; choose one of them", pid, texts_of(fitting)));
  const std::string start = fmt::format("process {} ", pid);
  for (const std::string& each : found.problems)
    if (each.starts_with(start) || each.starts_with(fmt::format("process {}:", pid))) throw std::runtime_error(each);
  throw std::runtime_error(
      fmt::format("process {} is not part of a job that can be watched; `trireme top --list` lists the jobs", pid));
}

std::vector<std::size_t> find_more(live_job& job) {
  std::vector<std::size_t> places;
  const live::page& page = job.page();
  if (static_cast<int>(job.processes.size()) >= page.processes || job.age_s() > young_s) return places;
  for (live_job& other : find_jobs(page.kind).jobs) {
    if (other.page().job != page.job) continue;
    for (std::unique_ptr<live_process>& each : other.processes) {
      const auto at = std::lower_bound(job.processes.begin(), job.processes.end(), each, by_number);
      if (at != job.processes.end() && (*at)->page().process == each->page().process) continue;
      places.push_back(static_cast<std::size_t>(at - job.processes.begin()));
      job.processes.insert(at, std::move(each));
    }
  }
  return places;
}

}  // namespace tri::tools
