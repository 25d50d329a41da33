// A method that is awaited gives its result at once: the coroutine and a caller get it when it returns.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  tri::task<int> answer(int) { co_return 1; }
  tri::task<> serve() { co_await when<&element::answer>(1); }
};
void use(tri::array<element> all) { all(0).send<&element::serve>(); }
