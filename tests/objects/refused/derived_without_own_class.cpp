// Elements that move would arrive as objects of the base class.
#include <trireme/objects.hpp>
struct base : tri::array_element<base, tri::index<1>> {};
struct derived : base {};
void use() { tri::make_array<derived>({3}); }
