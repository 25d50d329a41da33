// Whole numbers of JSON files. nlohmann::json casts any number to the type asked for: 1e300 to an int is undefined, -1
// to an unsigned one is another number.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace tri::config {

/// The value of `key`. Throws std::out_of_range unless it is a whole number from `lowest` to `highest`, and
/// nlohmann::json::exception when `object` is not an object or does not have it.
template <class Integer>
Integer json_number(const nlohmann::json& object, const char* key, Integer lowest, Integer highest) {
  const nlohmann::json& value = object.at(key);
  const bool whole = value.is_number_unsigned()
                         ? std::in_range<Integer>(value.get<std::uint64_t>())
                         : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (whole && value.get<Integer>() >= lowest && value.get<Integer>() <= highest) return value.get<Integer>();
  throw std::out_of_range("'" + std::string(key) + "' is " +
                          value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 40) +
                          "; it must be a whole number from " + std::to_string(lowest) + " to " +
                          std::to_string(highest));
}

}  // namespace tri::config
