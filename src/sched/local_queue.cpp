#include "trireme/detail/sched/local_queue.hpp"

namespace tri::sched {

local_queue::chunk* local_queue::new_chunk() {
  auto* const made = new chunk;
  made->next = nullptr;
  return made;
}

local_queue::~local_queue() {
  while (head_ != nullptr) {
    chunk* const next = head_->next;
    delete head_;
    head_ = next;
  }
  delete spare_;
}

void local_queue::append_chunk() {
  chunk* const fresh = spare_ != nullptr ? spare_ : new_chunk();
  spare_ = nullptr;
  fresh->next = nullptr;
  tail_->next = fresh;
  tail_ = fresh;
  ++chunks_;
  tail_position_ = 0;
}

// Only called when the next message is wanted, so the last envelope of the chunk has ended its run.
void local_queue::drop_chunk() {
  chunk* const used = head_;
  head_ = used->next;
  --chunks_;
  head_position_ = 0;
  if (spare_ == nullptr)
    spare_ = used;
  else
    delete used;
}

}  // namespace tri::sched
