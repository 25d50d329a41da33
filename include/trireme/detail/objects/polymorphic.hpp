// Pointers to base classes in archives: which class the object is of, then its value by the functions of that class.
// The classes are registered by type; an archive names one by a hash of its name, so it means the same in every
// process, and in a later run of the same program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>

#include "trireme/detail/objects/serialization.hpp"
#include "trireme/detail/objects/type_name.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// One class as what a pointer to a base of it may point to.
struct derived_class_entry {
  std::type_index base;
  std::type_index derived;
  std::string name;
  const void* kind;  // &kind_of_shared of the class: names it among shared objects
  void (*write)(output_archive&, const void* object);
  void (*read)(input_archive&, void* object);
  std::shared_ptr<void> (*make_shared)();
  void* (*make)();  // for std::unique_ptr
  void (*destroy)(void* object);
  void* (*to_base)(void* object);
  std::uint64_t hash = 0;  // of the name; see register_derived_class
};

/// Before main only. Two classes whose names have one hash end the program.
void register_derived_class(derived_class_entry entry);
/// For the class of an object. Throws std::runtime_error when it was not registered for this base.
const derived_class_entry& derived_class_of(std::type_index base, const std::string& name_of_base,
                                            std::type_index derived);
/// For a name in an archive. Throws archive_error.
const derived_class_entry& derived_class_named(std::type_index base, const std::string& name_of_base,
                                               std::uint64_t hash);

template <class Base, class Derived>
derived_class_entry describe_derived_class() {
  static_assert(std::is_base_of_v<Base, Derived> && std::is_polymorphic_v<Base> && std::has_virtual_destructor_v<Base>,
                "tri::derived_class<Base, Derived>: Derived has a base Base with a virtual destructor");
  static_assert(is_serializable<Derived>,
                "tri::derived_class<Base, Derived>: Derived has no functions to be written and read by (serialize, or "
                "save and load), or no default constructor");
  return {.base = typeid(Base),
          .derived = typeid(Derived),
          .name = type_name<Derived>(),
          .kind = &kind_of_shared<Derived>,
          .write = [](output_archive& archive,
                      const void* object) { write_value(archive, *static_cast<const Derived*>(object)); },
          .read = [](input_archive& archive, void* object) { read_value(archive, *static_cast<Derived*>(object)); },
          .make_shared = []() -> std::shared_ptr<void> { return std::make_shared<Derived>(); },
          .make = []() -> void* { return new Derived(); },
          .destroy = [](void* object) { delete static_cast<Derived*>(object); },
          .to_base = [](void* object) -> void* { return static_cast<Base*>(static_cast<Derived*>(object)); }};
}

/// The entry of an object; `address` becomes that of the whole object.
template <class Base>
const derived_class_entry& entry_of(const Base& object, const void*& address) {
  address = dynamic_cast<const void*>(&object);
  return derived_class_of(typeid(Base), type_name<Base>(), typeid(object));
}

template <class Base>
void write_polymorphic(output_archive& archive, const Base* object) {
  const std::uint32_t any = object != nullptr ? 1 : 0;
  archive.write(&any, sizeof any);
  if (any == 0) return;
  const void* address = nullptr;
  const derived_class_entry& entry = entry_of(*object, address);
  archive.write(&entry.hash, sizeof entry.hash);
  entry.write(archive, address);
}

/// Null, or the class of the object that follows.
template <class Base>
const derived_class_entry* read_class(input_archive& archive) {
  if (archive.read_choice(2) == 0) return nullptr;
  std::uint64_t hash = 0;
  archive.read(&hash, sizeof hash);
  return &derived_class_named(typeid(Base), type_name<Base>(), hash);
}

template <class Base>
void read_polymorphic(input_archive& archive, std::unique_ptr<Base>& pointer) {
  pointer.reset();
  const derived_class_entry* const entry = read_class<std::remove_const_t<Base>>(archive);
  if (entry == nullptr) return;
  const input_archive::level deeper(archive);
  std::unique_ptr<void, void (*)(void*)> made(entry->make(), entry->destroy);
  entry->read(archive, made.get());
  pointer.reset(static_cast<Base*>(entry->to_base(made.release())));
}

/// An object is known by the address of the whole of it, so that pointers to different bases share it.
template <class Base>
void write_shared_polymorphic(output_archive& archive, const std::shared_ptr<Base>& pointer) {
  const std::uint32_t any = pointer != nullptr ? 1 : 0;
  archive.write(&any, sizeof any);
  if (any == 0) return;
  const void* address = nullptr;
  const derived_class_entry& entry = entry_of<std::remove_const_t<Base>>(*pointer, address);
  archive.write(&entry.hash, sizeof entry.hash);
  const output_archive::shared_number shared =
      archive.number_of_shared(std::shared_ptr<const void>(pointer, address), entry.kind);
  archive.write(&shared.number, sizeof shared.number);
  if (shared.is_new) entry.write(archive, address);
}

template <class Base>
void read_shared_polymorphic(input_archive& archive, std::shared_ptr<Base>& pointer) {
  pointer.reset();
  const derived_class_entry* const entry = read_class<std::remove_const_t<Base>>(archive);
  if (entry == nullptr) return;
  std::uint32_t number = 0;
  archive.read(&number, sizeof number);
  std::shared_ptr<void> object;
  if (const std::shared_ptr<void>* const known = archive.shared_of(number, entry->kind)) {
    object = *known;
  } else {
    const input_archive::level deeper(archive);
    object = entry->make_shared();
    archive.add_shared(object, entry->kind);  // first: it may point to itself
    entry->read(archive, object.get());
  }
  pointer = std::shared_ptr<Base>(object, static_cast<Base*>(entry->to_base(object.get())));
}

}  // namespace tri::objects

namespace tri {

/// Lets pointers to `Base` in messages and moving objects point to a `Derived`. A variable at namespace scope, or a
/// static member, one for each pair, `Derived` of itself included:
///
///   const tri::derived_class<shape, circle> circle_is_a_shape;
///
/// Base needs a virtual destructor, Derived its own serialize (which may call that of Base first) and a default
/// constructor. std::unique_ptr<Base> and std::shared_ptr<Base> are then written by the class that the object has;
/// an object that several pointers share arrives once, whatever bases they point to.
template <class Base, class Derived>
struct derived_class {
  derived_class() { objects::register_derived_class(objects::describe_derived_class<Base, Derived>()); }
};

}  // namespace tri

#pragma GCC visibility pop
