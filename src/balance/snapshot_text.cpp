#include "balance/snapshot_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "config/json_number.hpp"

namespace tri::balancing {
namespace {

using nlohmann::json;

constexpr int format_version = 1;
constexpr const char* format_name = "trireme load snapshot";

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte each : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(each));
  return text;
}

std::vector<std::byte> bytes_from(const std::string& hex) {
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw std::invalid_argument(
        fmt::format("user data '{}' is not written in pairs of 0-9 and a-f", hex.substr(0, 40)));
  };
  if (hex.size() % 2 != 0) digit('-');
  std::vector<std::byte> bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4U | digit(hex[i + 1])));
  return bytes;
}

// A list of whole numbers. nlohmann::json casts any number to the type asked for, so each is looked at.
template <class Integer>
std::vector<Integer> integers(const json& table, const char* name) {
  std::vector<Integer> values;
  for (const json& each : table.at(name)) {
    const bool fits = each.is_number_unsigned()  ? std::in_range<Integer>(each.get<std::uint64_t>())
                      : each.is_number_integer() ? std::in_range<Integer>(each.get<std::int64_t>())
                                                 : false;
    if (!fits)
      throw std::invalid_argument(
          fmt::format("number {} of '{}' is {}; it must be a whole number that fits {} bits", values.size(), name,
                      each.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40), 8 * sizeof(Integer)));
    values.push_back(each.get<Integer>());
  }
  return values;
}

std::vector<double> numbers(const json& table, const char* name) {
  std::vector<double> values;
  for (const json& each : table.at(name)) {
    if (!each.is_number())
      throw std::invalid_argument(fmt::format("number {} of '{}' is {}; it must be a number", values.size(), name,
                                              each.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40)));
    values.push_back(each.get<double>());
  }
  return values;
}

void check_length(std::size_t length, std::size_t wanted, const char* name, const char* table) {
  if (length != wanted)
    throw std::invalid_argument(
        fmt::format("'{}' of {} has {} values; its first list has {}", name, table, length, wanted));
}

// What is misspelt would otherwise be left out silently.
void check_names(const json& table, const std::set<std::string>& known, const char* where) {
  if (!table.is_object()) throw std::invalid_argument(fmt::format("{} must be an object of JSON", where));
  for (const auto& [name, value] : table.items())
    if (!known.contains(name))
      throw std::invalid_argument(fmt::format("{} has no '{}'; known: {}", where, name, json(known).dump()));
}

void read_pes(const json& table, snapshot& made) {
  check_names(table, {"speed", "background_ns", "host", "numa_node", "cache"}, "\"pes\"");
  const std::vector<std::int32_t> host = integers<std::int32_t>(table, "host");
  made.pes.resize(host.size());
  for (std::size_t i = 0; i < host.size(); ++i) made.pes[i].host = host[i];
  const auto fill = [&](const char* name, auto values, auto pe_load::*member) {
    check_length(values.size(), host.size(), name, "\"pes\"");
    for (std::size_t i = 0; i < host.size(); ++i) made.pes[i].*member = values[i];
  };
  if (table.contains("speed")) fill("speed", numbers(table, "speed"), &pe_load::speed);
  if (table.contains("background_ns"))
    fill("background_ns", integers<std::int64_t>(table, "background_ns"), &pe_load::background_ns);
  if (table.contains("numa_node")) fill("numa_node", integers<std::int32_t>(table, "numa_node"), &pe_load::numa_node);
  if (table.contains("cache")) fill("cache", integers<std::int32_t>(table, "cache"), &pe_load::cache);
}

void read_objects(const json& table, snapshot& made) {
  check_names(table,
              {"load_ns", "pe", "id", "bytes", "immovable", "coordinates", "dimensions", "counters", "counter_values",
               "user_data"},
              "\"objects\"");
  const std::vector<std::int64_t> load = integers<std::int64_t>(table, "load_ns");
  const std::size_t count = load.size();
  made.objects.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    made.objects[i].load_ns = load[i];
    made.objects[i].id = i;
  }
  const auto fill = [&](const char* name, auto values, auto object_load::*member) {
    check_length(values.size(), count, name, "\"objects\"");
    for (std::size_t i = 0; i < count; ++i) made.objects[i].*member = values[i];
  };
  fill("pe", integers<std::int32_t>(table, "pe"), &object_load::pe);
  if (table.contains("id")) fill("id", integers<std::uint64_t>(table, "id"), &object_load::id);
  if (table.contains("bytes")) fill("bytes", integers<std::int64_t>(table, "bytes"), &object_load::bytes);
  if (table.contains("immovable"))
    for (const std::uint32_t object : integers<std::uint32_t>(table, "immovable")) {
      if (object >= count)
        throw std::invalid_argument(fmt::format("\"immovable\" names object {}; there are {} objects", object, count));
      made.objects[object].is_migratable = false;
    }
  if (table.contains("dimensions"))
    made.dimensions = config::json_number<std::uint32_t>(table, "dimensions", 0, most_dimensions);
  if (table.contains("coordinates")) made.coordinates = numbers(table, "coordinates");
  if (table.contains("counters")) made.counters = table["counters"].get<std::vector<std::string>>();
  if (table.contains("counter_values")) made.counter_values = numbers(table, "counter_values");
  if (table.contains("user_data")) {
    for (const json& each : table["user_data"]) {
      const std::vector<std::byte> bytes = bytes_from(each.get<std::string>());
      made.user_data.insert(made.user_data.end(), bytes.begin(), bytes.end());
      made.user_data_ends.push_back(made.user_data.size());
    }
    check_length(made.user_data_ends.size(), count, "user_data", "\"objects\"");
  }
}

