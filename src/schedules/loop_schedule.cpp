// The text form of schedules. One row per kind and one per parameter: reading, printing, checking and the suggestions
// in error messages all come from these rows.
#include "trireme/detail/schedules/loop_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "config/suggestion.hpp"
#include "schedules/user_schedule.hpp"

namespace tri::schedules {
namespace {

enum parameter : std::uint32_t {
  chunk_size = 1u << 0,
  fraction = 1u << 1,
  count = 1u << 2,
  sizes = 1u << 3,
  tag_use = 1u << 4,
  queue_count = 1u << 5,
  kept_share = 1u << 6,
  ends = 1u << 7,
  slack_rule = 1u << 8,
  weight_use = 1u << 9,
  searching = 1u << 10,
  planned_delay = 1u << 11,
};

constexpr std::uint32_t of_tasklets = fraction | count | sizes | tag_use | queue_count | searching;
constexpr std::uint32_t of_pool = chunk_size | sizes | count | weight_use | searching;
constexpr std::uint32_t of_bands = chunk_size | sizes | kept_share | ends | weight_use | searching;

struct kind_row {
  schedule_kind kind;
  std::string_view name;
  std::uint32_t parameters;                 // that it has
  std::array<std::uint32_t, 2> positional;  // what values without a key mean
};

constexpr kind_row kinds[] = {
    {schedule_kind::automatic, "automatic", 0, {}},
    {schedule_kind::static_blocks, "static", chunk_size, {chunk_size}},
    {schedule_kind::dynamic, "dynamic", chunk_size, {chunk_size}},
    {schedule_kind::guided, "guided", chunk_size, {chunk_size}},
    {schedule_kind::trapezoid, "trapezoid", chunk_size, {chunk_size}},
    {schedule_kind::factoring, "factoring", chunk_size, {chunk_size}},
    {schedule_kind::hybrid, "hybrid", of_pool | fraction, {fraction, chunk_size}},
    {schedule_kind::tasklets, "tasklets", of_tasklets, {fraction, count}},
    {schedule_kind::weighted, "weighted", 0, {}},
    {schedule_kind::weighted_tasklets, "weighted-tasklets", of_tasklets, {fraction, count}},
    {schedule_kind::staggered, "staggered", of_bands | fraction, {fraction, chunk_size}},
    {schedule_kind::static_hybrid, "static-hybrid", of_pool | planned_delay, {chunk_size}},
    {schedule_kind::slack_conscious, "slack", of_pool | slack_rule | planned_delay, {chunk_size}},
    {schedule_kind::combined, "combined", of_bands | slack_rule | planned_delay, {chunk_size}},
    {schedule_kind::user, "user", 0, {}},  // no name of its own
};

const kind_row& row_of(schedule_kind kind) {
  for (const kind_row& row : kinds) {
    if (row.kind == kind) return row;
  }
  throw std::invalid_argument(
      fmt::format("loop schedule: kind {} is not one of the {} kinds", static_cast<int>(kind), std::size(kinds)));
}

[[noreturn]] void wrong_value(std::string_view key, std::string_view text, std::string_view right) {
  throw std::invalid_argument(fmt::format("{} is '{}'; it must be {}", key, text, right));
}

template <class Number>
Number read_number(std::string_view key, std::string_view text, Number lowest, Number highest, std::string_view right) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= lowest && value <= highest)) {
    wrong_value(key, text, right);
  }
  return value;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  return config::did_you_mean(word, known, "; the nearest is '", "'");
}

std::string chosen(std::string_view key, std::string_view text, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return std::string(text);
  wrong_value(key, text, fmt::format("one of {}{}", fmt::join(allowed, ", "), nearest(text, allowed)));
}

bool read_switch(std::string_view key, std::string_view text) { return chosen(key, text, {"on", "off"}) == "on"; }

constexpr std::string_view share_text = "a number between 0 and 1";
constexpr std::string_view delay_names[] = {"noise", "application", "sum", "larger"};

struct parameter_row {
  parameter bit;
  std::string_view key;
  void (*read)(schedule&, std::string_view key, std::string_view text);
  std::string (*write)(const schedule&);
  bool (*is_default)(const schedule&);
};

constexpr schedule defaults{};

