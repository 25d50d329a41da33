// The same for several messages, and for an enumeration.
#include <trireme/objects.hpp>
enum class side : unsigned char { left, right };
struct element : tri::array_element<element, tri::index<1>> {
  void border(side, double) {}
  tri::task<> run() { co_await when_n<&element::border>(2); }
};
void use(tri::array<element> all) { all(0).send<&element::run>(); }
