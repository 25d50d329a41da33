// `trireme run`: starts the processes of a job through launch/launcher.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "config/configuration.hpp"
#include "config/option_value.hpp"
#include "exec/program_symbols.hpp"
#include "host_list.hpp"
#include "launch/launcher.hpp"
#include "launch/survivor.hpp"
#include "os/child_process.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr const char* footer =
    "The program is the first word that is not an option; everything after it goes to the program. All --tri-<name> "
    "options of\n"
    "`trireme info --config` may stand before it as well; the processes get them as TRIREME_<NAME>. The first process "
    "reads\n"
    "standard input.\n"
    "\n"
    "When a process crashes, calls tri::fail, or ends without leaving the job, all others are ended and the exit\n"
    "status tells why: 128 + the signal, or the status of the process. Ctrl-C ends the job; a process that ignores\n"
    "it is killed after a second.\n"
    "\n"
    "On several hosts (--hosts a,b) the processes are spread over them in equal blocks. A remote shell, ssh without\n"
    "password, starts `trireme agent` there, which must be installed at the same path; the program and the working "
    "folder\n"
    "must be there, too. TRIREME_*, UCX_*, OMP_*, GOMP_*, PATH and LD_LIBRARY_PATH are passed on; standard input is\n"
    "not read.\n"
    "\n"
    "Examples:\n"
    "  trireme run ./app                               one process, all cores\n"
    "  trireme run -n 2 --pes 2 ./app input.dat        two processes with two PEs each\n"
    "  trireme run -n 2 --affinity 0,2 ./app           PE 0 on CPU 0, PE 1 on CPU 2\n"
    "  trireme run -n 2 --label --timeout 60 ./app     numbered lines of output; ended after a minute\n"
    "  trireme run -n 4 --pes 8 --hosts a,b ./app      two processes on host a and two on host b\n"
    "  trireme run -n 2 --tri-idle=sleep -- ./app -n 7 the second -n is the program's";

// Never prompts (there is no terminal), and times out on a silent host after ten seconds.
constexpr const char* usual_shell = "ssh -x -T -o BatchMode=yes -o ConnectTimeout=10";

using variables = std::vector<std::pair<std::string, std::string>>;

// CLI11 would not mention the program, which it does not know.
struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme run [options] [--] program [arguments]\n";
  }
};

struct job_option {
  CLI::Option* option;
  const config::option_description* row;
};

// The --tri-* options of the table, with dashes or underscores. Not in the help: `trireme info --config` shows them.
std::vector<job_option> add_job_options(CLI::App& app) {
  std::vector<job_option> options;
  for (const config::option_description& row : config::option_table()) {
    std::string spellings = row.option();
    if (row.name.find('_') != std::string::npos) spellings += ",--tri-" + row.name;
    CLI::Option* const option = row.kind == "switch" ? app.add_flag(spellings) : app.add_option(spellings);
    option->group("");
    options.push_back({option, &row});
  }
  return options;
}

// A switch takes the next word if that is on, off, true, ..., as programs read it themselves: `--tri-counters on`
// becomes
// `--tri-counters=on`. What follows "--" is left alone.
std::vector<std::string> with_values_of_switches(int argc, char** argv) {
  const auto is_switch = [](const std::string& word) {
    return std::ranges::any_of(config::option_table(), [&](const config::option_description& row) {
      return row.kind == "switch" && (word == row.option() || word == "--tri-" + row.name);
    });
  };
  std::vector<std::string> words;
  bool left_alone = false;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    left_alone |= word == "--";
    if (!left_alone && i + 1 < argc && is_switch(word) && config::is_bool_word(argv[i + 1]))
      word += fmt::format("={}", argv[++i]);
    words.push_back(std::move(word));
  }
  return words;
}

// Checks the values of the options that were given, here and once, and turns them into variables for the processes.
variables checked(const std::vector<job_option>& options) {
  variables given;
  config::configuration values;
  for (const job_option& each : options) {
    if (each.option->count() == 0) continue;
    const std::string text = each.option->results().back();
    values.set(each.row->name, text, config::value_origin::command_line);
    given.emplace_back(each.row->environment_variable(), text);
  }
  return given;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// A number means emulated hosts, which the processes make among themselves; anything else is a list of names.
void choose_hosts(const std::string& hosts, const std::string& shell, bool processes_given,
                  launch::launch_options& launch) {
  if (hosts.empty()) return;
  if (hosts.find_first_not_of("0123456789") == std::string::npos) {
    config::configuration values;
    try {
      values.set("hosts", hosts, config::value_origin::command_line);
    } catch (const config::configuration_error&) {
      throw config::configuration_error(
          fmt::format("--hosts '{}': 1 to 1024 emulated hosts, or names such as a,b", hosts));
    }
    launch.environment.emplace_back("TRIREME_HOSTS", hosts);
    if (!processes_given) launch.processes = std::stoi(hosts);
    return;
  }
  launch.hosts = parse_host_list(hosts);
  if (!processes_given) launch.processes = static_cast<int>(launch.hosts.size());
  if (launch.hosts.size() > static_cast<std::size_t>(launch.processes)) {
    throw config::configuration_error(
        fmt::format("--hosts names {} hosts, but there {} only {} process{}; each host needs one", launch.hosts.size(),
                    launch.processes == 1 ? "is" : "are", launch.processes, launch.processes == 1 ? "" : "es"));
  }
  std::erase_if(launch.remote_shell = split(shell, ' '), [](const std::string& word) { return word.empty(); });
  if (launch.remote_shell.empty()) throw config::configuration_error("--rsh is empty; leave it out for ssh");
  launch.agent = std::filesystem::read_symlink("/proc/self/exe").string();
}

// Its MPI library knows the launchers of MPI only.
void warn_of_mpi_program(const launch::launch_options& launch) {
  if (launch.processes == 1) return;
  if (!wants_any(os::find_program(launch.command[0]), {"MPI_Init", "MPI_Init_thread", "mpi_init_", "mpi_init_thread_"}))
    return;
  fmt::print(
      stderr,
      "trireme run: {0} is an MPI program: each of its {1} processes will be an MPI job of its own, of one rank; "
      "start it by `mpirun -n {1} trireme exec {0}`\n",
      launch.command[0], launch.processes);
}

}  // namespace

