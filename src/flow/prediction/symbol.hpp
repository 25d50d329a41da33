// A message as the predictors see it: a small number, equal for equal messages. Only equality counts.
#pragma once

#include <cstdint>

namespace tri::flow::prediction {

using symbol = std::uint16_t;

}  // namespace tri::flow::prediction
