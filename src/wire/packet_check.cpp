#include "wire/packet_check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <initializer_list>
#include <stdexcept>

namespace tri::wire {
namespace {

// As <sodium/crypto_generichash.h> declares them; only checked packets need the library, and no build needs its header.
struct check_library {
  int (*sodium_init)() = nullptr;
  std::size_t (*crypto_generichash_statebytes)() = nullptr;
  int (*crypto_generichash_init)(void* state, const unsigned char* key, std::size_t key_bytes,
                                 std::size_t out_bytes) = nullptr;
  int (*crypto_generichash_update)(void* state, const unsigned char* in, unsigned long long in_bytes) = nullptr;
  int (*crypto_generichash_final)(void* state, unsigned char* out, std::size_t out_bytes) = nullptr;
  int (*sodium_memcmp)(const void* one, const void* other, std::size_t bytes) = nullptr;

  check_library();
};

struct alignas(64) hash_state {
  std::array<std::byte, 512> bytes;
};

check_library::check_library() {
  void* library = nullptr;
  for (const char* const name : {"libsodium.so.23", "libsodium.so.26"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(fmt::format(
        "--tri-wire-authentication on needs libsodium, which cannot be loaded: {}; on Debian install libsodium23",
        dlerror()));
  const auto find = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(fmt::format("the libsodium of this machine has no {}", name));
  };
  find(sodium_init, "sodium_init");
  find(crypto_generichash_statebytes, "crypto_generichash_statebytes");
  find(crypto_generichash_init, "crypto_generichash_init");
  find(crypto_generichash_update, "crypto_generichash_update");
  find(crypto_generichash_final, "crypto_generichash_final");
  find(sodium_memcmp, "sodium_memcmp");
  if (sodium_init() < 0 || crypto_generichash_statebytes() > sizeof(hash_state))
    throw std::runtime_error("the libsodium of this machine cannot be used: sodium_init() failed");
}

const check_library& sodium() {
  static const check_library library;
  return library;
}

// `domain` keeps packets and bodies apart.
check_value hash_of(const packet_key& key, std::uint64_t domain,
                    std::initializer_list<std::span<const std::byte>> parts) {
  const check_library& library = sodium();
  hash_state state;
  check_value value;
  library.crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size(), value.size());
  const auto add = [&](std::span<const std::byte> part) {
    if (!part.empty())
      library.crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  };
  add(std::as_bytes(std::span(&domain, 1)));
  for (const std::span<const std::byte> part : parts) add(part);
  library.crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(value.data()), value.size());
  return value;
}

}  // namespace

void load_check_library() { static_cast<void>(sodium()); }

check_value check_of_packet(const packet_key& key, const packet_head& head, std::span<const std::byte> rest,
                            std::span<const std::byte> body, std::optional<std::size_t> announced_bytes) {
  // Where one part ends and the next begins counts, too.
  const std::array<std::uint64_t, 3> shape = {rest.size(), announced_bytes.value_or(body.size()),
                                              std::uint64_t{announced_bytes.has_value()}};
  return hash_of(key, 0, {std::as_bytes(std::span(shape)), std::as_bytes(std::span(&head, 1)), rest, body});
}

check_value check_of_body(const packet_key& key, std::span<const std::byte> body) { return hash_of(key, 1, {body}); }

bool are_equal(const check_value& one, const check_value& other) {
  return sodium().sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace tri::wire
