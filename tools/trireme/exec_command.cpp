// `trireme exec`: starts an unmodified program with our libraries in place of parts of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coll/cost_text.hpp"
#include "command_line.hpp"
#include "config/variable_names.hpp"
#include "exec/mpi_program.hpp"
#include "exec/preload.hpp"
#include "loops/loop_tuning.hpp"
#include "noise/virtual_thread_choice.hpp"
#include "omp/fibers/virtual_count.hpp"
#include "os/child_process.hpp"
#include "plan/cost_file.hpp"
#include "schedules/native_schedule.hpp"
#include "subcommands.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::tools {
namespace {

constexpr const char* omp_library = "libtrireme-omp.so";
constexpr const char* slack_library = "libtrireme-mpi-slack.so";
constexpr const char* virtual_library = "libtrireme-omp-virtual.so";
constexpr const char* schedule_variable = "TRIREME_OMP_SCHEDULE";
constexpr const char* report_variable = "TRIREME_OMP_REPORT";

constexpr const char* footer =
    "An MPI program needs no option: its messages inside the host are intercepted then, whether it uses Open MPI or "
    "MPICH, "
    "and\n"
    "everything else stays with its MPI library. TRIREME_MPI=off, or --no-mpi, leaves that alone.\n"
    "\n"
    "With --omp, loops of an OpenMP program with a dynamic, guided or runtime schedule (with clang also auto) get\n"
    "their iterations from the drop-in instead of the program's own OpenMP runtime, which does everything else as\n"
    "before. Programs of gcc, gfortran and clang can be used as they are. gcc compiles static loops, and loops\n"
    "without a schedule, into the program: to reach those, write schedule(runtime). Ordered loops stay with the\n"
    "runtime; --report lists them.\n"
    "\n"
    "Schedules (--schedule, else TRIREME_OMP_SCHEDULE, else OMP_SCHEDULE=tri:...):\n"
    "  automatic             half of each thread's block at once, then shrinking chunks, then stealing from\n"
    "                        neighbours; learns from each loop where the blocks must end\n"
    "  staggered,0.8         as automatic with a fixed static fraction, learns nothing\n"
    "  hybrid,0.8,chunk=4    static blocks of 80 %, the rest in chunks of 4 from one pool\n"
    "  dynamic,16 guided trapezoid factoring static ...   `native` leaves all loops to the OpenMP runtime\n"
    "  slack                 blocks and a pool; the pool is sized for the measured noise, reduced by the\n"
    "                        predicted wait in MPI\n"
    "A chunk that the program names is kept: claims are made of whole chunks.\n"
    "\n"
    "--virtual K reaches the static loops of gcc and gfortran too: the program sees K virtual threads for each\n"
    "thread, so that its own split makes K times as many chunks. A thread without work steals chunks of others.\n"
    "Programs that cannot have virtual threads (thread-local data, threads of their own, ...) run without; a line\n"
    "says why. They gain where loops are uneven or cores are disturbed, and may cost some percent where neither is\n"
    "so; --virtual auto first samples the noise of the cores for 0.1 s, and uses no virtual threads where there is\n"
    "little.\n"
    "\n"
    "Examples:\n"
    "  mpirun -n 8 trireme exec ./app input.dat                  an MPI program\n"
    "  mpirun -n 8 trireme exec python3 script.py                mpi4py\n"
    "  mpirun -n 8 trireme exec --stats ./app                    what each rank did, as a table at the end\n"
    "  trireme exec --omp ./app                                  every schedulable loop, automatic schedule\n"
    "  trireme exec --omp --report ./app input.dat               which loops were taken, which were left and why\n"
    "  trireme exec --omp --schedule staggered,0.8 ./app         a schedule of your own\n"
    "  trireme exec --omp --virtual 8 ./app                      8 virtual threads for each of the program's threads\n"
    "  mpirun -n 4 trireme exec --omp --schedule slack ./app     MPI and OpenMP: less is dynamic where a rank waits\n"
    "  OMP_NUM_THREADS=8 trireme exec --omp ./app                OpenMP's own variables work as always";

struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme exec [options] [--] program [arguments]\n";
  }
};

bool is_native(std::string_view schedule) {
  if (schedule.starts_with("tri:")) schedule.remove_prefix(4);
  return schedules::is_native_schedule(schedule);
}

