// Receives for bodies that arrive without a request: one size class, one tag. A body is announced by a small message of
// the same sender, which may arrive before or after the body; MPI keeps the order of each sender in a class, so the
// first body of a sender belongs to its first announcement. Receives are posted for announced bodies, and ahead
// according to the plan. Used by mpi_conduit, on the thread that is at the wire.
//
// Receives of a class complete for us in the order in which they were posted, which is the order of matching. So two
// bodies of one sender are never confused, and a slow body delays only those behind it in its class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "boot/mpi/mpi_calls.hpp"
#include "wire/mpi/posting_plan.hpp"

namespace tri::wire {

struct sized_receive_counters {
  std::uint64_t arrived = 0;
  std::uint64_t posted_ahead = 0;  // bodies that found a receive when they were announced
  std::uint64_t withdrawn = 0;     // receives cancelled because the plan changed
};

class sized_receives {
 public:
  /// The spans are valid during the call, which may use nothing of the receives but `forget`.
  using on_body = std::function<void(std::span<const std::byte> header, std::span<const std::byte> body)>;

  sized_receives(boot::mpi_calls& mpi, const posting_options& options);
  ~sized_receives();
  sized_receives(const sized_receives&) = delete;
  sized_receives& operator=(const sized_receives&) = delete;

  /// At most most_size_classes * size_class_bytes.
  void announced(int source, std::span<const std::byte> header, std::size_t bytes);
  /// Delivers bodies that have arrived. True if something happened. Throws std::runtime_error when a receive failed.
  bool take(const on_body& body);
  /// Nothing that was announced is missing.
  bool is_settled() const { return missing_ == 0; }
  /// The announced bodies of this sender will not arrive.
  void forget(int source);

  /// Cancels all receives. Repeated until it returns true: the library then holds no memory.
  bool withdraw();

  std::size_t posted(std::size_t size_class) const;  // for tests
  const sized_receive_counters& counters() const { return counters_; }

 private:
  struct receive {
    boot::mpi_request request = 0;
    std::unique_ptr<std::byte[]> place;
    bool cancelled = false;
  };
  struct announcement {
    int source;
    std::vector<std::byte> header;
    std::size_t bytes;
  };
  struct body {  // arrived, perhaps before its announcement
    int source;
    std::unique_ptr<std::byte[]> place;
    std::size_t bytes;
  };
  struct of_class {
    std::deque<receive> posted;
    std::vector<announcement> expected;
    std::vector<body> unannounced;
    bool listed = false;  // in busy_
  };

  of_class& named(std::size_t size_class);
  void list(std::size_t size_class);
  void top_up(std::size_t size_class, of_class& all);
  void post(std::size_t size_class, of_class& all);
  bool take_from(std::size_t size_class, of_class& all, const on_body& to);
  void pair(of_class& all, const on_body& to);
  void cancel_all(std::size_t size_class, of_class& all);
  void follow_plan();

  boot::mpi_calls& mpi_;
  posting_plan plan_;
  std::vector<std::unique_ptr<of_class>> classes_;
  std::vector<std::size_t> busy_;  // classes that have to be looked at
  std::size_t missing_ = 0;
  bool ending_ = false;
  sized_receive_counters counters_;
};

}  // namespace tri::wire
