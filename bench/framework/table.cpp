#include "framework/table.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace tri::bench {
namespace {

constexpr int name_width = 38;

std::string target_text(const row& measured) {
  if (!measured.target) return "";
  return fmt::format("{} {}", measured.direction == better::lower ? "<=" : ">=", short_number(*measured.target));
}

std::string verdict_text(verdict judged) {
  switch (judged) {
    case verdict::met:
      return "met";
    case verdict::missed:
      return "MISSED";
    case verdict::no_target:
      break;
  }
  return "";
}

// "2.1x of 108 ns (<= 2.3 met)": the figure against the hand-off of a cache line in the same batches.
std::string handoff_text(const row& measured) {
  // A ratio to a figure of the same kind is near 1: three digits would hide the relevant difference.
  if (measured.ratio && !measured.reference.empty()) {
    const std::string text = fmt::format("{:.4g}x of {}", measured.ratio->median, measured.reference);
    return measured.target_ratio ? fmt::format("{} (<= {:.4g})", text, *measured.target_ratio) : text;
  }
  if (!measured.ratio || !measured.handoff_ns) return "";
  std::string text =
      fmt::format("{}x of {} ns", short_number(measured.ratio->median), short_number(*measured.handoff_ns));
  if (measured.target_ratio) {
    text += fmt::format(" (<= {} {})", short_number(*measured.target_ratio), verdict_text(ratio_verdict_of(measured)));
  }
  return text;
}

std::string best_peer_text(const row& measured) {
  if (!measured.best_peer) return "";
  return fmt::format("{:.3g}x of the best peer, {}", measured.best_peer->ratio.median, measured.best_peer->name);
}

std::string peers_text(const row& measured) {
  std::string text;
  for (const auto& [name, median] : measured.peers) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, short_number(median));
  }
  return text;
}

std::string counts_text(const row& measured) {
  std::string text;
  for (const auto& [name, count] : measured.counts) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, short_number(count));
  }
  return text;
}

std::string first_columns(const row& measured) {
  if (!measured.not_available.empty())
    return fmt::format("{:<{}} {:>27}{:<9} {:>10}", measured.name, name_width, "not available", "",
                       target_text(measured));
  return fmt::format("{:<{}} {:>9} {:<4} {:>9} .. {:<9} {:>10}", measured.name, name_width,
                     short_number(measured.figure.median), measured.unit, short_number(measured.figure.p10),
                     short_number(measured.figure.p90), target_text(measured));
}

std::string last_columns(const row& measured) {
  std::string text;
  for (const std::string& part : {measured.not_available, handoff_text(measured), best_peer_text(measured),
                                  peers_text(measured), counts_text(measured), measured.note}) {
    if (part.empty()) continue;
    text += text.empty() ? "  " : "; ";
    text += part;
  }
  return text;
}

}  // namespace

std::string short_number(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 1000) {
    std::string digits = fmt::format("{:.0f}", value);
    for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > (value < 0 ? 1 : 0); place -= 3) {
      digits.insert(static_cast<std::size_t>(place), 1, ',');
    }
    return digits;
  }
  return fmt::format("{:.3g}", value);
}

std::string table_line(const row& measured) {
  if (!measured.error.empty()) return fmt::format("{:<{}} FAILED: {}", measured.name, name_width, measured.error);
  return fmt::format("{} {:<6}{}", first_columns(measured), verdict_text(verdict_of(measured)), last_columns(measured));
}

void table::begin_suite(const std::string& name, const std::string& description) const {
  fmt::print(output_, "{}: {}\n", name, description);
  fmt::print(output_, "{:<{}} {:>9} {:<4} {:>9} .. {:<9} {:>10} {:<6}  {}\n", "row", name_width, "median", "unit",
             "p10", "p90", "target", "", "x hand-off of a cache line; peers");
}

void table::print(const row& measured) const {
  if (!colours_) {
    fmt::print(output_, "{}\n", table_line(measured));
  } else if (!measured.error.empty()) {
    fmt::print(output_, fg(fmt::terminal_color::red), "{}\n", table_line(measured));
  } else {
    const verdict judged = verdict_of(measured);
    const auto style = judged == verdict::met      ? fg(fmt::terminal_color::green)
                       : judged == verdict::missed ? fg(fmt::terminal_color::red) | fmt::emphasis::bold
                                                   : fmt::text_style();
    fmt::print(output_, "{} {}{}\n", first_columns(measured), fmt::format(style, "{:<6}", verdict_text(judged)),
               last_columns(measured));
  }
  std::fflush(output_);
}

}  // namespace tri::bench
