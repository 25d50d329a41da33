// A callback has one value to give.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(double, std::string) {}
};
void use(tri::array<element> all) { static_cast<void>(tri::to<&element::take>(all)); }