constexpr parameter_row parameters[] = {
    {fraction, "static",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.static_fraction = read_number(key, text, 0.0, 1.0, share_text);
     },
     [](const schedule& s) { return fmt::format("{}", s.static_fraction); },
     [](const schedule& s) { return s.static_fraction == defaults.static_fraction; }},
    {chunk_size, "chunk",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.chunk =
           read_number<std::uint64_t>(key, text, 1, ~std::uint64_t{0}, "a whole number of iterations, at least 1");
     },
     [](const schedule& s) { return fmt::format("{}", s.chunk); },
     [](const schedule& s) { return s.chunk == defaults.chunk; }},
    {count, "count",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.tasklets = read_number<std::uint32_t>(key, text, 1, most_tasklets, "a number of tasklets, 1 to 1048576");
     },
     [](const schedule& s) { return fmt::format("{}", s.tasklets); },
     [](const schedule& s) { return s.tasklets == defaults.tasklets; }},
    {sizes, "sizes",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.skewed = chosen(key, text, {"equal", "skewed"}) == "skewed";
     },
     [](const schedule& s) -> std::string { return s.skewed ? "skewed" : "equal"; },
     [](const schedule& s) { return s.skewed == defaults.skewed; }},
    {tag_use, "tags", [](schedule& s, std::string_view key, std::string_view text) { s.tags = read_switch(key, text); },
     [](const schedule& s) -> std::string { return s.tags ? "on" : "off"; },
     [](const schedule& s) { return s.tags == defaults.tags; }},
    {queue_count, "queues",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.queues = read_number<std::uint32_t>(key, text, 1, 65536, "a number of queues, 1 to 65536");
     },
     [](const schedule& s) { return fmt::format("{}", s.queues); },
     [](const schedule& s) { return s.queues == defaults.queues; }},
    {kept_share, "keep",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.keep = read_number(key, text, 0.0, 1.0, share_text);
     },
     [](const schedule& s) { return fmt::format("{}", s.keep); },
     [](const schedule& s) { return s.keep == defaults.keep; }},
    {ends, "ends",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.wrap = chosen(key, text, {"wrap", "clip"}) == "wrap";
     },
     [](const schedule& s) -> std::string { return s.wrap ? "wrap" : "clip"; },
     [](const schedule& s) { return s.wrap == defaults.wrap; }},
    {slack_rule, "rule",
     [](schedule& s, std::string_view key, std::string_view text) {
       s.sharp = chosen(key, text, {"careful", "sharp"}) == "sharp";
     },
     [](const schedule& s) -> std::string { return s.sharp ? "sharp" : "careful"; },
     [](const schedule& s) { return s.sharp == defaults.sharp; }},
    {weight_use, "weights",
     [](schedule& s, std::string_view key, std::string_view text) { s.weights = read_switch(key, text); },
     [](const schedule& s) -> std::string { return s.weights ? "on" : "off"; },
     [](const schedule& s) { return s.weights == defaults.weights; }},
    {searching, "search",
     [](schedule& s, std::string_view key, std::string_view text) { s.search = read_switch(key, text); },
     [](const schedule& s) -> std::string { return s.search ? "on" : "off"; },
     [](const schedule& s) { return s.search == defaults.search; }},
    {planned_delay, "delay",
     [](schedule& s, std::string_view key, std::string_view text) {
       const std::string name = chosen(key, text, {std::begin(delay_names), std::end(delay_names)});
       s.delay = static_cast<delay_source>(std::find(std::begin(delay_names), std::end(delay_names), name) -
                                           std::begin(delay_names));
     },
     [](const schedule& s) { return std::string(delay_names[static_cast<std::size_t>(s.delay)]); },
     [](const schedule& s) { return s.delay == defaults.delay; }},
};

const parameter_row& row_of(std::uint32_t bit) {
  return *std::find_if(std::begin(parameters), std::end(parameters),
                       [&](const parameter_row& row) { return row.bit == bit; });
}

std::vector<std::string> keys_of(const kind_row& kind) {
  std::vector<std::string> keys;
  for (const parameter_row& row : parameters) {
    if (kind.parameters & row.bit) keys.emplace_back(row.key);
  }
  return keys;
}

// --- names and features ---

