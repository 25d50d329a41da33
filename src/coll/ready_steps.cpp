#include "coll/ready_steps.hpp"

namespace tri::coll {

ready_steps::ready_steps(const plan& of)
    : unmet_(of.steps.size()),
      first_successor_(of.steps.size() + 1),
      successors_(of.dependencies.size()),
      left_(of.steps.size()) {
  for (const std::uint32_t dependency : of.dependencies) ++first_successor_[dependency + 1];
  for (std::size_t i = 1; i < first_successor_.size(); ++i) first_successor_[i] += first_successor_[i - 1];
  std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end());
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    const auto dependencies = of.dependencies_of(i);
    unmet_[i] = static_cast<std::uint32_t>(dependencies.size());
    for (const std::uint32_t dependency : dependencies) successors_[next[dependency]++] = static_cast<std::uint32_t>(i);
  }
}

void ready_steps::begin(std::vector<std::uint32_t>& ready) const {
  for (std::size_t i = 0; i < unmet_.size(); ++i)
    if (unmet_[i] == 0) ready.push_back(static_cast<std::uint32_t>(i));
}

void ready_steps::ended(std::uint32_t step, std::vector<std::uint32_t>& ready) {
  --left_;
  for (std::uint32_t i = first_successor_[step]; i < first_successor_[step + 1]; ++i)
    if (--unmet_[successors_[i]] == 0) ready.push_back(successors_[i]);
}

}  // namespace tri::coll
