// Lets cereal write plain structs that say nothing about serialization: trivially copyable types as their bytes, so
// that a std::vector of such structs, or of handles, is an argument like any other. Only for the binary archives of
// messages.
#pragma once

#include <cereal/archives/binary.hpp>
#include <cereal/archives/portable_binary.hpp>
#include <type_traits>

namespace tri::objects {

// "Has no way of its own" is asked of another archive: of ours it would ask for the functions below again.
template <class T>
concept silent_plain_struct = std::is_class_v<T> && std::is_trivially_copyable_v<T> &&
                              !cereal::traits::is_output_serializable<T, cereal::PortableBinaryOutputArchive>::value &&
                              !cereal::traits::is_input_serializable<T, cereal::PortableBinaryInputArchive>::value;

}  // namespace tri::objects

namespace cereal {  // where cereal looks for functions of its archives

// The archive is tested first, which ends the recursion that the concept's question would start.
template <class Archive, class T>
  requires(std::is_same_v<Archive, BinaryOutputArchive>) && tri::objects::silent_plain_struct<T>
void save(Archive& archive, const T& value) {
  archive(binary_data(&value, sizeof value));
}
template <class Archive, class T>
  requires(std::is_same_v<Archive, BinaryInputArchive>) && tri::objects::silent_plain_struct<T>
void load(Archive& archive, T& value) {
  archive(binary_data(&value, sizeof value));
}

}  // namespace cereal
