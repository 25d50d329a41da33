// Everything of Trireme.
#pragma once

#include "trireme/loops.hpp"
#include "trireme/objects.hpp"