enum feature : std::uint32_t {
  has_pool = 1u << 0,
  has_tasklets = 1u << 1,
  has_skew = 1u << 2,
  has_weights = 1u << 3,
  has_bands = 1u << 4,
  has_fraction_model = 1u << 5,
  has_slack = 1u << 6,
  has_search = 1u << 7,
  has_kind = 1u << 8,   // a complete schedule; nothing can be added
  has_delay = 1u << 9,  // the application's delay
};

struct name_row {
  std::string_view name;
  schedule_kind kind;      // of the name alone
  std::uint32_t features;  // when it is joined with others
};

constexpr name_row names[] = {
    {"automatic", schedule_kind::automatic, has_kind},
    {"static", schedule_kind::static_blocks, has_kind},
    {"dynamic", schedule_kind::dynamic, has_kind},
    {"guided", schedule_kind::guided, has_kind},
    {"trapezoid", schedule_kind::trapezoid, has_kind},
    {"factoring", schedule_kind::factoring, has_kind},
    {"hybrid", schedule_kind::hybrid, has_pool},
    {"tasklets", schedule_kind::tasklets, has_tasklets},
    {"weighted", schedule_kind::weighted, has_weights},
    {"weighted-tasklets", schedule_kind::weighted_tasklets, has_weights | has_tasklets},
    {"staggered", schedule_kind::staggered, has_bands},
    {"static-hybrid", schedule_kind::static_hybrid, has_pool | has_fraction_model},
    {"slack", schedule_kind::slack_conscious, has_fraction_model | has_slack},
    {"combined", schedule_kind::combined, has_fraction_model | has_slack | has_bands},
    // other names, most of them the dissertation's
    {"auto", schedule_kind::automatic, has_kind},
    {"half", schedule_kind::hybrid, has_pool},
    {"sd", schedule_kind::hybrid, has_pool},
    {"hybsched", schedule_kind::hybrid, has_pool},
    {"besf", schedule_kind::hybrid, has_pool | has_search},
    {"tunedsched", schedule_kind::hybrid, has_pool | has_search},
    {"exptunedsched", schedule_kind::hybrid, has_pool | has_search},
    {"search", schedule_kind::hybrid, has_search},
    {"hybrid+locality", schedule_kind::tasklets, has_tasklets},
    {"locality", schedule_kind::tasklets, has_tasklets},
    {"tags", schedule_kind::tasklets, has_tasklets},
    {"micro", schedule_kind::tasklets, has_tasklets},
    {"skewed", schedule_kind::tasklets, has_skew},
    {"wsched", schedule_kind::weighted, has_weights},
    {"weighted-micro", schedule_kind::weighted_tasklets, has_weights | has_tasklets},
    {"uwldb", schedule_kind::weighted_tasklets, has_weights | has_tasklets},
    {"sds", schedule_kind::staggered, has_bands},
    {"stag", schedule_kind::staggered, has_bands},
    {"stagsched", schedule_kind::staggered, has_bands},
    {"vsched", schedule_kind::staggered, has_bands},
    {"cdy", schedule_kind::staggered, has_bands},
    {"model", schedule_kind::static_hybrid, has_fraction_model},
    {"noisemodelsched", schedule_kind::static_hybrid, has_fraction_model},
    {"appmodelsched", schedule_kind::static_hybrid, has_fraction_model | has_delay},
    {"modelsched", schedule_kind::static_hybrid, has_fraction_model | has_delay},
    {"usched", schedule_kind::static_hybrid, has_fraction_model | has_search},
    {"slack-conscious", schedule_kind::slack_conscious, has_fraction_model | has_slack},
    {"ssch", schedule_kind::slack_conscious, has_fraction_model | has_slack},
    {"slacksched", schedule_kind::slack_conscious, has_fraction_model | has_slack},
    {"combo", schedule_kind::combined, has_fraction_model | has_slack | has_bands},
    {"combosched", schedule_kind::combined, has_fraction_model | has_slack | has_bands},
    {"combostrat", schedule_kind::combined, has_fraction_model | has_slack | has_bands},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void cannot_be_joined(std::string_view name) {
  throw std::invalid_argument(
      fmt::format("'{}' is a complete schedule and cannot be joined with others; features are hybrid, tasklets, "
                  "skewed, weighted, staggered, static-hybrid, slack and search",
                  name));
}

const name_row& named(std::string_view name) {
  for (const name_row& row : names) {
    if (row.name == name) return row;
  }
  if (name.empty()) throw std::invalid_argument("a name is missing; 'automatic' is the default");
  if (find_user_schedule(name, {}).has_value()) cannot_be_joined(name);
  std::vector<std::string> own;
  for (const kind_row& row : kinds)
    if (row.kind != schedule_kind::user) own.emplace_back(row.name);
  for (std::string& each : user_schedule_names()) own.push_back(std::move(each));
  throw std::invalid_argument(fmt::format("'{}' is not a known name{}; there are {}", name,
                                          nearest(name, schedule_names()), fmt::join(own, ", ")));
}

schedule single(std::string_view name) {
  const name_row& row = named(name);
  schedule result;
  result.kind = row.kind;
  result.skewed = (row.features & has_skew) != 0;
  result.search = (row.features & has_search) != 0;
  if (name == "appmodelsched") result.delay = delay_source::application;
  if (name == "modelsched") result.delay = delay_source::sum;
  return result;
}

// Which kind the joined features amount to; the reason when there is none.
schedule joined(const std::vector<std::string_view>& parts) {
  std::uint32_t all = 0;
  schedule result;
  for (const std::string_view part : parts) {
    const name_row& row = named(part);
    if (row.features & has_kind) cannot_be_joined(part);
    all |= row.features;
    if (row.features & has_delay) result.delay = single(part).delay;
  }
  const auto with = [&](std::uint32_t features) { return (all & features) == features; };
  result.skewed = with(has_skew);
  result.search = with(has_search);
  if (with(has_tasklets | has_bands)) {
    throw std::invalid_argument(
        "tasklets and staggered exclude each other: a staggered participant keeps its rest in a queue of its own, so "
        "there is no common queue whose tasklets could carry tags");
  }
  if (with(has_tasklets | has_fraction_model)) {
    throw std::invalid_argument(
        "tasklets and a fraction from the model exclude each other: the model changes the fraction from one execution "
        "to the next, and tags of tasklets that are cut anew mean nothing; sizes=skewed is possible");
  }
  if (with(has_fraction_model | has_bands) && !with(has_slack)) {
    throw std::invalid_argument(
        "a fraction from the model and staggered, without slack, is no schedule of its own: 'combined' is that in a "
        "process that has no slack");
  }
  const bool weighted = with(has_weights);
  if (with(has_slack | has_bands)) {
    result.kind = schedule_kind::combined;
  } else if (with(has_slack)) {
    result.kind = schedule_kind::slack_conscious;
  } else if (with(has_fraction_model)) {
    result.kind = schedule_kind::static_hybrid;
  } else if (with(has_bands)) {
    result.kind = schedule_kind::staggered;
  } else if (with(has_tasklets) || (with(has_skew) && !with(has_pool))) {
    result.kind = weighted ? schedule_kind::weighted_tasklets : schedule_kind::tasklets;
  } else if (with(has_pool)) {
    result.kind = schedule_kind::hybrid;
  } else if (with(has_search) && weighted) {
    throw std::invalid_argument("'weighted' assigns all iterations in advance, so there is no fraction to search for");
  } else {
    result.kind = weighted ? schedule_kind::weighted : schedule_kind::hybrid;
  }
  if (row_of(result.kind).parameters & weight_use) result.weights = weighted;
  return result;
}

void read_parameters(schedule& result, const std::vector<std::string_view>& parts) {
  const kind_row& kind = row_of(result.kind);
  std::uint32_t given = 0;
  std::size_t position = 0;
  for (std::size_t index = 1; index < parts.size(); ++index) {
    const std::string_view part = parts[index];
    const std::size_t equals = part.find('=');
    std::uint32_t bit = 0;
    std::string_view value = part;
    if (equals == std::string_view::npos) {
      if (part.empty()) throw std::invalid_argument("a value is missing between or after the commas");
      if (position >= kind.positional.size() || kind.positional[position] == 0) {
        const auto takes = static_cast<std::size_t>(
            std::count_if(kind.positional.begin(), kind.positional.end(), [](std::uint32_t meant) { return meant; }));
        throw std::invalid_argument(fmt::format("'{}' has no meaning here: '{}' takes {} without a key", part,
                                                kind.name,
                                                takes == 0   ? "no value"
                                                : takes == 1 ? "one"
                                                             : "two"));
      }
      bit = kind.positional[position++];
    } else {
      const std::string_view key = trimmed(part.substr(0, equals));
      value = trimmed(part.substr(equals + 1));
      const std::vector<std::string> keys = keys_of(kind);
      if (keys.empty()) {
        throw std::invalid_argument(fmt::format("'{}' has no parameter '{}'; it has none", kind.name, key));
      }
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        throw std::invalid_argument(fmt::format("'{}' has no parameter '{}'; it has {}{}", kind.name, key,
                                                fmt::join(keys, ", "), nearest(key, keys)));
      }
      for (const parameter_row& row : parameters) {
        if (row.key == key) bit = row.bit;
      }
    }
    const parameter_row& row = row_of(bit);
    if (given & bit) throw std::invalid_argument(fmt::format("{} is given twice", row.key));
    given |= bit;
    row.read(result, row.key, value);
  }
}

