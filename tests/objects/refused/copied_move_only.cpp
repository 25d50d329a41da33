// A move-only argument that was not moved.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(tri::buffer<int>) {}
};
void use(tri::array<element> all) {
  tri::buffer<int> data(3);
  all(0).send<&element::take>(data);
}
