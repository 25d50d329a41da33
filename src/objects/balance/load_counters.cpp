#include "objects/balance/load_counters.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "os/perf_events.hpp"
#include "os/text_file.hpp"

namespace tri {
namespace objects {
namespace {

struct known_makers {
  std::mutex lock;  // programs add theirs before the job, PEs look them up at its start
  std::map<std::string, load_counter_maker, std::less<>> by_prefix;
};
known_makers& makers() {
  static known_makers all;
  return all;
}

class events_of_the_machine final : public load_counter_source {
 public:
  explicit events_of_the_machine(const std::vector<std::string>& names) : counters_(names) {}
  void read(std::span<std::uint64_t> counts) override { counters_.read(counts); }

 private:
  os::perf_counters counters_;
};

std::unique_ptr<load_counter_source> made(const std::string& prefix, const std::vector<std::string>& names) {
  if (prefix.empty()) return std::make_unique<events_of_the_machine>(names);
  load_counter_maker make;
  {
    known_makers& known = makers();
    const std::lock_guard guard(known.lock);
    const auto found = known.by_prefix.find(prefix);
    if (found == known.by_prefix.end())
      throw std::runtime_error(
          fmt::format("the program has added no counters with the prefix '{}' (tri::add_load_counters)", prefix));
    make = found->second;
  }
  auto source = make(names);
  if (source == nullptr) throw std::runtime_error(fmt::format("the counters '{}:' of the program are null", prefix));
  return source;
}

std::string without_blanks(std::string_view text) {
  const auto is_blank = [](char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

bool is_file(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> names;
  os::text_file file(path);
  std::string line;
  while (file.next_line(line))
    if (std::string name = without_blanks(std::string_view(line).substr(0, line.find('#'))); !name.empty())
      names.push_back(std::move(name));
  if (names.empty())
    throw std::invalid_argument(fmt::format("load_counters: the file '{}' has no name of a counter", path));
  return names;
}

}  // namespace

std::vector<std::string> load_counter_names(const std::string& option) {
  if (option.empty()) return {};
  std::vector<std::string> names;
  if (is_file(option)) {
    names = lines_of(option);
  } else if (option.find('/') != std::string::npos) {
    throw std::invalid_argument(fmt::format("load_counters: there is no file '{}'", option));
  } else {
    for (std::size_t begin = 0; begin <= option.size();) {
      const std::size_t end = std::min(option.find(',', begin), option.size());
      std::string name = without_blanks(std::string_view(option).substr(begin, end - begin));
      if (name.empty())
        throw std::invalid_argument(fmt::format("load_counters: a name is missing between the commas of '{}'", option));
      names.push_back(std::move(name));
      begin = end + 1;
    }
  }
  std::set<std::string> seen;
  for (const std::string& each : names)
    if (!seen.insert(each).second) throw std::invalid_argument(fmt::format("load_counters: '{}' is there twice", each));
  return names;
}

load_counters::load_counters(std::vector<std::string> names) : names_(std::move(names)) {
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::size_t>>> by_prefix;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::size_t colon = names_[i].find(':');
    auto& [own_names, places] = by_prefix[colon == std::string::npos ? "" : names_[i].substr(0, colon)];
    own_names.push_back(colon == std::string::npos ? names_[i] : names_[i].substr(colon + 1));
    places.push_back(i);
  }
  for (auto& [prefix, part_of_it] : by_prefix) {
    auto& [own_names, places] = part_of_it;
    part each{.source = made(prefix, own_names), .places = std::move(places), .last = {}, .now = {}};
    each.last.resize(each.places.size());
    each.now.resize(each.places.size());
    parts_.push_back(std::move(each));
  }
  skip();  // what was counted before is of no element
}

void load_counters::charge(std::span<std::uint64_t> into) {
  for (part& each : parts_) {
    each.source->read(each.now);
    if (!into.empty())
      for (std::size_t i = 0; i < each.places.size(); ++i) into[each.places[i]] += each.now[i] - each.last[i];
    each.last.swap(each.now);
  }
}

}  // namespace objects

void add_load_counters(const std::string& prefix, load_counter_maker make) {
  const auto fits = [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; };
  if (prefix.empty() || !std::all_of(prefix.begin(), prefix.end(), fits))
    throw std::invalid_argument(fmt::format("'{}' cannot be a prefix of counters: letters, digits and _ can", prefix));
  if (!make) throw std::invalid_argument(fmt::format("the counters '{}:' have no function that makes them", prefix));
  auto& known = objects::makers();
  const std::lock_guard guard(known.lock);
  if (!known.by_prefix.emplace(prefix, std::move(make)).second)
    throw std::invalid_argument(fmt::format("the prefix '{}' of counters is taken", prefix));
}

}  // namespace tri