void read_traffic(const json& table, snapshot& made) {
  check_names(table, {"from", "to", "messages", "bytes"}, "\"traffic\"");
  const auto from = integers<std::uint32_t>(table, "from"), to = integers<std::uint32_t>(table, "to");
  const auto messages = integers<std::int64_t>(table, "messages"), bytes = integers<std::int64_t>(table, "bytes");
  check_length(to.size(), from.size(), "to", "\"traffic\"");
  check_length(messages.size(), from.size(), "messages", "\"traffic\"");
  check_length(bytes.size(), from.size(), "bytes", "\"traffic\"");
  for (std::size_t i = 0; i < from.size(); ++i) made.traffic.push_back({from[i], to[i], messages[i], bytes[i]});
}

template <class Element, class Member>
json column(const std::vector<Element>& of, Member Element::*member) {
  json values = json::array();
  for (const Element& each : of) values.push_back(each.*member);
  return values;
}

}  // namespace

std::string to_text(const snapshot& of) {
  json objects{{"id", column(of.objects, &object_load::id)},
               {"load_ns", column(of.objects, &object_load::load_ns)},
               {"pe", column(of.objects, &object_load::pe)},
               {"bytes", column(of.objects, &object_load::bytes)}};
  json immovable = json::array();
  for (std::size_t i = 0; i < of.objects.size(); ++i)
    if (!of.objects[i].is_migratable) immovable.push_back(i);
  if (!immovable.empty()) objects["immovable"] = std::move(immovable);
  if (of.dimensions > 0) {
    objects["dimensions"] = of.dimensions;
    objects["coordinates"] = of.coordinates;
  }
  if (!of.counters.empty()) {
    objects["counters"] = of.counters;
    objects["counter_values"] = of.counter_values;
  }
  if (!of.user_data_ends.empty()) {
    json data = json::array();
    for (std::uint32_t i = 0; i < of.objects.size(); ++i) data.push_back(hex_of(of.user_data_of(i)));
    objects["user_data"] = std::move(data);
  }
  json all{{"format", format_name},
           {"version", format_version},
           {"pes",
            {{"speed", column(of.pes, &pe_load::speed)},
             {"background_ns", column(of.pes, &pe_load::background_ns)},
             {"host", column(of.pes, &pe_load::host)},
             {"numa_node", column(of.pes, &pe_load::numa_node)},
             {"cache", column(of.pes, &pe_load::cache)}}},
           {"objects", std::move(objects)}};
  if (!of.traffic.empty())
    all["traffic"] = {{"from", column(of.traffic, &pair_traffic::from)},
                      {"to", column(of.traffic, &pair_traffic::to)},
                      {"messages", column(of.traffic, &pair_traffic::messages)},
                      {"bytes", column(of.traffic, &pair_traffic::bytes)}};
  return all.dump() + '\n';
}

snapshot snapshot_from(std::string_view text, std::string_view name) {
  try {
    const json all = json::parse(text);
    check_names(all, {"format", "version", "pes", "objects", "traffic"}, "a snapshot");
    if (all.value("format", "") != format_name)
      throw std::invalid_argument(fmt::format("it is no snapshot: its \"format\" must be \"{}\"", format_name));
    if (all.at("version") != format_version)
      throw std::invalid_argument(
          fmt::format("its version is {}; this program reads version {}", all["version"].dump(), format_version));
    snapshot made;
    read_pes(all.at("pes"), made);
    read_objects(all.at("objects"), made);
    if (all.contains("traffic")) read_traffic(all["traffic"], made);
    check(made);
    return made;
  } catch (const json::exception& error) {
    throw std::invalid_argument(fmt::format("{}: {}", name, error.what()));
  } catch (const std::logic_error& error) {  // invalid_argument and out_of_range
    throw std::invalid_argument(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace tri::balancing
