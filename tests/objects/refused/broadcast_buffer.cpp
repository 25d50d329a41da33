// A broadcast has many receivers; a buffer has one owner.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(tri::buffer<int>) {}
};
void use(tri::array<element> all) { all.broadcast<&element::take>(tri::buffer<int>(3)); }
