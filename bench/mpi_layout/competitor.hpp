// The competitors that move strided data: one process each, which reads its tasks from lines.
//   "<shape> pack|unpack|copy <operations>"  ->  nanoseconds for all of them together
#pragma once

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

namespace tri::bench {

inline double nanoseconds_for(long operations, const std::function<void()>& operation) {
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < operations; ++i) operation();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// Answers lines from standard input until it ends. operation_of(shape, way) returns the measured operation.
template <class OperationOf>
int answer(OperationOf&& operation_of) {
  std::string shape, way, known;
  long operations = 0;
  std::function<void()> operation;
  while (std::cin >> shape >> way >> operations) {
    if (shape + way != known) {
      operation = operation_of(shape, way);
      known = shape + way;
    }
    operation();  // pages and caches: others had the core since the last time
    std::printf("%.1f\n", nanoseconds_for(operations, operation));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace tri::bench
