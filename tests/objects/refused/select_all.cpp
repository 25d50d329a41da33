// all() takes its messages as they come, and an alternative must leave them until it is chosen.
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void one() {}
  void other() {}
  void stop() {}
  tri::task<> run() { co_await select(all(when<&element::one>(), when<&element::other>()), when<&element::stop>()); }
};
void use(tri::array<element> all) { all(0).send<&element::run>(); }
