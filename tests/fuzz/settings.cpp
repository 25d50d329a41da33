// What users and the system write in texts of one line: values of options, lists of CPUs and of hosts, lengths of
// time, variables of launchers, limits of control groups. The first byte selects the reader.
#include <algorithm>
#include <stdexcept>

#include "boot/launcher_detection.hpp"
#include "boot/membership.hpp"
#include "config/configuration.hpp"
#include "duration.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/scratch_folder.hpp"
#include "host_list.hpp"
#include "os/cgroup.hpp"
#include "os/cpu/cpu_list.hpp"

namespace tri::fuzz {
namespace {

std::vector<std::string> lines_of(std::string_view input) {
  std::vector<std::string> lines;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    lines.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return lines;
}

// Each line is an argument of a program.
void read_arguments(std::string_view input) {
  std::vector<std::string> words = lines_of(input);
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  int count = static_cast<int>(words.size());
  const config::configuration values = config::configuration::from(count, arguments.data(), {});
  for (const config::option_description& each : config::option_table()) {
    config::configuration again;
    again.set(each.name, values.text_of(each.name));
    expect(again.text_of(each.name) == values.text_of(each.name), "a value is written as it is read");
  }
}

// cpu.max, memory.max and /proc/self/cgroup, a line each; the last may be several.
void read_control_groups(std::string_view input) {
  static const std::filesystem::path group = [] {
    std::filesystem::create_directories(scratch_folder() / "sys/fs/cgroup/job");
    std::filesystem::create_directories(scratch_folder() / "proc/self");
    return std::filesystem::path("sys/fs/cgroup/job");
  }();
  for (const char* const name : {"cpu.max", "memory.max"}) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    scratch_file(group / name, input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  scratch_file("proc/self/cgroup", input);
  const std::string root = scratch_folder().string();
  const std::optional<double> quota = os::cpu_quota(root);
  expect(!quota || *quota > 0, "a quota is above 0");
  os::memory_limit(root);
}

void read_cpus(std::string_view input) {
  const std::vector<int> cpus = os::parse_cpu_list(input);
  expect(os::parse_cpu_list(os::format_cpu_list(cpus)) == cpus, "a list of CPUs is written as it is read");
}

bool read_with(char reader, std::string_view input) {
  switch (reader) {
    case 'a':
      read_arguments(input);
      return true;
    case 'c':
      read_cpus(input);
      return true;
    case 'd':
      tools::format_duration(tools::parse_duration(input));
      return true;
    case 'g':
      read_control_groups(input);
      return true;
    case 'h':
      tools::parse_host_list(input);
      return true;
    case 'l':
      boot::detect_launcher(lines_of(input));
      return true;
    default:
      return false;
  }
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  try {
    return read_with(input[0], input.substr(1));
  } catch (const std::invalid_argument&) {
    return false;
  } catch (const boot::job_error&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> made{"c0,2-5:2,1",
                                "c0-65536",
                                "d250us",
                                "d1.5 ms",
                                "g100000 50000\n1073741824\n0::/job\n",
                                "gmax 100000\nmax\n4:cpu,memory:/job/inner\n0::/\n",
                                "ha,b.example,user@c",
                                "lPMI_FD=3\nPMI_RANK=1\nPMI_SIZE=2",
                                "lTRIREME_JOB=name",
                                "lPMIX_NAMESPACE=x"};
  const config::configuration defaults;
  std::string all = "a";
  for (const config::option_description& each : config::option_table())
    all += each.option() + "=" + defaults.text_of(each.name) + "\n";
  made.push_back(all);
  made.push_back("a--tri-counters\non\n--tri-pes\n4\n--\n--tri-pes");
  return made;
}

}  // namespace tri::fuzz
