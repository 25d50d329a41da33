// Intrusive doubly linked lists in shared memory that has the same address in every process, so plain pointers suffice.
// A thread that changes a chain holds its owner's lock.
#pragma once

namespace tri::matching {

/// A link of an element that is in no chain points to nothing.
struct chain_link {
  chain_link* previous = nullptr;
  chain_link* next = nullptr;

  bool is_linked() const { return next != nullptr; }
  void unlink() {
    previous->next = next;
    next->previous = previous;
    previous = next = nullptr;
  }
};

/// `link` is the member by which an element hangs in this chain.
template <class Element, chain_link Element::*link>
class chain {
 public:
  chain() { ends_.previous = ends_.next = &ends_; }
  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;

  bool empty() const { return ends_.next == &ends_; }
  Element* front() const { return empty() ? nullptr : element_of(ends_.next); }
  Element* behind(const Element& element) const {
    chain_link* const next = (element.*link).next;
    return next == &ends_ ? nullptr : element_of(next);
  }
  void push_back(Element& element) {
    chain_link& added = element.*link;
    added.previous = ends_.previous;
    added.next = &ends_;
    ends_.previous->next = &added;
    ends_.previous = &added;
  }
  template <class Wanted>
  Element* find(Wanted&& wanted) const {
    for (chain_link* at = ends_.next; at != &ends_; at = at->next)
      if (Element* const element = element_of(at); wanted(*element)) return element;
    return nullptr;
  }

 private:
  static Element* element_of(chain_link* at) {
    // The distance of a member from the beginning, measured on storage that is never read.
    alignas(Element) static char storage[sizeof(Element)];
    auto* const sample = reinterpret_cast<Element*>(storage);
    const auto distance = reinterpret_cast<char*>(&(sample->*link)) - storage;
    return reinterpret_cast<Element*>(reinterpret_cast<char*>(at) - distance);
  }
  chain_link ends_;
};

}  // namespace tri::matching
