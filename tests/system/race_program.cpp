// A program with a planted race, for tests that find and replay it: race_program [rounds] [variant]
//
// One element opens an account, another pays in. The program relies on the opening to come first, as it usually does:
// the payer is asked by way of other PEs. Meanwhile messages of all kinds run on all PEs: with priorities, immediate,
// delayed, of a node group, of broadcasts and reductions. Each PE adds what it runs to a digest, so two runs with the
// same output ran their messages in the same order.
//   rounds     of the other messages (4)
//   variant    silent: the payer is not asked; hang: waits for what never comes; stop: tri::exit meanwhile;
//              slow: as silent, but the node group takes its time
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <trireme/objects.hpp>

namespace {

class digest {
 public:
  void add(int what, int number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(what * 1000003 + number)) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};
tri::pe_local<digest> ran;  // NOLINT(cert-err58-cpp): registration before main

struct account : tri::object<account> {
  bool is_open = false;
  void open() {
    ran->add(1, 0);
    is_open = true;
  }
  void pay(int amount) {
    ran->add(2, amount);
    if (is_open) return;
    tri::fail("the account was paid into before it was opened; PE " + std::to_string(tri::this_pe()) + " has run " +
              std::to_string(ran->value()));
  }
};

bool is_slow = false;
struct office : tri::nodegroup_member<office> {
  office() {
    if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  void note(int number) { ran->add(3, number); }
};

struct clerk : tri::group_member<clerk> {
  void open(tri::element_ref<account> of) {
    ran->add(4, 0);
    of.send<&account::open>();
  }
  void pay(tri::element_ref<account> into, int hops) {
    ran->add(5, hops);
    if (hops == 0) return into.send<&account::pay>(100);
    this_group()[(tri::this_pe() + 1) % tri::pe_count()].send<&clerk::pay>(into, hops - 1);
  }
  void chat(tri::nodegroup<office> offices, int left) {
    ran->add(6, left);
    if (left == 0) return;
    const int pes = tri::pe_count();
    const auto all = this_group();
    all[(tri::this_pe() + left) % pes].send<&clerk::chat>(offices, left - 1);
    all[(tri::this_pe() + 1) % pes].with(left % 5 - 2).send<&clerk::hear>(left);
    all[(tri::this_pe() + 2) % pes].with(tri::immediate).send<&clerk::hear>(100 + left);
    offices[left % tri::process_count()].send<&office::note>(left);
  }
  void hear(int number) { ran->add(7, number); }
  tri::task<> sleep_a_little(int number) {
    co_await tri::after(std::chrono::microseconds(50 * number));
    ran->add(8, number);
    this_group().broadcast<&clerk::hear>(200 + number);
  }
  int value(int number) {
    ran->add(9, number);
    return number;
  }
  std::uint64_t run_so_far() { return ran->value(); }
  tri::group<clerk> this_group() { return tri::group<clerk>(this_array()); }
};

void run(int rounds, const std::string& variant) {
  const int pes = tri::pe_count();
  const auto books = tri::make_object_on<account>(pes - 1);
  const auto clerks = tri::make_group<clerk>();
  const auto offices = tri::make_nodegroup<office>();
  clerks[1 % pes].send<&clerk::open>(books);
  if (variant != "silent" && variant != "slow") clerks[2 % pes].send<&clerk::pay>(books, 1);
  for (int pe = 0; pe < pes; ++pe) {
    clerks[pe].send<&clerk::chat>(offices, rounds);
    clerks[pe].send<&clerk::sleep_a_little>(1 + pe);
  }
  if (variant == "stop") return tri::exit(7);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) sum += clerks.reduce<&clerk::value>(tri::sum, round).get();
  tri::quiescence().get();
  if (variant == "hang") tri::future<int>().get();
  std::uint64_t all = static_cast<std::uint64_t>(sum);
  for (int pe = 0; pe < pes; ++pe) all = all * 31 + clerks[pe].call<&clerk::run_so_far>().get();
  std::printf("ran %llu\n", static_cast<unsigned long long>(all));
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) is_slow = is_slow || std::string(argv[i]) == "slow";
  return tri::run(argc, argv,
                  [](int count, char** words) { run(count > 1 ? std::atoi(words[1]) : 4, count > 2 ? words[2] : ""); });
}
