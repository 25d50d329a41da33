#include "tune/loop_report_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/json_number.hpp"

namespace tri::tools {

using nlohmann::json;

loop_report_file::loop_report_file() : memory_(memfd_create("trireme_loops", MFD_CLOEXEC)) {
  if (!memory_)
    throw std::runtime_error(fmt::format("no memory for the program's report of its loops: {}", std::strerror(errno)));
  name_ = fmt::format("/proc/{}/fd/{}", getpid(), memory_.get());
}

loop_report_file::reported loop_report_file::take() const {
  reported found;
  const std::string taken = text();
  std::ofstream(name_, std::ios::trunc).close();  // its text is consumed
  const json all = json::parse(taken, nullptr, false);
  if (all.is_discarded()) return found;
  double longest = -1.0;
  try {
    for (const json& each : all.at("loops")) {
      const loop_location location{each.at("file").get<std::string>(),
                                   config::json_number<std::uint32_t>(each, "line", 0, ~std::uint32_t{0})};
      const auto total = each.at("total_s").get<double>();
      found.loops[location] = {total, each.at("schedule").get<std::string>()};
      if (total <= longest || !each.contains("steps_s")) continue;
      longest = total;
      found.of_steps = location;
      found.steps = each.at("steps_s").get<std::vector<double>>();
    }
  } catch (const std::exception& problem) {
    throw std::runtime_error(
        fmt::format("the program's report of its loops ({}) cannot be understood: {}", name_, problem.what()));
  }
  return found;
}

std::string loop_report_file::text() const {
  std::ifstream in(name_);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tri::tools
