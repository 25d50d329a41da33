// The out-of-tree program of the install test: it must print "trireme <version>" and exit with 0.
#include <iostream>

#include "trireme/version.hpp"

int main() { std::cout << "trireme " << tri::version() << '\n'; }
