#include "tune/loop_report_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tri::tools {

using nlohmann::json;

loop_report_file::loop_report_file() {
  std::string name = (std::filesystem::temp_directory_path() / "trireme_loops.XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) throw std::runtime_error(fmt::format("{}: cannot be made", name));
  close(descriptor);
  name_ = name;
}

loop_report_file::~loop_report_file() { unlink(name_.c_str()); }

loop_report_file::reported loop_report_file::take() const {
  reported found;
  std::ifstream in(name_);
  const json all = json::parse(in, nullptr, false);
  if (all.is_discarded()) return found;
  double longest = -1.0;
  for (const json& each : all.at("loops")) {
    const loop_place place{each.at("file").get<std::string>(), each.at("line").get<std::uint32_t>()};
    const auto total = each.at("total_s").get<double>();
    found.loops[place] = {total, each.at("schedule").get<std::string>()};
    if (total <= longest || !each.contains("steps_s")) continue;
    longest = total;
    found.of_steps = place;
    found.steps = each.at("steps_s").get<std::vector<double>>();
  }
  std::ofstream(name_, std::ios::trunc).close();
  return found;
}

std::string loop_report_file::text() const {
  std::ifstream in(name_);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tri::tools