// A schedule that the program has added: its values are numbers without keys.
std::optional<schedule> added_one(const std::vector<std::string_view>& parts) {
  if (!find_user_schedule(parts[0], {}).has_value()) return std::nullopt;
  std::vector<double> values;
  for (std::size_t index = 1; index < parts.size(); ++index) {
    constexpr double most = std::numeric_limits<double>::max();
    values.push_back(read_number(fmt::format("value {} of '{}'", index, parts[0]), parts[index], -most, most,
                                 "a number without a key"));
  }
  return schedule{.kind = schedule_kind::user, .user = find_user_schedule(parts[0], values).value()};
}

}  // namespace

bool has_static_fraction(schedule_kind kind) { return (row_of(kind).parameters & fraction) != 0; }
bool has_model(schedule_kind kind) { return (row_of(kind).parameters & planned_delay) != 0; }

std::vector<std::string> schedule_names() {
  std::vector<std::string> result;
  for (const name_row& row : names) result.emplace_back(row.name);
  for (std::string& each : user_schedule_names()) result.push_back(std::move(each));
  return result;
}

schedule parse_schedule(std::string_view text) {
  try {
    std::string wanted = lower(trimmed(text));
    if (wanted.starts_with("tri:")) wanted.erase(0, 4);
    const std::vector<std::string_view> parts = split(wanted, ',');
    const bool whole =
        std::any_of(std::begin(names), std::end(names), [&](const name_row& row) { return row.name == parts[0]; });
    if (const std::optional<schedule> own = added_one(parts)) return *own;
    const std::vector<std::string_view> features = split(parts[0], '+');
    schedule result = whole || features.size() == 1 ? single(parts[0]) : joined(features);
    read_parameters(result, parts);
    check_schedule(result);
    return result;
  } catch (const std::invalid_argument& error) {
    constexpr std::string_view head = "loop schedule: ";
    std::string_view what = error.what();
    if (what.starts_with(head)) what.remove_prefix(head.size());
    throw std::invalid_argument(fmt::format("loop schedule '{}': {}", text, what));
  }
}

