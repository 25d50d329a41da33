// Message-driven objects: the whole public interface. See docs/user/objects.md for the tutorial.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "objects/array.hpp"
#include "objects/collectives/section.hpp"
#include "objects/group.hpp"
#include "objects/messages/mailbox.hpp"
#include "objects/nodegroup.hpp"
#include "objects/offload.hpp"
#include "objects/single.hpp"
#include "trireme/buffer.hpp"
#include "trireme/run.hpp"
#include "trireme/trace.hpp"
#include "trireme/variables.hpp"
