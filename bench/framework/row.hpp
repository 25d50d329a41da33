// One line of results, and its form in JSON, which every suite shares:
//   {"name", "unit", "median", "p10", "p90", "better": "lower"|"higher", "target", "limit", "peers": {name: median}}
// with null where a row has no target or limit. Rows measured beside the hand-off of a cache line add "handoff_ns",
// "ratio" (the median over batches of figure / hand-off of the same batch) and "target_ratio"; rows judged by another
// figure of the same batches have its name as "reference", and "ratio" is to that; "best_peer" is the fastest of the
// peers with the ratio to it; a row without its subject has the reason in "not_available", null for median, p10 and
// p90, and its peers; rows with counters add "counts"; all add "batches" and "disturbed".
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "framework/statistics.hpp"

namespace tri::bench {

enum class better { lower, higher };

struct compared_row {
  std::string name;
  summary ratio;  // figure / that of the named, batch by batch
};

struct row {
  std::string name;
  std::string unit;
  summary figure;
  better direction = better::lower;
  std::optional<double> target;        // in `unit`
  std::optional<double> target_ratio;  // for `ratio`
  std::optional<double> limit;         // the time of the machine itself (hand-offs of the same batches), in `unit`
  std::optional<double> handoff_ns;    // median of the batches
  std::optional<summary> ratio;        // figure / hand-off (or reference), batch by batch
  std::string reference;               // what `ratio` is to; empty: the hand-off
  std::optional<compared_row> best_peer;
  std::map<std::string, double> peers;   // medians of other software measured in the same run, in `unit`
  std::map<std::string, double> counts;  // per operation: messages, allocations, bytes
  std::size_t disturbed = 0;             // batches set aside because the measuring thread lost its core in them
  std::string note;
  std::string not_available;  // not empty: why the subject is missing; peers may exist
  std::string error;          // not empty: the row could not be measured, and why; its figures mean nothing
};

enum class verdict { no_target, met, missed };
verdict verdict_of(const row& measured);        // figure against target
verdict ratio_verdict_of(const row& measured);  // ratio against target_ratio

// Nanoseconds of one operation in another unit: "ns", "us", "ms", "s" are times, "k/s" and "M/s" rates. Throws
// std::invalid_argument for any other unit.
double nanoseconds_in_unit(double nanoseconds, std::string_view unit);

void to_json(nlohmann::json& json, const row& measured);
// Throws nlohmann::json::exception or std::invalid_argument that names the error.
void from_json(const nlohmann::json& json, row& measured);

}  // namespace tri::bench
