// A method without an integer in front has no reference number: no message would ever match one.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void note(double) {}
  tri::task<> run() { co_await when<&element::note>(1); }
};
void use(tri::array<element> all) { all(0).send<&element::run>(); }
