// `trireme omp-rewrite`: makes static OpenMP loops of source files schedulable when the program starts.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "omp_rewrite/loop_rewrite.hpp"
#include "omp_rewrite/source_backup.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* footer =
    "Compilers turn OpenMP loops with schedule(static), or without a schedule, into arithmetic that no library can "
    "reach\n"
    "later. With schedule(runtime) the schedule is chosen when the program starts: by OMP_SCHEDULE, or by\n"
    "`trireme exec --omp`. C, C++ and Fortran (free and fixed form, by the name of the file; a folder stands for all\n"
    "sources below it).\n"
    "\n"
    "Without -i or --output nothing is written: you see the changes as a diff, and on standard error, for each file, "
    "how\n"
    "many loops change and why others do not. Not changed:\n"
    "  - ordered loops and scans\n"
    "  - loops of a device or with dist_schedule\n"
    "  - non-rectangular collapsed loops\n"
    "  - nowait loops, and loops of one region that share private data of a thread: they may rely on the same thread\n"
    "    having the same iterations\n"
    "  - static schedules with a chunk\n"
    "  - what cannot be read with certainty, such as a schedule that comes from a macro of another file\n"
    "\n"
    "gcc's runtime uses schedule(runtime) as dynamic,1 unless told otherwise: OMP_SCHEDULE=static is what you had "
    "before.\n"
    "\n"
    "Examples:\n"
    "  trireme omp-rewrite heat.c                       show what would change\n"
    "  trireme omp-rewrite -i src/                      change all sources below src; each original is kept beside it\n"
    "  trireme omp-rewrite --undo src/                  bring the originals back, unless a file was edited since\n"
    "  trireme omp-rewrite --output new heat.c lu.f     write new/heat.c and new/lu.f instead\n"
    "  trireme omp-rewrite --chunked --nowait heat.c    also schedule(static,n) and nowait loops\n"
    "  trireme omp-rewrite heat.c | patch -p1           the same as -i, by way of the diff\n"
    "  trireme omp-rewrite -i heat.c && gcc -fopenmp -O2 heat.c -o heat && trireme exec --omp ./heat";

struct request {
  std::vector<std::string> files;
  bool in_place = false;
  bool undo = false;
  std::string output;
  std::string language;
  std::string colour = "auto";
  bool quiet = false;
  rewrite_options rewrite;
};

struct source_file {
  fs::path path;
  source_form form = source_form::c;
};

bool is_backup(const fs::path& file) { return file.extension() == ".before-omp-rewrite"; }

// The files below a folder that are sources by their name, in the order of their names.
std::vector<source_file> sources_below(const fs::path& folder, const std::optional<source_form>& language) {
  std::vector<source_file> found;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    if (!entry.is_regular_file() || is_backup(entry.path())) continue;
    if (const std::optional<source_form> form = form_of(entry.path()))
      found.push_back({entry.path(), language.value_or(*form)});
  }
  std::sort(found.begin(), found.end(), [](const source_file& a, const source_file& b) { return a.path < b.path; });
  return found;
}

std::vector<source_file> sources_of(const request& wanted) {
  std::optional<source_form> language;
  if (!wanted.language.empty()) language = parse_form(wanted.language);
  std::vector<source_file> sources;
  for (const std::string& name : wanted.files) {
    const fs::path path(name);
    if (fs::is_directory(path)) {
      const std::vector<source_file> below = sources_below(path, language);
      if (below.empty()) throw source_file_error(fmt::format("{}: no C, C++ or Fortran source is below it", name));
      sources.insert(sources.end(), below.begin(), below.end());
      continue;
    }
    const std::optional<source_form> form = language.has_value() ? language : form_of(path);
    if (!form.has_value() && !wanted.undo) {
      throw source_file_error(fmt::format(
          "{}: the name does not give the language; --language says it (c, c++, fortran or free, fixed)", name));
    }
    sources.push_back({path, form.value_or(source_form::c)});
  }
  return sources;
}

// Below the output folder as it is here; a file that is not below the current folder, by its name alone.
fs::path place_below(const fs::path& folder, const fs::path& file) {
  const fs::path normal = file.lexically_normal();
  const bool inside = normal.is_relative() && !normal.empty() && *normal.begin() != "..";
  return folder / (inside ? normal : normal.filename());
}

std::string with_plural(std::size_t count) { return fmt::format("{} loop{}", count, count == 1 ? "" : "s"); }

void print_summary(const request& wanted, const fs::path& path, const std::string& source,
                   const rewritten_source& result) {
  if (wanted.quiet) return;
  std::fflush(stdout);  // the diff of the file comes before
  const std::size_t reachable = result.count(loop_outcome::reachable);
  std::string text =
      fmt::format("{}: {} of {}", path.string(), result.count(loop_outcome::changed), with_plural(result.loops.size()));
  if (reachable > 0) text += fmt::format("; {} can be reached already", reachable);
  // The lines that a user would have to change by hand (K93).
  if (const std::size_t lines = lines_changed_by(source, result.edits); lines > 0) {
    const auto all = static_cast<std::size_t>(std::count(source.begin(), source.end(), '\n'));
    text += fmt::format("; {} of {} lines, {:.1f} %", lines, std::max(all, lines),
                        100.0 * static_cast<double>(lines) / static_cast<double>(std::max(all, lines)));
  }
  text += '\n';
  for (const loop_verdict& each : result.loops)
    if (each.outcome == loop_outcome::left)
      text += fmt::format("{}:{}: left: {}\n", path.string(), each.line, each.reason);
  for (const loop_verdict& each : result.doubts)
    text += fmt::format("{}:{}: note: {}\n", path.string(), each.line, each.reason);
  fmt::print(stderr, "{}", text);
}

