// Everything of Trireme.
#pragma once

#include "trireme/objects.hpp"
