// The kNeighbor benchmark (C. Mei, Message-driven parallel language runtime design and optimizations for
// multicore-based massively parallel machines, University of Illinois 2012, section 4.1): objects in a ring; in every
// iteration each sends a message to its k neighbours on both sides, reads every received byte, acknowledges it, and
// continues when it has all 2k messages and 2k acknowledgements.
#pragma once

#include <cstddef>
#include <string>

namespace tri::bench {

struct kneighbor_shape {
  int k = 3;
  std::size_t bytes = 64;
  int elements = 2;
  bool acks = true;
  bool processes = false;  // PEs are two processes instead of two threads

  bool operator==(const kneighbor_shape&) const = default;
  std::string name() const;  // "kneighbor/64B/2", with /k1, /no_acks, /processes where it is not as above
};

// "k=1,bytes=4096,elements=8,acks=off,processes=on", in any order, the rest as above. Throws std::invalid_argument that
// describes the error.
kneighbor_shape parse_kneighbor(const std::string& text);

}  // namespace tri::bench
