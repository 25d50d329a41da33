// The result of the reduction is not what the method takes.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void result(std::string) {}
  void give() { contribute(1, tri::sum, tri::to<&element::result>(this_element())); }
};
void use(tri::array<element> all) { all.broadcast<&element::give>(); }
