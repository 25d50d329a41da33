// The element is not one of those that have the method.
#include <trireme/objects.hpp>
struct other {
  void go() {}
};
struct element : tri::array_element<element, tri::index<1>> {
  void take(int) {}
};
void use(tri::array<element> all) { all(0).send<&other::go>(); }
