#include "boot/launcher_detection.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "boot/membership.hpp"
#include "config/configuration.hpp"

namespace tri::boot {
namespace {

std::optional<std::string> value_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& each : environment)
    if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name))
      return each.substr(name.size() + 1);
  return std::nullopt;
}

int pmi_number(const std::vector<std::string>& environment, const char* name, int lowest) {
  const std::string text = value_of(environment, name).value_or("");
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < lowest) {
    throw job_error(
        fmt::format("{} is '{}', but with PMI_FD set it must be a whole number from {} on: start the "
                    "program with mpiexec, or unset the variables PMI_* to start it alone",
                    name, text, lowest));
  }
  return number;
}

}  // namespace

detected_launcher detect_launcher(const std::vector<std::string>& environment) {
  struct claim {
    launcher_kind kind;
    const char* variable;
    const char* who;
  };
  constexpr claim claims[] = {{launcher_kind::pmix, "PMIX_NAMESPACE", "mpirun of Open MPI, or srun"},
                              {launcher_kind::pmi1, "PMI_FD", "mpiexec of MPICH, or another with PMI-1"},
                              {launcher_kind::trireme, config::job_variable, "trireme run"}};
  const claim* found = nullptr;
  for (const claim& each : claims) {
    if (!value_of(environment, each.variable)) continue;
    if (found != nullptr) {
      throw job_error(fmt::format(
          "two launchers claim this process: {} is set ({}) and {} is set ({}); start the program with one of them, or "
          "unset the variables of the other",
          found->variable, found->who, each.variable, each.who));
    }
    found = &each;
  }
  detected_launcher detected;
  if (found == nullptr) {
    const auto rank = value_of(environment, "PMI_RANK");
    if (!rank) return detected;
    throw job_error(fmt::format(
        "PMI_RANK is '{}', so a launcher started this program, but neither PMIX_NAMESPACE nor PMI_FD is set: trireme "
        "does not speak its protocol; start the program with mpirun, mpiexec.hydra, srun --mpi=pmix or `trireme run`, "
        "or "
        "unset PMI_RANK to start it alone",
        *rank));
  }
  detected.kind = found->kind;
  if (detected.kind == launcher_kind::trireme) detected.job_name = *value_of(environment, config::job_variable);
  if (detected.kind == launcher_kind::pmi1) {
    detected.fd = pmi_number(environment, "PMI_FD", 0);
    detected.size = pmi_number(environment, "PMI_SIZE", 1);
    detected.rank = pmi_number(environment, "PMI_RANK", 0);
    if (detected.rank >= detected.size)
      throw job_error(fmt::format("PMI_RANK is {}, but PMI_SIZE is {}", detected.rank, detected.size));
  }
  return detected;
}

}  // namespace tri::boot