schedule schedule_named(std::string_view text) {
  struct last_one {
    char text[47];
    std::uint8_t size;
    schedule meaning;
  };
  static thread_local constinit last_one last{};
  if (text.size() == last.size && last.size > 0 && std::memcmp(last.text, text.data(), last.size) == 0)
    return last.meaning;
  const schedule meaning = parse_schedule(text);
  if (text.size() <= sizeof last.text) {
    std::memcpy(last.text, text.data(), text.size());
    last.size = static_cast<std::uint8_t>(text.size());
    last.meaning = meaning;
  }
  return meaning;
}

std::string to_text(const schedule& which) {
  if (which.kind == schedule_kind::user) return user_schedule_text(which.user);
  const kind_row& kind = row_of(which.kind);
  std::string text(kind.name);
  for (const std::uint32_t bit : kind.positional) {
    if (bit == 0) continue;
    const parameter_row& row = row_of(bit);
    // The fraction is the important parameter, so it is printed even if it is the default.
    if (bit != fraction && row.is_default(which)) continue;
    text += bit == kind.positional[0] ? std::string(",") : fmt::format(",{}=", row.key);
    text += row.write(which);
  }
  for (const parameter_row& row : parameters) {
    if (!(kind.parameters & row.bit) || row.is_default(which)) continue;
    if (std::find(kind.positional.begin(), kind.positional.end(), row.bit) != kind.positional.end()) continue;
    text += fmt::format(",{}={}", row.key, row.write(which));
  }
  return text;
}

