#include <chrono>
// The sleep is over at once: nothing waits for it.
#include <trireme/objects.hpp>
#pragma GCC diagnostic error "-Wunused-result"
struct element : tri::array_element<element, tri::index<1>> {
  tri::task<> work() {
    tri::after(std::chrono::seconds(1));
    co_return;
  }
};
