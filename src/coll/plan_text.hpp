// Steps as people read them.
#pragma once

#include <string>
#include <string_view>

#include "coll/plan.hpp"

namespace tri::coll {

std::string_view name_of(step_kind kind);
std::string_view name_of(buffer where);
/// "copy of 8 bytes from input 0 to scratch 16 of rank 4"; whose buffer is named where it is not that of the rank.
std::string text_of(const plan& of, std::size_t index);

}  // namespace tri::coll
