// Arguments that the method's parameters cannot be made from.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(int, std::string) {}
};
void use(tri::array<element> all) { all(0).send<&element::take>(std::string("x"), 1); }
