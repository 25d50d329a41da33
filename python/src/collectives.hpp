// Collectives over all PEs on values whose types are known at run time only.
#pragma once

#include <string>
#include <vector>

namespace tri::python {

/// Reduces elements one by one, the same on all PEs. `kind`: "i8", "u8", "f8" or "c16"; `operation`: "sum", "product",
/// "min", "max", "and", "or", "xor". Throws team_error on all PEs when they differ in any of these, or in the length,
/// or when the kind has no such operation.
std::string allreduce(const std::string& kind, const std::string& operation, std::string bytes);
/// The root's bytes, on all PEs.
std::string broadcast(std::string bytes, int root);
/// The bytes of all PEs, by number.
std::vector<std::string> allgather(std::string bytes);

}  // namespace tri::python
