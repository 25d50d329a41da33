// Blocks that relax towards the mean of their neighbours. Shows: a trace of the part of a run that is of interest.
#include <cmath>
#include <cstdio>
#include <trireme/objects.hpp>
#include <vector>

struct Block : tri::array_element<Block, tri::index<1>> {
  int blocks;
  std::vector<double> values;
  explicit Block(int count) : blocks(count), values(4096, this_index()[0]) {}

  void relax(int steps) {
    for (double& value : values) value = std::sqrt(value * value + 1);
    if (steps > 0) this_array()((this_index()[0] + 1) % blocks).send<&Block::relax>(steps - 1);
  }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    auto line = tri::make_array<Block>({64}, 64);
    line.broadcast<&Block::relax>(20);  // warm up
    tri::quiescence().get();
    tri::trace::on();
    line.broadcast<&Block::relax>(20);
    tri::quiescence().get();
    tri::trace::off();
    std::printf("done; traced: %s\n", tri::trace::is_on() ? "still" : "not any more");
  });
}
