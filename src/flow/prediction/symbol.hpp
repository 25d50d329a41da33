// What the predictors see of a message: a small number that is equal for equal messages. Only equality counts.
#pragma once

#include <cstdint>

namespace tri::wire::prediction {

using symbol = std::uint16_t;

}  // namespace tri::wire::prediction
