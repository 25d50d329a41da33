// A farm: whoever has no work asks the farmer for some. Shows: two-sided messages through a mailbox, with tags and
// receives from any sender; coroutines of a group.
#include <algorithm>
#include <cstdio>
#include <trireme/objects.hpp>
#include <vector>

struct Range {
  int first, last;
};
enum Tag { asks_for_work, work };

struct Hand : tri::group_member<Hand> {
  tri::task<int> find_primes(tri::mailbox box) {
    int primes = 0;
    for (;;) {
      box.send(0, asks_for_work, primes);
      const auto range = (co_await box.receive(0, work)).take<Range>();
      if (range.first == range.last) co_return primes;
      for (int n = range.first; n < range.last; ++n) primes += is_prime(n);
    }
  }
  tri::task<> hand_out(tri::mailbox box, int limit, int piece) {
    for (int next = 2, hands = tri::pe_count(); hands > 0; next += piece) {
      const tri::received_message asks = co_await box.receive(tri::any_source, asks_for_work);
      const Range range{std::min(next, limit), std::min(next + piece, limit)};
      if (range.first == range.last) --hands;  // that one goes home
      box.send(asks.source(), work, range);
    }
  }
  static bool is_prime(int n) {
    for (int d = 2; d * d <= n; ++d)
      if (n % d == 0) return false;
    return true;
  }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    const int limit = 100'000;
    auto hands = tri::make_group<Hand>();
    const tri::mailbox box = tri::make_mailbox();
    hands[0].send<&Hand::hand_out>(box, limit, 500);
    std::vector<tri::future<int>> found;
    for (int pe = 0; pe < tri::pe_count(); ++pe) found.push_back(hands[pe].call<&Hand::find_primes>(box));
    int primes = 0;
    for (auto& each : found) primes += each.get();
    std::printf("%d primes below %d\n", primes, limit);
  });
}