int run_command(int argc, char** argv) {
  CLI::App app(
      "Starts a program as one or several processes that form a job, and ends them all when one of them fails.",
      "trireme run");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program

  launch::launch_options launch;
  app.add_option("-n,--processes,--np", launch.processes, "number of processes, 1 by default")
      ->type_name("N")
      ->check([](const std::string& text) { return text == "p" ? "-np is -n or --np here" : ""; })
      ->check(whole_number_between(1, launch::most_launched_processes));
  app.add_flag("--label", launch.label, "start each line of output with the number of its process");
  app.add_option("--timeout", launch.timeout_s, "end the job after this many seconds, with status 124")
      ->type_name("SECONDS")
      ->check(number_above_zero());
  std::vector<job_option> job_options = add_job_options(app);
  const auto short_form = [&](const std::string& option, const std::string& help) {
    for (const config::option_description& row : config::option_table())
      if ("--" + row.name == option)
        job_options.push_back({app.add_option(option, help)->type_name(row.unit.empty() ? "TEXT" : "NUMBER"), &row});
  };
  short_form("--pes", "PEs (scheduler threads) of each process; by default the cores, divided by the processes");
  short_form("--affinity", "CPU of each PE: auto, none, or a list such as 0,2-5:2");
  std::string hosts;
  app.add_option("--hosts", hosts,
                 "hosts for the processes, such as a,b; a number: emulate this many on this one, without shared memory")
      ->type_name("LIST");
  std::string shell = std::getenv("TRIREME_RSH") != nullptr ? std::getenv("TRIREME_RSH") : usual_shell;
  app.add_option("--rsh", shell, "program with options that starts a command on a host, as ssh does; also TRIREME_RSH")
      ->type_name("COMMAND");
  app.add_option(
         "--peer-timeout", launch.peer_timeout_s,
         "end the job when a host is not heard of, or a process is stopped, for this long; 30 by default, 0 = never")
      ->type_name("SECONDS")
      ->check(number_between(0, 86400));

  bool survives = false;
  launch::survival_options survival;
  app.add_flag("--survive", survives,
               "when a process is lost, start the job again from its last checkpoint, in memory or on disk");
  app.add_option("--survive-folder", survival.folder,
                 "with --survive, where checkpoints in memory go instead: a folder that all hosts see")
      ->type_name("PATH");
  std::string after_loss = "same";
  app.add_option("--survive-with", after_loss,
                 "with --survive, how many processes go on after a loss: the same number, or fewer, without those that "
                 "were lost")
      ->type_name("same|fewer")
      ->check(CLI::IsMember({"same", "fewer"}));
  app.add_option(
         "--resize-file", survival.resize_file,
         "with --survive: at SIGUSR1 the job gets as many processes as the first line of this file says, at its "
         "next checkpoint")
      ->type_name("PATH");

  std::vector<std::string> words = with_values_of_switches(argc, argv);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  try {
    if (const auto done = parse_program_options(app, static_cast<int>(words.size()), pointers.data(), launch.command))
      return *done;
    launch.environment = checked(job_options);
    if (app.count("--peer-timeout") > 0)  // on the wire, too
      launch.environment.emplace_back("TRIREME_PEER_TIMEOUT_S", fmt::format("{}", launch.peer_timeout_s));
    choose_hosts(hosts, shell, app.count("--processes") > 0, launch);
    warn_of_mpi_program(launch);
    for (const char* const option : {"--survive-folder", "--survive-with", "--resize-file"})
      if (app.count(option) > 0 && !survives)
        throw config::configuration_error(fmt::format("{} is for jobs that --survive", option));
    if (!survival.resize_file.empty() && survival.folder.empty() && !launch.hosts.empty())
      throw config::configuration_error(
          "--resize-file on several hosts needs --survive-folder with a path that all of them see");
    if (after_loss == "fewer") survival.after_loss = launch::survival::after_loss::fewer;
    return survives ? launch::launch_surviving(launch, survival) : launch::launch(launch);
  } catch (const config::configuration_error& problem) {
    fmt::print(stderr, "trireme run: {}\n", problem.what());
    return usage_status;
  } catch (const os::start_error& problem) {
    fmt::print(stderr, "trireme run: {}\n", problem.what());
    return cannot_start_status;
  }
}

}  // namespace tri::tools
