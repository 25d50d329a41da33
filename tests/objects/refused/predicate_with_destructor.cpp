// gcc 12 destroys what a lambda in a co_await captures twice.
#include <string>
#include <trireme/objects.hpp>
struct element : tri::array_element<element, tri::index<1>> {
  void note(std::string) {}
  tri::task<> run(std::string wanted) {
    co_await when_if<&element::note>([wanted](const std::string& text) { return text == wanted; });
  }
};
void use(tri::array<element> all) { all(0).send<&element::run>("x"); }
