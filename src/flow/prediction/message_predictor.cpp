#include "flow/prediction/message_predictor.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace tri::flow::prediction {
namespace {

constexpr std::array<std::pair<std::string_view, predictor_kind>, 4> kinds{{
    {"dpd", predictor_kind::dpd},
    {"shortdpd", predictor_kind::shortdpd},
    {"early", predictor_kind::early},
    {"graph", predictor_kind::graph},
}};

std::variant<period_predictor, graph_predictor> predictor_of(const prediction_options& options) {
  period_rule rule = period_rule::full;
  switch (options.kind) {
    case predictor_kind::graph:
      return graph_predictor(options.graph_states);
    case predictor_kind::dpd:
      rule = period_rule::full;
      break;
    case predictor_kind::shortdpd:
      rule = period_rule::brief;
      break;
    case predictor_kind::early:
      rule = period_rule::early;
      break;
  }
  if (options.longest_period > 0 && options.distinct <= static_cast<std::size_t>(options.longest_period)) {
    throw std::invalid_argument("prediction: distinct (" + std::to_string(options.distinct) +
                                ") must be more than the longest period (" + std::to_string(options.longest_period) +
                                "), or a number would change its meaning within the history");
  }
  return period_predictor(rule, options.window, options.longest_period);
}

}  // namespace

predictor_kind predictor_kind_of(std::string_view name) {
  for (const auto& [known, kind] : kinds) {
    if (name == known) return kind;
  }
  throw std::invalid_argument("unknown predictor '" + std::string(name) +
                              "'; there are dpd, shortdpd, early and graph");
}

std::string_view name_of(predictor_kind kind) {
  for (const auto& [name, known] : kinds) {
    if (kind == known) return name;
  }
  throw std::logic_error("a predictor without a name");
}

std::size_t message_predictor::facts_hash::operator()(const message_facts& message) const {
  std::uint64_t hash = message.address * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 29U ^ message.size) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ hash >> 32U ^ message.sender) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>(hash ^ hash >> 31U);
}

message_predictor::message_predictor(const prediction_options& options)
    : numbers_(options.distinct), predictor_(predictor_of(options)) {}

void message_predictor::push(const message_facts& message) {
  const symbol number = numbers_.use(message).where;
  std::visit([&](auto& predictor) { predictor.push(number); }, predictor_);
}

std::optional<message_facts> message_predictor::next(int ahead) const {
  const std::optional<symbol> number =
      std::visit([&](const auto& predictor) { return predictor.next(ahead); }, predictor_);
  if (!number) return std::nullopt;
  return numbers_.key(*number);
}

std::size_t message_predictor::memory_bytes() const {
  return numbers_.memory_bytes() +
         std::visit([](const auto& predictor) { return predictor.memory_bytes(); }, predictor_);
}

}  // namespace tri::flow::prediction
