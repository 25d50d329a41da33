// The messages of a tri::mailbox: values of one plain type, or one object as an archive. A message knows the type that
// was sent, and reports it when another one is requested.
#pragma once

#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>  // and the concepts of ranges, without the views of <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "trireme/buffer.hpp"
#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/objects/type_name.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A message does not contain the requested type.
struct message_mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace objects {

/// The content type of a message. Registered by type before main, so that a number names it in every process.
struct message_type {
  std::string name;
  std::size_t bytes = 0;  // of one value; 0: an archive of one object
};
std::uint32_t register_message_type(message_type type);
const message_type& message_type_of(std::uint32_t number);

template <class T>
struct message_values {
  static inline const std::uint32_t number = register_message_type({type_name<T>(), sizeof(T)});
};
template <class T>
struct message_archive {
  static inline const std::uint32_t number = register_message_type({type_name<T>(), 0});
};

struct message_contents {
  std::uint32_t type = 0;
  buffer<std::byte> data;
};

template <class T>
inline constexpr bool is_buffer = false;
template <class T>
inline constexpr bool is_buffer<buffer<T>> = true;

/// Vectors, strings, spans of plain data: sent as their values. A std::array is one value.
template <class T>
concept plain_range = std::ranges::contiguous_range<T> &&
                      (std::ranges::enable_view<T> ||
                       !std::is_trivially_copyable_v<T>)&&std::is_trivially_copyable_v<std::ranges::range_value_t<T>> &&
                      is_plain<std::ranges::range_value_t<T>>;

/// An object as an archive in a buffer.
template <class T>
buffer<std::byte> archive_of(const T& object) {
  output_archive archive;
  archive(object);
  const output_archive::contents written = archive.take();
  buffer<std::byte> bytes(written.bytes);
  std::memcpy(bytes.data(), written.block, written.bytes);
  arena::release(written.block);
  return bytes;
}

template <class T>
message_contents contents_of(T&& value) {
  using type = std::remove_cvref_t<T>;
  static_assert(!std::is_array_v<type>,
                "tri::mailbox: send an array as a std::span (a text as a std::string_view) of it");
  static_assert(!std::is_pointer_v<type>, "tri::mailbox: a pointer means nothing to the receiver; send a std::span");
  if constexpr (is_buffer<type>) {
    static_assert(!std::is_lvalue_reference_v<T>, "tri::mailbox: a tri::buffer is given away: send std::move(it)");
    using one = std::remove_reference_t<decltype(value[0])>;
    return {message_values<one>::number, tri::detail::buffer_access::as<std::byte>(std::forward<T>(value))};
  } else if constexpr (plain_range<type>) {
    using one = std::ranges::range_value_t<type>;
    return {message_values<one>::number,
            buffer<std::byte>::copy_of(std::as_bytes(std::span(std::ranges::data(value), std::ranges::size(value))))};
  } else if constexpr (std::is_trivially_copyable_v<type>) {
    return {message_values<type>::number, buffer<std::byte>::copy_of(std::as_bytes(std::span(&value, 1)))};
  } else {
    static_assert(is_serializable<type>,
                  "tri::mailbox: this type is neither plain data nor a range of plain data, nor has it a member "
                  "'template <class Archive> void serialize(Archive&)'");
    return {message_archive<type>::number, archive_of(value)};
  }
}

}  // namespace objects

/// A message that was received. Move-only.
class received_message {
 public:
  received_message() = default;
  received_message(int source, int tag, objects::message_contents contents)
      : source_(source), tag_(tag), contents_(std::move(contents)) {}

  /// The PE that sent it.
  int source() const { return source_; }
  int tag() const { return tag_; }
  std::size_t bytes() const { return contents_.data.size(); }
  /// For error messages, e.g. "3 values of double from PE 2 with tag 7".
  std::string describe() const;

  /// The values, which stay in the message. Throws message_mismatch when they are of another type.
  template <class T>
  std::span<const T> values() const {
    require(objects::message_values<T>::number, "values of ", objects::type_name<T>());
    return {reinterpret_cast<const T*>(contents_.data.data()), contents_.data.size() / sizeof(T)};
  }

  /// The contents, as one value (T), many (tri::buffer<T>, without a copy; std::vector<T>, std::string) or an object.
  /// Throws message_mismatch when the message has another type, or when one value is requested and there are none or
  /// several. Moves out of the message.
  template <class T>
  T take() {
    if constexpr (objects::is_buffer<T>) {
      using one = std::remove_reference_t<decltype(std::declval<T&>()[0])>;
      require(objects::message_values<one>::number, "values of ", objects::type_name<one>());
      return tri::detail::buffer_access::as<one>(std::move(contents_.data));
    } else if constexpr (objects::plain_range<T>) {
      static_assert(!std::ranges::enable_view<T>, "tri::received_message: take a container, or look at values<T>()");
      const auto all = values<std::ranges::range_value_t<T>>();
      return T(all.begin(), all.end());
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      const auto all = values<T>();
      if (all.size() != 1) refuse("one value of ", objects::type_name<T>());
      return all.front();
    } else {
      require(objects::message_archive<T>::number, "", objects::type_name<T>());
      objects::input_archive archive(contents_.data.data(), contents_.data.size());
      T object;
      archive(object);
      return object;
    }
  }

 private:
  void require(std::uint32_t type, const char* how, const std::string& name) const {
    if (contents_.type != type) [[unlikely]]
      refuse(how, name);
  }
  [[noreturn]] void refuse(const char* how, const std::string& name) const;

  int source_ = -1;
  int tag_ = -1;
  objects::message_contents contents_;
};

}  // namespace tri

#pragma GCC visibility pop