int undo(const request& wanted) {
  std::vector<fs::path> files;
  for (const source_file& each : sources_of(wanted)) {
    // Of a folder, those that have something to undo.
    const bool named = std::find(wanted.files.begin(), wanted.files.end(), each.path) != wanted.files.end();
    if (named || fs::exists(backup_of(each.path))) files.push_back(each.path);
  }
  int status = 0;
  for (const fs::path& file : files) {
    try {
      restore_source(file);
      if (!wanted.quiet) fmt::print(stderr, "{}: as it was before\n", file.string());
    } catch (const source_file_error& problem) {
      fmt::print(stderr, "trireme omp-rewrite: {}\n", problem.what());
      status = usage_status;
    }
  }
  if (files.empty() && !wanted.quiet) fmt::print(stderr, "nothing was rewritten there\n");
  return status;
}

int rewrite(const request& wanted) {
  const std::vector<source_file> sources = sources_of(wanted);
  std::map<fs::path, fs::path> written;  // by where it goes
  if (!wanted.output.empty()) {
    for (const source_file& each : sources) {
      const auto [other, is_new] = written.emplace(place_below(wanted.output, each.path), each.path);
      if (!is_new && other->second != each.path) {
        throw source_file_error(fmt::format("{} and {} would both become {}; run it from a folder above both",
                                            other->second.string(), each.path.string(), other->first.string()));
      }
    }
  }
  const bool colour = wants_colour(wanted.colour, STDOUT_FILENO);
  std::size_t changed = 0;
  int status = 0;
  for (const source_file& each : sources) {
    try {
      const std::string source = read_source(each.path);
      const rewritten_source result = rewrite_loops(source, each.form, wanted.rewrite);
      const std::string text = apply_edits(source, result.edits);
      if (wanted.in_place && text != source) replace_source(each.path, source, text);
      if (!wanted.output.empty()) write_copy(place_below(wanted.output, each.path), text, each.path);
      if (!wanted.in_place && wanted.output.empty())
        fmt::print("{}", unified_diff(source, result.edits, each.path.relative_path().string(), colour));
      changed += result.count(loop_outcome::changed);
      const bool of_interest = !result.loops.empty() || !result.doubts.empty();
      if (of_interest || sources.size() == wanted.files.size()) print_summary(wanted, each.path, source, result);
    } catch (const source_file_error& problem) {
      fmt::print(stderr, "trireme omp-rewrite: {}\n", problem.what());
      status = usage_status;
    }
  }
  if (changed > 0 && !wanted.quiet) {
    fmt::print(stderr,
               "{} schedule(runtime): OMP_SCHEDULE=static runs {} as before, `trireme exec --omp` with our schedules\n",
               changed == 1 ? "1 loop with" : fmt::format("{} loops with", changed), changed == 1 ? "it" : "them");
  }
  return status;
}

}  // namespace

int omp_rewrite_command(int argc, char** argv) {
  CLI::App app(
      "Gives static OpenMP loops of source files schedule(runtime), so that their schedule can be chosen when "
      "the program starts.",
      "trireme omp-rewrite");
  app.footer(footer);
  request wanted;
  app.add_option("files", wanted.files, "sources, or folders of sources")->required();
  CLI::Option* const in_place =
      app.add_flag("-i,--in-place", wanted.in_place, "change the files; the originals are kept for --undo");
  CLI::Option* const undoing = app.add_flag("--undo", wanted.undo, "give the files their original text back");
  CLI::Option* const output =
      app.add_option("--output", wanted.output, "write all files, changed or not, below this folder")
          ->type_name("FOLDER");
  undoing->excludes(in_place)->excludes(output);
  in_place->excludes(output);
  app.add_flag("--chunked", wanted.rewrite.chunked, "also loops with schedule(static,n); n is given up");
  app.add_flag("--nowait", wanted.rewrite.nowait, "also loops with nowait");
  app.add_flag("--same-threads", wanted.rewrite.same_threads,
               "also loops that may rely on others giving each thread the same iterations");
  app.add_option("--language", wanted.language, "c, c++, fortran (or free), fixed; else by the name of each file");
  app.add_option("--fixed-line-length", wanted.rewrite.fixed_line_length,
                 "columns of fixed-form Fortran that the compiler reads, 72 by default")
      ->type_name("N")
      ->check(whole_number_between(40, 1'000'000));
  app.add_option("--color", wanted.colour, "auto (on a terminal), always or never");
  app.add_flag("-q,--quiet", wanted.quiet, "only the diff and errors");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  return wanted.undo ? undo(wanted) : rewrite(wanted);
}

}  // namespace tri::tools
