// An awaited method whose first parameter is an integer is awaited by its value; there is no value to take for granted.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  long response(long value) { return value; }
  tri::task<long> run() { co_return co_await when<&element::response>(); }
};
void use(tri::array<element> all) { all(0).send<&element::run>(); }
