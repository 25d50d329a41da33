#include "trireme/version.hpp"

int main() { return tri::version().empty() ? 1 : 0; }
