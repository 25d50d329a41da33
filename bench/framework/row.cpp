#include "framework/row.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "config/json_number.hpp"

namespace tri::bench {
namespace {

constexpr std::size_t most_batches = 1'000'000'000;

verdict compare(double value, std::optional<double> target, better direction) {
  if (!target) return verdict::no_target;
  return (direction == better::lower ? value <= *target : value >= *target) ? verdict::met : verdict::missed;
}

nlohmann::json number_or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::optional<double> optional_number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

summary summary_of(const nlohmann::json& json) {
  return {json.at("median").get<double>(), json.at("p10").get<double>(), json.at("p90").get<double>(),
          json.contains("batches") ? config::json_number<std::size_t>(json, "batches", 0, most_batches) : 0};
}

nlohmann::json json_of(const summary& of) {
  return {{"median", of.median}, {"p10", of.p10}, {"p90", of.p90}, {"batches", of.batches}};
}

}  // namespace

verdict verdict_of(const row& measured) {
  if (!measured.not_available.empty()) return verdict::no_target;
  return compare(measured.figure.median, measured.target, measured.direction);
}

verdict ratio_verdict_of(const row& measured) {
  if (!measured.ratio) return verdict::no_target;
  return compare(measured.ratio->median, measured.target_ratio, better::lower);
}

double nanoseconds_in_unit(double nanoseconds, std::string_view unit) {
  if (unit == "ns") return nanoseconds;
  if (unit == "us") return nanoseconds * 1e-3;
  if (unit == "ms") return nanoseconds * 1e-6;
  if (unit == "s") return nanoseconds * 1e-9;
  if (unit == "k/s") return 1e6 / nanoseconds;
  if (unit == "M/s") return 1e3 / nanoseconds;
  throw std::invalid_argument(fmt::format("unit '{}' is not one of ns, us, ms, s, k/s, M/s", unit));
}

void to_json(nlohmann::json& json, const row& measured) {
  if (!measured.error.empty()) {
    json = {{"name", measured.name}, {"unit", measured.unit}, {"error", measured.error}};
    return;
  }
  json = {{"name", measured.name},
          {"unit", measured.unit},
          {"median", measured.figure.median},
          {"p10", measured.figure.p10},
          {"p90", measured.figure.p90},
          {"better", measured.direction == better::lower ? "lower" : "higher"},
          {"target", number_or_null(measured.target)},
          {"limit", number_or_null(measured.limit)},
          {"peers", measured.peers},
          {"batches", measured.figure.batches},
          {"disturbed", measured.disturbed}};
  if (!measured.not_available.empty()) {
    json["not_available"] = measured.not_available;
    json["median"] = json["p10"] = json["p90"] = nullptr;
    json["target_ratio"] = number_or_null(measured.target_ratio);
    json.erase("batches");
  }
  if (measured.ratio) {
    json["ratio"] = json_of(*measured.ratio);
    json["target_ratio"] = number_or_null(measured.target_ratio);
    if (measured.reference.empty())
      json["handoff_ns"] = number_or_null(measured.handoff_ns);
    else
      json["reference"] = measured.reference;
  }
  if (measured.best_peer)
    json["best_peer"] = {{"name", measured.best_peer->name}, {"ratio", json_of(measured.best_peer->ratio)}};
  if (!measured.counts.empty()) json["counts"] = measured.counts;
  if (!measured.note.empty()) json["note"] = measured.note;
}

void from_json(const nlohmann::json& json, row& measured) {
  measured = row();
  measured.name = json.at("name").get<std::string>();
  measured.unit = json.at("unit").get<std::string>();
  measured.error = json.value("error", std::string());
  if (!measured.error.empty()) return;
  measured.not_available = json.value("not_available", std::string());
  if (measured.not_available.empty()) measured.figure = summary_of(json);
  const auto direction = json.at("better").get<std::string>();
  if (direction != "lower" && direction != "higher") {
    throw std::invalid_argument(
        fmt::format("row '{}': \"better\" is '{}', it must be 'lower' or 'higher'", measured.name, direction));
  }
  measured.direction = direction == "lower" ? better::lower : better::higher;
  measured.target = optional_number(json, "target");
  measured.limit = optional_number(json, "limit");
  measured.peers = json.at("peers").get<std::map<std::string, double>>();
  if (json.contains("ratio")) measured.ratio = summary_of(json.at("ratio"));
  measured.target_ratio = optional_number(json, "target_ratio");
  measured.handoff_ns = optional_number(json, "handoff_ns");
  measured.reference = json.value("reference", std::string());
  if (const auto best = json.find("best_peer"); best != json.end())
    measured.best_peer = compared_row{best->at("name").get<std::string>(), summary_of(best->at("ratio"))};
  measured.counts = json.value("counts", std::map<std::string, double>());
  if (json.contains("disturbed"))
    measured.disturbed = config::json_number<std::size_t>(json, "disturbed", 0, most_batches);
  measured.note = json.value("note", std::string());
}

}  // namespace tri::bench
