// One bit per place that may have open work, and a summary when there is more than one word, so that looking for work
// costs one read of a line that is not written while there is none. Up to 64 words, 4096 bits. The bits are hints in
// one direction: a set bit may be stale, but work that must be found always has its bit set (the poster sets it after
// the work is open; it is cleared only when the work is exhausted). A view; the words are in board memory. Any PE of
// any process of the host.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace tri::board {

template <class Word>
class work_words {
 public:
  work_words() = default;
  // With one word the summary is not used.
  work_words(Word* summary, Word* words, std::uint32_t word_count)
      : summary_(word_count > 1 ? summary : words), words_(words), word_count_(word_count) {}

  // May miss a bit while a PE is between removing a mark and restoring it (clear()): sufficient for a PE that polls
  // again, not for one that goes to sleep. seq_cst as in set() and clear().
  bool any() const { return summary_->load(std::memory_order_seq_cst) != 0; }

  // The check before sleep, of the words themselves. seq_cst with seq_cst in set(): a PE that announces its sleep first
  // and then sees no work here, and a poster that sets the bit first and then sees no sleeper, cannot both happen
  // (words.set pairs with words.any_before_sleep).
  bool any_before_sleep() const {
    for (std::uint32_t index = 0; index < word_count_; ++index)
      if (words_[index].load(std::memory_order_seq_cst) != 0) return true;
    return false;
  }

  void set(std::uint32_t bit) {
    words_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64),
                              std::memory_order_seq_cst);  // words.set, pairs: words.any_before_sleep
    if (word_count_ == 1) return;
    const std::uint64_t mark = std::uint64_t{1} << (bit / 64);
    // Already set: then a clearing PE that removes the mark after this read will see our bit (clear() checks again).
    if ((summary_->load(std::memory_order_seq_cst) & mark) == 0) summary_->fetch_or(mark, std::memory_order_seq_cst);
  }

  void clear(std::uint32_t bit) {
    Word& word = words_[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    // relaxed: only saves the exchange when already cleared; the caller knows that no set() is coming
    if ((word.load(std::memory_order_relaxed) & mask) == 0) return;
    // seq_cst as everywhere here: the loop below needs one order of word and summary
    const std::uint64_t before = word.fetch_and(~mask, std::memory_order_seq_cst);
    if (word_count_ == 1 || (before & ~mask) != 0) return;
    const std::uint64_t mark = std::uint64_t{1} << (bit / 64);
    do {
      summary_->fetch_and(~mark, std::memory_order_seq_cst);
      if (word.load(std::memory_order_seq_cst) == 0) return;
      summary_->fetch_or(mark, std::memory_order_seq_cst);  // a bit was set in between: restore the mark
    } while (word.load(std::memory_order_seq_cst) == 0);    // and again if that bit has gone meanwhile
  }

  // relaxed reads: they choose where to look; the slot or entry itself synchronises
  std::uint64_t word(std::uint32_t index) const { return words_[index].load(std::memory_order_relaxed); }
  bool test(std::uint32_t bit) const { return ((word(bit / 64) >> (bit % 64)) & 1) != 0; }
  // `width` bits from `bit` on, inside one word.
  std::uint32_t bits(std::uint32_t bit, std::uint32_t width) const {
    return static_cast<std::uint32_t>((word(bit / 64) >> (bit % 64)) & ((std::uint64_t{1} << width) - 1));
  }

  std::uint32_t word_count() const { return word_count_; }
  const Word* first_word() const { return words_; }
  const Word* hint() const { return summary_; }

 private:
  Word* summary_ = nullptr;
  Word* words_ = nullptr;
  std::uint32_t word_count_ = 0;
};

}  // namespace tri::board
