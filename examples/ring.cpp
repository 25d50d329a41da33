// A token runs round a ring of objects. Shows: an array of objects, sending, a future, a reduction.
#include <cstdio>
#include <trireme/objects.hpp>

struct Station : tri::array_element<Station, tri::index<1>> {
  int stations;
  int visits = 0;
  explicit Station(int count) : stations(count) {}

  // An entry method: an ordinary member function that others invoke by message.
  void pass(int hops_left, tri::promise<int> finished) {
    ++visits;
    if (hops_left == 0)
      finished.set(this_index()[0]);
    else
      this_array()((this_index()[0] + 1) % stations).send<&Station::pass>(hops_left - 1, finished);
  }
  int count() { return visits; }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {  // runs once, wherever the stations are
    const int stations = 100, hops = 1000;
    auto ring = tri::make_array<Station>({stations}, stations);
    tri::future<int> last;
    ring(0).send<&Station::pass>(hops, last.get_promise());
    std::printf("the token ended at station %d\n", last.get());
    std::printf("%d visits on %d PEs\n", ring.reduce<&Station::count>(tri::sum).get(), tri::pe_count());
  });
}
