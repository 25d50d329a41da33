// Objects and loops: what most programs need.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/loops.hpp"
#include "trireme/objects.hpp"
