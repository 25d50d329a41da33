// What is in a buffer, symbolically: ranges of bytes, each with the contributions that it is made of and where those
// were in the inputs. Used by the checker.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tri::coll {

/// Sets of ranks whose inputs have been combined, each stored once. The first numbers are those of single ranks.
class contribution_sets {
 public:
  using id = std::int32_t;
  static constexpr id none = -1;
  struct interval {
    std::int32_t first = 0;
    std::int32_t last = 0;  // one behind
    bool operator==(const interval&) const = default;
  };

  /// Ordered: sets are intervals, and only neighbours are combined, left one first.
  contribution_sets(int ranks, bool ordered);

  id of_rank(int rank) const { return rank; }
  id of_ranks(int first, int last);
  /// none, and why, where a contribution would enter twice or out of order.
  id combined(id left, id right, std::string& problem);
  std::string text_of(id set) const;

 private:
  id stored(std::vector<interval> set);

  bool ordered_ = false;
  std::vector<std::vector<interval>> sets_;
  std::unordered_multimap<std::uint64_t, id> by_hash_;
  std::unordered_map<std::uint64_t, id> by_operands_;
};

struct symbolic_piece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  contribution_sets::id set = contribution_sets::none;
  std::uint64_t origin = 0;  // offset of `begin` in the inputs
  bool continues(const symbolic_piece& before) const {
    return before.end == begin && before.set == set && before.origin + (before.end - before.begin) == origin;
  }
};

class symbolic_buffer {
 public:
  /// Appends what is in [begin, end), shifted so that it begins at 0. False where a byte was never written.
  bool read(std::uint64_t begin, std::uint64_t end, std::vector<symbolic_piece>& into) const;
  /// Pieces as from read(), placed at `begin`.
  void write(std::uint64_t begin, const std::vector<symbolic_piece>& pieces);
  /// Is one of these there already, at this place?
  bool has_some_of(std::uint64_t begin, const std::vector<symbolic_piece>& pieces) const;

 private:
  std::vector<symbolic_piece>::const_iterator first_behind(std::uint64_t offset) const;  // whose end is behind it

  std::vector<symbolic_piece> pieces_;  // by place; merged where possible
};

}  // namespace tri::coll
