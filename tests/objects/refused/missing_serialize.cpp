// A copyable argument that cannot cross to another process.
#include <trireme/objects.hpp>
struct stubborn {
  std::string text;
};
struct element : tri::array_element<element, tri::index<1>> {
  void take(stubborn) {}
};
void use(tri::array<element> all) { all(0).send<&element::take>(stubborn{}); }
