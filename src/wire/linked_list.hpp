// A list of records that hold their own links: no allocation, removal from the middle in one step. One thread.
#pragma once

namespace tri::wire {

/// `Record` has the members `Record* previous` and `Record* next`, null while it is in no list.
template <class Record>
class linked_list {
 public:
  Record* first() const { return first_; }
  bool empty() const { return first_ == nullptr; }

  void push_back(Record* record) {
    record->previous = last_;
    record->next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = record;
    last_ = record;
  }
  void remove(Record* record) {
    (record->previous == nullptr ? first_ : record->previous->next) = record->next;
    (record->next == nullptr ? last_ : record->next->previous) = record->previous;
    record->previous = record->next = nullptr;
  }
  Record* pop_front() {
    Record* const record = first_;
    if (record != nullptr) remove(record);
    return record;
  }

 private:
  Record* first_ = nullptr;
  Record* last_ = nullptr;
};

}  // namespace tri::wire
