// The figures of a job as lines for a terminal and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "top/job_figures.hpp"

namespace tri::tools {

struct job_view {
  std::vector<std::string> heading;  // lines above the table; the last one names the columns
  std::vector<std::string> rows;
};
/// `busiest_first`: else by number.
job_view view_of(const job_figures& figures, bool busiest_first);
std::string to_text(const job_figures& figures);
nlohmann::json to_json(const job_figures& figures);
/// Adds what to_json has made on another host. False: it is something else; then `all` is unchanged.
bool add_json(const nlohmann::json& figures, job_figures& all);

/// One line for each job, below a line with the columns.
std::string list_of(const std::vector<live_job>& jobs);
nlohmann::json list_as_json(const std::vector<live_job>& jobs);

}  // namespace tri::tools
