// Tests of ports between real processes (port_processes.cpp), for each conduit that can carry them: a test program
// instantiates them for its own.
#pragma once

#include <gtest/gtest.h>

#include "wire/port.hpp"

namespace tri::wire::test {

inline port_options over_loopback() {
  port_options options;
  options.transports = "tcp";  // of UCX
  options.devices = "lo";
  return options;
}

class port_processes : public ::testing::TestWithParam<conduit_choice> {
 public:
  static inline conduit_choice conduit = conduit_choice::tcp;  // of the test that runs, and of the processes it forks

 protected:
  void SetUp() override { conduit = GetParam(); }
};

}  // namespace tri::wire::test
