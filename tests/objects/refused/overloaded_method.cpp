// Which of the two? A cast in the brackets says it: send<static_cast<void (element::*)(int)>(&element::take)>(1).
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void take(int) {}
  void take(double) {}
};
void use(tri::array<element> all) { all(0).send<&element::take>(1); }
