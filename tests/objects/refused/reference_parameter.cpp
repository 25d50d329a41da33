// There is no caller's variable to refer to.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(int& out) { out = 1; }
};
void use(tri::array<element> all) {
  int here = 0;
  all(0).send<&element::take>(here);
}