// Checks the schedule here, so that a mistake is reported once and before anything runs. The OpenMP runtime would
// complain about OMP_SCHEDULE=tri:..., so that becomes our variable. True: the schedule uses the waits in MPI.
bool set_schedule(std::string text) {
  const std::string standard = value_of("OMP_SCHEDULE");
  const bool ours = standard.starts_with("tri:");
  std::string source = "--schedule";
  if (text.empty() && !value_of(schedule_variable).empty()) {
    text = value_of(schedule_variable);
    source = schedule_variable;
  } else if (text.empty() && ours) {
    text = standard;
    source = "OMP_SCHEDULE";
  }
  if (ours) unsetenv("OMP_SCHEDULE");
  if (text.empty()) return false;
  bool uses_slack = false;
  if (!is_native(text)) {
    try {
      const schedules::schedule parsed = schedules::parse_schedule(text);
      uses_slack =
          parsed.kind == schedules::schedule_kind::slack_conscious || parsed.kind == schedules::schedule_kind::combined;
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(
          fmt::format("{}: {}; `native` leaves all loops to the OpenMP runtime", source, problem.what()));
    }
  }
  setenv(schedule_variable, text.c_str(), 1);
  return uses_slack;
}

struct exec_options {
  bool mpi = true;
  bool asks_for_mpi = false;
  bool omp = false;
  bool report = false;
  std::string schedule;
  std::string tune_file;
  std::string collective_costs;  // the tune file, if it is about collectives
  bool asks_for_virtual = false;
  std::string virtual_threads;
  std::string sharing;
  std::string sharing_from;
  std::string progress;
  bool reproducible_sums = false;
  bool stats = false;
  std::string stats_json;
  std::string trace;

  bool any_of_mpi() const {
    return reproducible_sums || !collective_costs.empty() || stats || !stats_json.empty() || !trace.empty() ||
           !sharing.empty() || !sharing_from.empty() || !progress.empty();
  }
};

// The same for virtual threads.
void set_virtual(const exec_options& options) {
  const std::string source = options.asks_for_virtual ? "--virtual" : omp::virtual_variable;
  std::string text = options.asks_for_virtual ? options.virtual_threads : value_of(omp::virtual_variable);
  if (!options.asks_for_virtual && text.empty()) return;
  const std::string schedule = value_of(schedule_variable);
  const bool chooses = text == omp::virtual_automatic;
  if (!chooses) omp::parse_virtual_count(source, text);
  if (is_native(schedule)) throw omp::native_schedule_problem(source);
  if (chooses) {
    const virtual_thread_choice choice = sample_and_choose_virtual_threads();
    if (options.report) {
      fmt::print(stderr, "trireme exec: {} {}: {}; {}\n", source, text,
                 choice.per_thread == 0 ? "no virtual threads"
                                        : fmt::format("{} virtual threads for each thread", choice.per_thread),
                 choice.reason);
    }
    if (choice.per_thread == 0) {
      unsetenv(omp::virtual_variable);
      return;
    }
    text = std::to_string(choice.per_thread);
  }
  setenv(omp::virtual_variable, text.c_str(), 1);
}

std::string schedule_of(const std::string& tune_file) {
  const loops::tune_file found = loops::tune_file::read(tune_file, loops::machine_fingerprint());
  if (!found.omp) {
    throw std::invalid_argument(fmt::format(
        "tune file {}: it is for a program that uses trireme/loops.hpp (TRIREME_LOOPS_TUNE={}); `trireme tune --omp` "
        "makes one for OpenMP programs",
        tune_file, tune_file));
  }
  return found.schedule;
}

// True: the schedule uses the waits in MPI.
bool set_up_openmp(const exec_options& options) {
  std::string schedule = options.schedule;
  if (!options.tune_file.empty()) {
    if (!schedule.empty())
      throw std::invalid_argument("--schedule and --tune-file both name a schedule; one is enough");
    schedule = schedule_of(options.tune_file);
  }
  const bool uses_slack = set_schedule(schedule);
  set_virtual(options);
  if (uses_slack) preload(library_path(slack_library));
  preload(library_path(value_of(omp::virtual_variable).empty() ? omp_library : virtual_library));
  return uses_slack;
}

