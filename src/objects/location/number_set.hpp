// A set of whole numbers that keeps neighbours as one range: cheap where numbers come one after another, as those of
// deleted objects do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace tri::objects {

class number_set {
 public:
  bool empty() const { return last_of_.empty(); }
  std::size_t ranges() const { return last_of_.size(); }

  bool contains(std::uint64_t number) const;
  void insert(std::uint64_t number) { insert(number, number); }
  /// All from first to last.
  void insert(std::uint64_t first, std::uint64_t last);
  void erase(std::uint64_t number);
  /// Calls visit(first, last) for every range.
  template <class Visit>
  void visit_ranges(Visit&& visit) const {
    for (const auto& [first, last] : last_of_) visit(first, last);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> last_of_;  // first number of a range -> its last
};

}  // namespace tri::objects
