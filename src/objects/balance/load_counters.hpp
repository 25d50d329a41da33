// The counters of --tri-load-counters on one PE (M70): opens what their names mean, and says what was counted between
// two moments. Used by its PE's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/load_counters.hpp"

namespace tri::objects {

/// The value of --tri-load-counters: names with commas between them, or the path of a file with a name in each line,
/// where # begins a comment. None for an empty value. Throws std::invalid_argument for a file that cannot be read or
/// has no name, and for a name that is there twice.
std::vector<std::string> load_counter_names(const std::string& option);

class load_counters {
 public:
  /// Throws std::runtime_error with the name that cannot be counted and why.
  explicit load_counters(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  /// What was counted since the last call of either (or since the beginning) is added to `into`, a sum for each name;
  /// without one it belongs to no element.
  void charge(std::span<std::uint64_t> into);
  void skip() { charge({}); }

 private:
  struct part {
    std::unique_ptr<load_counter_source> source;
    std::vector<std::size_t> places;  // in names_
    std::vector<std::uint64_t> last, now;
  };
  std::vector<std::string> names_;
  std::vector<part> parts_;
};

}  // namespace tri::objects