// Loops are intercepted with --omp only, so without it these options would be ignored.
void check_needs_omp(const CLI::App& app, const exec_options& options) {
  for (const std::string_view option : {"--schedule", "--tune-file", "--virtual", "--report"}) {
    const bool is_of_mpi = option == "--tune-file" && !options.collective_costs.empty();
    if (app.count(std::string(option)) > 0 && !is_of_mpi)
      throw std::invalid_argument(fmt::format(
          "{} is about the loops of an OpenMP program, and without --omp they stay with its own runtime; add "
          "--omp, or leave {} out",
          option, option));
  }
}

std::string costs_between_hosts(const std::string& tune_file) {
  const cost_file file = read_cost_file(tune_file);
  if (std::ranges::find(file.assumed, "latency_ns") != file.assumed.end())
    throw std::invalid_argument(fmt::format(
        "--tune-file: '{}' does not say what messages between hosts cost: '{}' had all its ranks on one host",
        tune_file, file.measured_by));
  return coll::text_of(file.costs);
}

[[noreturn]] void throw_nothing_to_replace(const std::string& program) {
  throw std::invalid_argument(
      fmt::format("nothing to replace: {} uses no MPI library that is known, and is not started by mpirun; --omp "
                  "replaces parts of an "
                  "OpenMP program. `trireme exec --help` shows the options",
                  program));
}

void add_options(CLI::App& app, exec_options& into) {
  app.add_flag("--mpi,!--no-mpi", into.mpi, "intercept the messages of an MPI program; the default if it is one");
  app.add_flag("--omp", into.omp, "intercept the loops of an OpenMP program");
  app.add_option("--schedule", into.schedule, "loop schedule; automatic by default");
  app.add_option(
         "--tune-file", into.tune_file,
         "the schedule that `trireme tune --omp` found, or the costs that `trireme tune --collectives` measured: "
         "then these decide which algorithms the collectives of an MPI program take between hosts")
      ->type_name("FILE");
  app.add_option("--virtual", into.virtual_threads,
                 "virtual threads per thread, which reach the static loops of gcc; useful from 4 to 16. auto: 8, or "
                 "none where no core loses much time to other work")
      ->type_name("K|auto");
  app.add_option(
         "--sharing", into.sharing,
         "which ranks a waiting rank helps with large copies: off (none), near (ranks of their NUMA domain), mixed "
         "(others too when no rank there is idle; the default), or throughput,N (others too while fewer "
         "than N ranks use the memory there; see `trireme info --saturation`)")
      ->type_name("POLICY");
  app.add_option("--sharing-from", into.sharing_from, "smallest message whose copy is shared, 32K by default")
      ->type_name("SIZE");
  app.add_option(
         "--progress", into.progress,
         "which threads make progress for ranks that compute: dynamic (ranks that wait; the default), thread (a "
         "thread of each rank), or reserved,N (such threads on the last N cores, which the ranks leave)")
      ->type_name("MODE");
  app.add_flag("--reproducible-sums", into.reproducible_sums,
               "MPI_Reduce and MPI_Allreduce with MPI_SUM of floats and doubles: the same bits for the same "
               "contributions, whichever rank has which");
  app.add_flag("--stats", into.stats,
               "at the end, print what each rank of an MPI program sent and copied, and how long it waited");
  app.add_option("--stats-json", into.stats_json, "the same as JSON into this file")->type_name("FILE");
  app.add_option("--trace", into.trace,
                 "write a trace of each rank into this folder: sends, waits, and who copied what for whom; `trireme "
                 "trace` reads it")
      ->type_name("FOLDER");
  app.add_flag("--report", into.report,
               "at the end, list which loops were intercepted and which passed through to the OpenMP runtime, and why");
}

