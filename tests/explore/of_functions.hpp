// A scenario of functions, one for each agent, on what they share: a value that is made anew in watched memory.
#pragma once

#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "explore/interleavings.hpp"

namespace tri::explore {

template <class Shared>
class of_functions : public scenario {
 public:
  using body = std::function<void(Shared&)>;
  explicit of_functions(
      std::vector<body> bodies, body at_end = [](Shared&) {})
      : bodies_(std::move(bodies)), at_end_(std::move(at_end)) {}
  int agents() const override { return static_cast<int>(bodies_.size()); }
  void begin() override { shared_ = new (watched_allocate(sizeof(Shared))) Shared; }
  void run(int agent) override { bodies_[static_cast<std::size_t>(agent)](*shared_); }
  void end() override { at_end_(*shared_); }

 private:
  std::vector<body> bodies_;
  body at_end_;
  Shared* shared_ = nullptr;
};

}  // namespace tri::explore
