// The shortest of many round trips between the PEs 0 and 1, in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "trireme/objects.hpp"

namespace {

struct echo : tri::group_member<echo> {
  int answer(int number) { return number; }
};

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    auto group = tri::make_group<echo>();
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < 3000; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      if (group(1).call<&echo::answer>(round).get() != round) tri::fail("a wrong answer");
      const auto taken = std::chrono::steady_clock::now() - begin;
      shortest = std::min<std::int64_t>(shortest, std::chrono::nanoseconds(taken).count());
    }
    std::printf("%lld\n", static_cast<long long>(shortest));
  });
}