// Sets the program's environment, so that the drop-ins are loaded into it, and reports obstacles. Returns the program's
// path.
std::string set_up(const exec_options& options, const std::string& name) {
  const bool mpi_is_on = check_mpi_switches();
  if (options.mpi && options.asks_for_mpi && !mpi_is_on)
    throw std::invalid_argument("--mpi was given, but TRIREME_MPI=off in the environment forbids it");
  // The layer that times MPI calls passes them on through the profiling interface (PMPI_), past the drop-in for
  // messages.
  const bool times_mpi = options.omp && set_up_openmp(options);
  if (times_mpi && options.mpi && options.asks_for_mpi)
    throw std::invalid_argument("--mpi and a schedule that uses slack cannot be combined yet");
  std::string program = os::find_program(name);
  const bool leaves_mpi = !options.mpi || times_mpi || !mpi_is_on;
  mpi_finding found = leaves_mpi ? mpi_finding() : find_mpi(program);
  // MPI and virtual threads exclude each other; that a launcher of MPI started it does not make it a program of MPI.
  if (!found.is_linked && !options.asks_for_mpi && options.omp && !value_of(omp::virtual_variable).empty()) found = {};
  if (!found.obstacle.empty())
    fmt::print(stderr, "trireme exec: {} runs with its MPI library as it is: {}\n", name, found.obstacle);
  const bool is_mpi = found.library != mpi_library::none;
  if (const std::string problem = launcher_of_the_other(found.library, name); !problem.empty())
    fmt::print(stderr, "trireme exec: {}\n", problem);
  if (!is_mpi && found.obstacle.empty() && !leaves_mpi && (!options.omp || options.asks_for_mpi))
    throw_nothing_to_replace(name);
  if (options.any_of_mpi() && !is_mpi) {
    throw std::invalid_argument(
        fmt::format("--stats, --trace, --sharing, --progress, --reproducible-sums and a tune file of collectives are "
                    "about messages "
                    "of an MPI program; {}",
                    leaves_mpi ? "here they are left to the MPI library" : name + " is none that is known"));
  }
  if (!options.collective_costs.empty())
    setenv("TRIREME_MPI_COLLECTIVE_COSTS", costs_between_hosts(options.collective_costs).c_str(), 1);
  if (options.reproducible_sums) setenv("TRIREME_MPI_REPRODUCIBLE_SUMS", "on", 1);
  if (options.stats) setenv("TRIREME_MPI_STATISTICS", "on", 1);
  if (!options.trace.empty()) setenv("TRIREME_MPI_TRACE", options.trace.c_str(), 1);
  if (!options.stats_json.empty()) setenv("TRIREME_MPI_STATISTICS_FILE", options.stats_json.c_str(), 1);
  if (is_mpi) {
    if (options.asks_for_mpi) setenv("TRIREME_MPI", "on", 1);
    if (const std::string file = value_of("TRIREME_MPI_STATISTICS_FILE"); !file.empty()) check_statistics_file(file);
    set_sharing(options.sharing, options.sharing_from);
    set_progress(options.progress);
    set_up_mpi(found);
  }
  // The process keeps its number: the program's own report is always printed, those of its children when they have
  // something to say.
  if (options.report) setenv(report_variable, std::to_string(getpid()).c_str(), 1);
  return program;
}

// Returns only when the program cannot be started.
void start(const std::string& program, std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(program.c_str(), arguments.data());  // runs scripts without an interpreter line by the shell
  fmt::print(stderr, "trireme exec: cannot start {}: {}\n", command[0], std::strerror(errno));
}

}  // namespace

int exec_command(int argc, char** argv) {
  CLI::App app("Runs an unmodified program with parts of its MPI library or OpenMP runtime replaced.", "trireme exec");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program
  exec_options options;
  add_options(app, options);
  try {
    std::vector<std::string> command;
    if (const std::optional<int> done = parse_program_options(app, argc, argv, command)) return *done;
    options.asks_for_mpi = app.count("--mpi") > 0;
    const std::vector<std::string>& switches = app.get_option("--mpi")->results();
    if (!switches.empty() && std::ranges::adjacent_find(switches, std::ranges::not_equal_to()) != switches.end())
      throw std::invalid_argument("--mpi and --no-mpi exclude each other");
    options.asks_for_virtual = app.count("--virtual") > 0;
    if (!options.tune_file.empty() && access(options.tune_file.c_str(), R_OK) != 0)
      throw std::invalid_argument(fmt::format("--tune-file: '{}' cannot be read: {}; `trireme tune` writes it",
                                              options.tune_file, std::strerror(errno)));
    if (is_cost_file(options.tune_file)) options.collective_costs = std::exchange(options.tune_file, {});
    // The program would not notice a misspelt one.
    config::check_variable_names(config::environment_of_this_process());
    if (!options.omp) check_needs_omp(app, options);
    start(set_up(options, command[0]), command);
    return cannot_start_status;
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme exec: {}\n", problem.what());
    return usage_status;
  } catch (const std::runtime_error& problem) {
    fmt::print(stderr, "trireme exec: {}\n", problem.what());
    return cannot_start_status;
  }
}

}  // namespace tri::tools
