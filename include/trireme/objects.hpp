// Message-driven objects: the whole public interface. See docs/user/objects.md for the tutorial.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/array.hpp"
#include "trireme/buffer.hpp"
#include "trireme/checkpoint.hpp"
#include "trireme/group.hpp"
#include "trireme/mailbox.hpp"
#include "trireme/nodegroup.hpp"
#include "trireme/offload.hpp"
#include "trireme/run.hpp"
#include "trireme/section.hpp"
#include "trireme/single.hpp"
#include "trireme/team.hpp"
#include "trireme/trace.hpp"
#include "trireme/variables.hpp"
#include "trireme/zero_copy.hpp"
