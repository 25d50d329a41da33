#include <chrono>
// A coroutine outlives its message: a parameter by reference would dangle after the first co_await.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  tri::task<int> take(const std::string& text) {
    co_await tri::after(std::chrono::nanoseconds(1));
    co_return static_cast<int>(text.size());
  }
};
void use(tri::array<element> all) { all(0).send<&element::take>(std::string("x")); }
