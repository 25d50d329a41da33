#include "model/broadcast_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tri::tools {
namespace {

// Of vertex `number` > 0.
std::int64_t parent_of(const broadcast_tree& tree, std::int64_t number) {
  return tree.kind == broadcast_tree::shape::binomial ? number & (number - 1) : (number - 1) / tree.children;
}

}  // namespace

broadcast_tree parse_broadcast_tree(std::string_view text) {
  const auto comma = text.find(',');
  const std::string_view name = text.substr(0, comma);
  const std::string_view number = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  broadcast_tree tree;
  bool right = name == "binomial" || name == "children" || name == "hosts";
  if (name == "binomial") tree.kind = broadcast_tree::shape::binomial;
  if (name == "children") tree.kind = broadcast_tree::shape::children;
  if (comma != std::string_view::npos) {
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tree.children);
    right = right && name != "binomial" && error == std::errc() && end == number.data() + number.size() &&
            tree.children >= 1;
  }
  if (!right)
    throw std::invalid_argument(fmt::format(
        "unknown tree '{}'; there are binomial, children,C and hosts,C (C children, at least 1, or none for 4)", text));
  return tree;
}

std::string name_of(const broadcast_tree& tree) {
  switch (tree.kind) {
    case broadcast_tree::shape::binomial:
      return "binomial";
    case broadcast_tree::shape::children:
      return fmt::format("children,{}", tree.children);
    case broadcast_tree::shape::hosts:
      break;
  }
  return fmt::format("hosts,{}", tree.children);
}

broadcast_messages count_messages(const broadcast_tree& tree, int hosts, int pes_of_host) {
  const bool over_hosts = tree.kind == broadcast_tree::shape::hosts;
  const std::int64_t vertices = over_hosts ? hosts : static_cast<std::int64_t>(hosts) * pes_of_host;
  const auto host_of = [&](std::int64_t vertex) { return over_hosts ? vertex : vertex / pes_of_host; };
  broadcast_messages found;
  if (over_hosts) found.inside_hosts = static_cast<std::int64_t>(hosts) * (pes_of_host - 1);
  std::vector<int> steps(static_cast<std::size_t>(vertices));
  std::vector<std::int64_t> sent(static_cast<std::size_t>(vertices));
  for (std::int64_t vertex = 1; vertex < vertices; ++vertex) {
    const std::int64_t parent = parent_of(tree, vertex);
    const bool crosses = host_of(parent) != host_of(vertex);
    int& own_steps = steps[static_cast<std::size_t>(vertex)];
    own_steps = steps[static_cast<std::size_t>(parent)] + (crosses ? 1 : 0);
    found.steps_between_hosts = std::max(found.steps_between_hosts, own_steps);
    if (!crosses) {
      ++found.inside_hosts;
      continue;
    }
    ++found.between_hosts;
    found.most_between_hosts = std::max(found.most_between_hosts, ++sent[static_cast<std::size_t>(parent)]);
  }
  return found;
}

}  // namespace tri::tools