void check_schedule(const schedule& which) {
  const kind_row& kind = row_of(which.kind);
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("loop schedule: " + why); };
  const auto share = [&](std::string_view key, double value) {
    if (!(value >= 0.0 && value <= 1.0)) refuse(fmt::format("{} is {}; it must be {}", key, value, share_text));
  };
  share("static", which.static_fraction);
  share("keep", which.keep);
  if (which.tasklets == 0 || which.tasklets > most_tasklets) {
    refuse(fmt::format("count is {}; it must be a number of tasklets, 1 to {}", which.tasklets, most_tasklets));
  }
  if (which.queues == 0 || which.queues > 65536) {
    refuse(fmt::format("queues is {}; it must be a number of queues, 1 to 65536", which.queues));
  }
  if (which.kind == schedule_kind::user) user_schedule_text(which.user);  // throws when there is none
  if (which.kind != schedule_kind::user && which.user != 0) refuse("user belongs to the kind 'user' alone");
  if (static_cast<std::size_t>(which.delay) >= std::size(delay_names)) refuse("delay is not one of its four values");
  const bool weights_implied = which.kind == schedule_kind::weighted || which.kind == schedule_kind::weighted_tasklets;
  for (const parameter_row& row : parameters) {
    if ((kind.parameters & row.bit) || row.is_default(which) || (row.bit == weight_use && weights_implied)) continue;
    const std::vector<std::string> keys = keys_of(kind);
    refuse(fmt::format("'{}' has no parameter '{}'; it has {}", kind.name, row.key,
                       keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "))));
  }
  if (which.tags && which.queues > 1) {
    refuse(
        fmt::format("tags and queues={} exclude each other: a tasklet cannot be both with its last owner and in a "
                    "certain queue; say tags=off or queues=1",
                    which.queues));
  }
  if ((kind.parameters & (count | chunk_size)) == (count | chunk_size)) {
    if (which.skewed && which.chunk != 0) {
      refuse(
          fmt::format("chunk={} and sizes=skewed exclude each other: skewed sizes follow from the number of "
                      "tasklets; say count=...",
                      which.chunk));
    }
    if (!which.skewed && which.tasklets != defaults.tasklets) {
      refuse(fmt::format("count={} needs sizes=skewed here; for equal sizes say chunk=... or use tasklets",
                         which.tasklets));
    }
  }
}

std::vector<std::string_view> features_of(const schedule& which) {
  const kind_row& kind = row_of(which.kind);
  std::vector<std::string_view> features;
  const auto add = [&](bool has, std::string_view text) {
    if (has) features.push_back(text);
  };
  using enum schedule_kind;
  const bool bands = (kind.parameters & ends) != 0;
  const bool cut = (kind.parameters & tag_use) != 0;
  const bool automatic_kind = which.kind == automatic;
  const bool own = which.kind == schedule_kind::user;
  const bool pooled = !bands && !automatic_kind && !own && which.kind != static_blocks && which.kind != weighted;
  add(automatic_kind, "chosen at run time");
  add(own, own && plans_every_time(which.user) ? "plan of the program, made anew from the last execution"
                                               : "plan of the program");
  add(has_static_fraction(which.kind) || has_model(which.kind) || which.kind == static_blocks || which.kind == weighted,
      "static part");
  add(pooled, "shared dynamic part");
  add(bands, "staggered dynamic part");
  add(bands, which.wrap ? "neighbour stealing" : "neighbour stealing, clipped at the ends");
  add(bands && which.keep > 0.0, "kept share");
  add(cut, "tasklets");
  add(cut && which.tags, "locality tags");
  add(cut && which.queues > 1, "several queues");
  add(which.skewed || which.kind == guided || which.kind == trapezoid || which.kind == factoring,
      "variable task sizes");
  add(which.weights || which.kind == weighted || which.kind == weighted_tasklets, "weights");
  add(has_model(which.kind), "model");
  add(which.kind == slack_conscious || which.kind == combined, which.sharp ? "slack, sharp rule" : "slack");
  add(which.search, "search");
  return features;
}

}  // namespace tri::schedules
