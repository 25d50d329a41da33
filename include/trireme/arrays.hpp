// Global arrays: the whole public interface. See docs/user/arrays.md for the tutorial.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/array_files.hpp"
#include "trireme/copy.hpp"
#include "trireme/element_reference.hpp"
#include "trireme/fence.hpp"
#include "trireme/global_array.hpp"
#include "trireme/global_lock.hpp"
#include "trireme/global_pointer.hpp"
#include "trireme/local_tile.hpp"
#include "trireme/own_loops.hpp"
#include "trireme/redistribute.hpp"
#include "trireme/run.hpp"
#include "trireme/strict.hpp"
#include "trireme/team.hpp"
