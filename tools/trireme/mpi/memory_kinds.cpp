#include "mpi/memory_kinds.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "exec/child_output.hpp"
#include "exec/preload.hpp"
#include "mpi/startup/memory_report.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;

// One specimen of each kind, of the size of a large message. The first is what Fortran's COMMON blocks are, too.
constexpr std::size_t specimen_bytes = std::size_t{256} * 1024;
std::array<std::byte, specimen_bytes> zeroed_data;
std::array<std::byte, 4096> initialised_data{std::byte{1}};

struct specimen {
  const char* name;
  const char* people;
};
constexpr std::array<specimen, 5> kinds{{
    {"heap", "malloc, new, ALLOCATE"},
    {"static", "static arrays, COMMON blocks; zero at the start, 64 KiB or more"},
    {"initialised", "static data with values in the file, and data of libraries"},
    {"stack", "local arrays"},
    {"mapped", "what the program maps itself"},
}};

reach reach_of(const mpi::memory_report& report, const void* address, std::size_t bytes) {
  const void* const found = report.shared_address(address, bytes);
  if (found == nullptr) return reach::nowhere;
  return found == address ? reach::same_address : reach::alias;
}

// MPI_Get_library_version may be called at any time. Of its lines the first names the release.
std::string library_version() {
  auto* const ask = reinterpret_cast<int (*)(char*, int*)>(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
  if (ask == nullptr) return {};
  std::string text(std::size_t{64} * 1024, '\0');  // above every library's MPI_MAX_LIBRARY_VERSION_STRING
  int length = 0;
  if (ask(text.data(), &length) != 0) return {};
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  text.resize(std::min(text.size(), text.find_first_of("\n,")));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

}  // namespace

int print_memory_kinds() {
  auto* const ask = reinterpret_cast<mpi::memory_report_function>(dlsym(RTLD_DEFAULT, mpi::memory_report_name));
  if (ask == nullptr) {
    fmt::print(stderr, "trireme info: {} is for a process under our MPI library; `trireme info --mpi` is for people\n",
               memory_kinds_option);
    return EXIT_FAILURE;
  }
  const mpi::memory_report report = ask();
  const auto block = std::make_unique<std::byte[]>(specimen_bytes);
  std::array<std::byte, 16384> local{};
  void* const mapped = mmap(nullptr, specimen_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::array<reach, kinds.size()> found{
      reach_of(report, block.get(), specimen_bytes),
      reach_of(report, zeroed_data.data() + specimen_bytes / 4,
               specimen_bytes / 2),  // its ends share pages with others
      reach_of(report, initialised_data.data(), initialised_data.size()),
      reach_of(report, local.data(), local.size()),
      reach_of(report, mapped, specimen_bytes),
  };
  munmap(mapped, specimen_bytes);
  json rows = json::array();
  for (const reach each : found) rows.push_back(static_cast<int>(each));
  fmt::print("{}\n", json{{"kinds", rows},
                          {"heap_reason", report.heap_reason},
                          {"static_data_reason", report.static_data_reason},
                          {"library_version", library_version()}}
                         .dump());
  return EXIT_SUCCESS;
}

memory_kinds memory_kinds_under(const std::string& drop_in, const std::string& mpi_library) {
  std::string preloads = drop_in + ":" + mpi_library;
  if (const std::string others = value_of("LD_PRELOAD"); !others.empty()) preloads += ":" + others;
  const std::string answer =
      output_of("/proc/self/exe", {"info", memory_kinds_option},
                {"LD_PRELOAD=" + preloads, fmt::format("TRIREME_MPI_JOB=trireme-info-{}", getpid())});
  memory_kinds told;
  const json values = json::parse(answer, nullptr, false);
  if (values.is_discarded() || values.value("kinds", json::array()).size() != kinds.size()) {
    told.problem = "a process with both libraries could not be started";
    return told;
  }
  for (std::size_t i = 0; i < kinds.size(); ++i)
    told.kinds.push_back({kinds[i].name, kinds[i].people, static_cast<reach>(values["kinds"][i].get<int>())});
  told.heap_reason = values.value("heap_reason", "");
  told.static_data_reason = values.value("static_data_reason", "");
  told.library_version = values.value("library_version", "");
  return told;
}

}  // namespace tri::tools
