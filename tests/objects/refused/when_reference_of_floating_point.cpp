// A reference number that would be cut to an integer.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void note(int) {}
  tri::task<> run() { co_await when<&element::note>(1.5); }
};
void use(tri::array<element> all) { all(0).send<&element::run>(); }
