#include "mpi/mpi_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "exec/child_output.hpp"
#include "exec/mpi_program.hpp"
#include "exec/preload.hpp"
#include "mpi/host_permissions.hpp"
#include "os/child_process.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;

// Of "libmpi.so.40 => /lib/libmpi.so.40 (0x...)".
std::string path_in(std::string_view list, std::string_view soname) {
  const std::string before = fmt::format("{} => ", soname);
  const std::size_t at = list.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = list.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(" (")));
}

library_report look_at(const mpi_interface& library) {
  library_report found{library.name, library.soname, {}, {}, {}};
  found.path = path_in(loader_list("/proc/self/exe", library.soname), library.soname);
  if (found.path.empty()) return found;
  try {
    found.drop_in = library_path(library.drop_in).string();
    found.memory = memory_kinds_under(found.drop_in, found.path);
  } catch (const std::runtime_error& problem) {
    found.memory.problem = problem.what();
  }
  return found;
}

bool allows(const mpi_report& report, std::string_view what) {
  return std::any_of(report.host.begin(), report.host.end(),
                     [&](const machine_fact& each) { return each.name == what && each.works; });
}

const char* in_json(reach where) {
  switch (where) {
    case reach::nowhere:
      return "no";
    case reach::same_address:
      return "same address";
    case reach::alias:
      return "alias";
  }
  return "?";
}

std::string libraries_text(const mpi_report& report) {
  std::string text = "MPI libraries that the loader finds (LD_LIBRARY_PATH counts)\n";
  for (const library_report& each : report.libraries) {
    text += fmt::format(
        "  {:<18}{}\n", each.name,
        each.path.empty() ? fmt::format("no {}", each.soname) : fmt::format("{} => {}", each.soname, each.path));
    if (each.path.empty()) continue;
    if (!each.memory.library_version.empty()) text += fmt::format("{:20}{}\n", "", each.memory.library_version);
    text += each.drop_in.empty() ? fmt::format("{:20}no drop-in: {}\n", "", each.memory.problem)
                                 : fmt::format("{:20}drop-in: {}\n", "", each.drop_in);
    if (!each.drop_in.empty() && !each.memory.problem.empty())
      text += fmt::format("{:20}{}\n", "", each.memory.problem);
  }
  return text;
}

std::string memory_text(const mpi_report& report) {
  std::vector<const library_report*> columns;
  for (const library_report& each : report.libraries)
    if (!each.memory.kinds.empty()) columns.push_back(&each);
  if (columns.empty()) return {};
  std::string text =
      "\nHow messages of 8 KiB and more go from or to each kind of memory\n" + fmt::format("  {:<13}", "");
  for (const library_report* each : columns) text += fmt::format("{:<13}", each->name);
  text += "\n";
  for (std::size_t row = 0; row < columns[0]->memory.kinds.size(); ++row) {
    text += fmt::format("  {:<13}", columns[0]->memory.kinds[row].name);
    for (const library_report* each : columns) {
      const memory_kind& kind = each->memory.kinds[row];
      const memory_path path = path_of(report, kind);
      text += fmt::format("{:<13}",
                          path == memory_path::shared && kind.from_others == reach::alias ? "alias" : to_string(path));
    }
    text += columns[0]->memory.kinds[row].people + "\n";
  }
  text +=
      "  shared: one copy between the two buffers, by any waiting rank; alias: the same, at a second address\n"
      "  kernel: one copy, by cross-memory attach (process_vm_readv); staged: two copies, through shared memory;\n"
      "  library: passed through\n"
      "  Smaller messages always go through shared blocks.\n";
  for (const library_report* each : columns) {
    if (!each->memory.heap_reason.empty())
      text += fmt::format("  {}: the heap stays private: {}\n", each->name, each->memory.heap_reason);
    if (!each->memory.static_data_reason.empty())
      text += fmt::format("  {}: static data stays where it is: {}\n", each->name, each->memory.static_data_reason);
  }
  return text;
}

}  // namespace

const char* to_string(memory_path path) {
  switch (path) {
    case memory_path::shared:
      return "shared";
    case memory_path::kernel:
      return "kernel";
    case memory_path::staged:
      return "staged";
    case memory_path::library:
      return "library";
  }
  return "?";
}

memory_path path_of(const mpi_report& report, const memory_kind& kind) {
  for (const char* const needed : {"memfd", "arena", "address_space", "file_size"})
    if (report.switched_off || !allows(report, needed)) return memory_path::library;
  if (kind.from_others != reach::nowhere) return memory_path::shared;
  return allows(report, "kernel_copies") ? memory_path::kernel : memory_path::staged;
}

mpi_report make_mpi_report(const std::string& program) {
  mpi_report report;
  report.switched_off = !check_mpi_switches();
  for (const mpi_interface& each : mpi_interfaces) report.libraries.push_back(look_at(each));
  report.host = host_permissions();
  if (program.empty()) return report;
  report.program = os::find_program(program);
  const mpi_finding found = find_mpi(report.program);
  report.obstacle = found.obstacle;
  if (const mpi_interface* const used = interface_of(found.library)) report.program_uses = used->name;
  report.program_launcher = launcher_command(found.library);
  if (found.library == mpi_library::mpich) report.program_begins_by_inner_names = begins_by_inner_names(report.program);
  return report;
}

json to_json(const mpi_report& report) {
  json libraries = json::array();
  for (const library_report& each : report.libraries) {
    json memory = json::object();
    for (const memory_kind& kind : each.memory.kinds)
      memory[kind.name] = {{"path", to_string(path_of(report, kind))}, {"reached", in_json(kind.from_others)}};
    libraries.push_back({{"name", each.name},
                         {"soname", each.soname},
                         {"path", each.path},
                         {"version", each.memory.library_version},
                         {"drop_in", each.drop_in},
                         {"problem", each.memory.problem},
                         {"heap_reason", each.memory.heap_reason},
                         {"static_data_reason", each.memory.static_data_reason},
                         {"memory", memory}});
  }
  json host = json::object();
  for (const machine_fact& each : report.host) host[each.name] = {{"works", each.works}, {"detail", each.detail}};
  json all{{"on", !report.switched_off}, {"libraries", libraries}, {"host", host}};
  if (!report.program.empty())
    all["program"] = {{"path", report.program},
                      {"uses", report.program_uses},
                      {"obstacle", report.obstacle},
                      {"begins_by_inner_names", report.program_begins_by_inner_names}};
  return all;
}

std::string to_text(const mpi_report& report) {
  std::string text;
  if (!report.program.empty()) {
    text = report.program + ": ";
    if (!report.obstacle.empty())
      text += report.obstacle;
    else if (report.program_uses.empty())
      text += "uses no MPI library that is known, and is not started by mpirun";
    else if (report.program_begins_by_inner_names)
      text += fmt::format(
          "uses {}, and initializes MPI through mpi_f08, which calls the profiling interface (PMPI_Init): all messages "
          "stay with {}",
          report.program_uses, report.program_uses);
    else
      text += fmt::format("uses {}; `{} -n N trireme exec {}` takes its messages inside the host", report.program_uses,
                          report.program_launcher, report.program);
    text += "\n\n";
  }
  if (report.switched_off) text += "TRIREME_MPI=off: everything is left to the MPI library\n\n";
  text += libraries_text(report) + memory_text(report) + "\nWhat the host allows\n";
  for (const machine_fact& each : report.host)
    text += fmt::format("  {:<15}{:<5}{}\n", each.name, each.works ? "yes" : "no", each.detail);
  return text;
}

}  // namespace tri::tools
