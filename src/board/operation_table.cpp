// The cold side of the operation table: complaints, fingerprints and the table of the process.
#include "board/operation_table.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tri::board {
namespace detail {

void check_registration(std::string_view kind, std::string_view name, bool has_function, bool taken,
                        std::uint32_t count, std::uint32_t capacity) {
  if (name.empty()) throw std::invalid_argument(fmt::format("a {} needs a name", kind));
  if (!has_function) throw std::invalid_argument(fmt::format("{} '{}' has no function", kind, name));
  if (taken) throw std::invalid_argument(fmt::format("{} '{}' is registered already; names are unique", kind, name));
  if (count >= capacity) {
    throw std::length_error(fmt::format("{} '{}' is one too many: the table holds {}", kind, name, capacity));
  }
}

void report_unknown_operation(std::string_view kind, operation_id id, std::uint32_t count) {
  throw std::invalid_argument(fmt::format("{} {} is not registered; this process knows 0 to {} ({} in all)", kind, id,
                                          std::int64_t{count} - 1, count));
}

}  // namespace detail

operation_table& operation_table::of_process() {
  static constinit operation_table table;
  return table;
}

}  // namespace tri::board
