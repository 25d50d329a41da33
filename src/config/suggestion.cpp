#include "config/suggestion.hpp"

#include <algorithm>
#include <limits>

namespace tri::config {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

namespace {

// What all names begin with, up to a separator: "TRIREME_" or "--tri-". It tells nothing about what was meant.
std::size_t length_of_prefix(const std::vector<std::string>& known) {
  if (known.size() < 2) return 0;
  std::string_view shared = known.front();
  for (const std::string& name : known) {
    const auto differs = std::mismatch(shared.begin(), shared.end(), name.begin(), name.end()).first;
    shared = shared.substr(0, static_cast<std::size_t>(differs - shared.begin()));
  }
  return shared.find_last_of("-_") + 1;  // npos + 1 is 0
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64;  // of a word that may be meant for a name: the table grows with its length
  word = word.substr(0, longest);
  std::string nearest;
  std::size_t smallest = std::numeric_limits<std::size_t>::max();
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < smallest) {
      smallest = distance;
      nearest = name;
    }
  }
  const std::size_t prefix = length_of_prefix(known);
  const std::size_t longer = std::max(word.size(), nearest.size());
  if (nearest.empty() || 3 * smallest > longer - std::min(prefix, longer)) return "";
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before,
                         std::string_view behind) {
  std::string text = nearest_name(word, known);
  if (!text.empty()) text.insert(0, before).append(behind);
  return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  return did_you_mean(word, known, "; did you mean '", "'?");
}

}  // namespace tri::config
