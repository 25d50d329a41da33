#include "mpi/datatypes/layout/type_signature.hpp"

#include <utility>

#include "mpi/datatypes/layout/checked.hpp"

namespace tri::mpi {
namespace {

using form = signature::form;

constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t base = 0x0f3c'9a51'7b2d'4e6b % prime;  // any number that is not a small power will do

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  const std::uint64_t sum = static_cast<std::uint64_t>(product & prime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= prime ? sum - prime : sum;
}
std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= prime ? sum - prime : sum;
}

shared_signature shared(signature made) { return std::make_shared<const signature>(std::move(made)); }

}  // namespace

sequence_hash hash_of(element_kind kind) { return {static_cast<std::uint64_t>(kind) + 1, base}; }

sequence_hash joined(const sequence_hash& first, const sequence_hash& second) {
  return {add(multiply(first.value, second.power), second.value), multiply(first.power, second.power)};
}

sequence_hash repeated(const sequence_hash& what, std::uint64_t count) {
  sequence_hash result = {};
  for (sequence_hash doubling = what; count != 0; count >>= 1, doubling = joined(doubling, doubling))
    if ((count & 1) != 0) result = joined(result, doubling);
  return result;
}

shared_signature run_of(element_kind kind, std::uint64_t count) {
  if (count == 0) return nullptr;
  signature made;
  made.kind = kind;
  made.count = made.elements = count;
  made.bytes = checked::multiply_sizes(count, facts_of(kind).bytes);
  made.hash = repeated(hash_of(kind), count);
  return shared(std::move(made));
}

shared_signature repeated(std::uint64_t count, const shared_signature& body) {
  if (count == 0 || body == nullptr) return nullptr;
  if (count == 1) return body;
  if (body->what == form::run) return run_of(body->kind, checked::multiply_sizes(count, body->count));
  if (body->what == form::loop) return repeated(checked::multiply_sizes(count, body->count), body->body);
  signature made;
  made.what = form::loop;
  made.kind = body->kind;
  made.count = count;
  made.elements = checked::multiply_sizes(count, body->elements);
  made.bytes = checked::multiply_sizes(count, body->bytes);
  made.hash = repeated(body->hash, count);
  made.body = body;
  return shared(std::move(made));
}

shared_signature in_sequence(const std::vector<shared_signature>& parts) {
  std::vector<shared_signature> flat;
  const auto take = [&](const shared_signature& part) {
    const bool joins = !flat.empty() && part->what == form::run && flat.back()->what == form::run;
    if (joins && part->kind == flat.back()->kind)
      flat.back() = run_of(part->kind, checked::add_sizes(part->count, flat.back()->count));
    else
      flat.push_back(part);
  };
  for (const shared_signature& part : parts) {
    if (part == nullptr) continue;
    if (part->what == form::sequence)
      for (const shared_signature& inner : part->parts) take(inner);
    else
      take(part);
  }
  if (flat.empty()) return nullptr;
  if (flat.size() == 1) return flat[0];
  signature made;
  made.what = form::sequence;
  made.kind = flat[0]->kind;
  for (const shared_signature& part : flat) {
    if (part->kind != made.kind) made.kind = element_kind::mixed;
    made.elements = checked::add_sizes(made.elements, part->elements);
    made.bytes = checked::add_sizes(made.bytes, part->bytes);
    made.hash = joined(made.hash, part->hash);
  }
  made.parts = std::move(flat);
  return shared(std::move(made));
}

}  // namespace tri::mpi
