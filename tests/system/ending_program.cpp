// What a job that ends in the middle of its work leaves behind: nothing. Starts messages of every kind that go on for
// ever or that wait for what never comes, ends the job when all are well under way, and then counts, in every process,
// the arguments that still exist.
//   ending_program        exit status 0, or 1 with the kinds of which arguments are left
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

#include "trireme/objects.hpp"

namespace {

enum kind {
  own_pe,
  other_pe,
  priority_before,
  priority_after,
  immediate_message,
  timer,
  node,
  node_call,
  no_such_node_group,
  function_on_pe,
  broadcast,
  multicast,
  call,
  call_result,
  callback_value,
  reduction_part,
  contribution,
  nonexistent_element,
  nonexistent_called,
  nonexistent_collection,
  awaited_message,
  suspended_coroutine,
  suspended_choice,
  section_contribution,
  section_callback,
  member_of_migrating,
  message_to_migrating,
  insertion,
  single_object,
  seed,
  creation,
  creation_again_and_again,
  read_only_value,
  offloaded_work,
  offloaded_by_destructor,
  kinds
};
std::array<std::atomic<int>, kinds> alive{};
std::array<std::atomic<int>, kinds> steps{};  // how often something of this kind has run in this process

/// An argument that counts. Not plain, so it travels as an object within a process and as an archive between them.
struct counted {
  explicit counted(int its_kind = kinds - 1) : of(its_kind) { ++alive[static_cast<std::size_t>(of)]; }
  counted(const counted& other) : counted(other.of) {}
  counted(counted&& other) noexcept : counted(other.of) {}
  counted& operator=(const counted& other) {
    become(other.of);
    return *this;
  }
  ~counted() { --alive[static_cast<std::size_t>(of)]; }
  void become(int other) {
    --alive[static_cast<std::size_t>(of)];
    of = other;
    ++alive[static_cast<std::size_t>(of)];
  }
  void step() const { ++steps[static_cast<std::size_t>(of)]; }
  template <class Archive>
  void save(Archive& archive) const {
    archive(of);
  }
  template <class Archive>
  void load(Archive& archive) {
    int loaded = 0;
    archive(loaded);
    become(loaded);
  }
  int of;
};

constexpr auto never = std::chrono::hours(10);

void bounce(counted token) {
  token.step();
  tri::send<&bounce>((tri::this_pe() + 1) % tri::pe_count(), std::move(token));
}

struct node_member : tri::nodegroup_member<node_member> {
  void pass(tri::nodegroup<node_member> all, counted token) {
    token.step();
    all[(tri::this_process() + 1) % tri::process_count()].send<&node_member::pass>(all, std::move(token));
  }
  counted answer(counted token) {
    token.step();
    return token;
  }
};

struct worker : tri::array_element<worker, tri::index<1>> {
  static constexpr int last = 7;
  worker() = default;
  explicit worker(counted) {}
  tri::element_ref<worker> next() const {
    return this_array()((this_index()[0] + 1) % static_cast<int>(this_array().shape().extent[0]));
  }

  void pass(counted token) {
    token.step();
    (token.of == own_pe ? this_element() : next()).send<&worker::pass>(std::move(token));
  }
  void pass_at_once(counted token) {
    token.step();
    next().with(tri::immediate).send<&worker::pass_at_once>(std::move(token));
  }
  // When the last one has it: without that, whoever broadcasts to itself would be ahead of the others without a bound.
  void spread(counted token) {
    token.step();
    if (this_index()[0] == last) this_array()(0).send<&worker::spread_again>(std::move(token));
  }
  void spread_again(counted token) { this_array().broadcast<&worker::spread>(token); }
  void spread_to(tri::section<worker> some, counted token) {
    token.step();
    if (this_index()[0] == last) this_array()(0).send<&worker::spread_to_again>(some, std::move(token));
  }
  void spread_to_again(tri::section<worker> some, counted token) { some.multicast<&worker::spread_to>(some, token); }
  void pass_to_nobody(counted) {}
  counted give(counted token) {
    token.step();
    token.become(call_result);
    return token;
  }
  tri::task<> ask(counted token) {
    for (;;) co_await next().call<&worker::give>(token);
  }
  tri::task<> ask_node(tri::nodegroup<node_member> all, counted token) {
    for (int i = 0;; ++i) co_await all[i % tri::process_count()].call<&node_member::answer>(token);
  }
  void take(counted token) {
    token.step();
    tri::to<&worker::take>(next())(std::move(token));
  }
  counted give_for_reduction() { return counted(reduction_part); }
  tri::task<> reduce() {
    for (;;) {
      co_await this_array().reduce<&worker::give_for_reduction>(tri::gather);
      ++steps[reduction_part];
    }
  }
  void all_given(std::vector<counted>) {}
  void give_own() {
    if (this_index()[0] != 0)  // it never ends, for one is missing
      contribute(counted(contribution), tri::gather, tri::to<&worker::all_given>(this_array()(0)));
    ++steps[contribution];
  }
  void give_in(tri::section_name part) {  // nor does this one
    if (this_index()[0] != 0)
      contribute(part, counted(section_contribution), tri::gather, tri::to<&worker::all_given>(this_array()(0)));
    ++steps[section_contribution];
  }
  void hand_round(tri::callback<counted> target, counted token) {
    token.step();
    target(std::move(token));
  }
  void take_of_part(counted token) {
    token.step();
    if (this_index()[0] == last)
      this_array()(0).send<&worker::hand_round>(tri::to<&worker::take_of_part>(this_array().select({1, last})),
                                                std::move(token));
  }
  void awaited(int, counted token) { token.step(); }
  tri::task<> wait(counted token) {
    token.step();
    co_await when<&worker::awaited>(-1);
  }
  tri::task<> choose(counted token) {
    token.step();
    tri::future<counted> nothing;
    static_cast<void>(co_await select(when<&worker::awaited>(-2), tri::after(never), nothing,
                                      when_n<&worker::awaited>(3, 0)));  // of which one has come
  }
};

struct wanderer : tri::array_element<wanderer, tri::index<1>> {
  counted own{member_of_migrating};
  void awaited(int, counted) {}
  tri::task<> wait() { co_await when<&wanderer::awaited>(-1); }
  void go() { migrate_to((tri::this_pe() + 1) % tri::pe_count()); }
  void on_migrated() {
    own.step();
    this_element().send<&wanderer::go>();
  }
  void hit(counted token) {
    token.step();
    this_array()((this_index()[0] + 1) % 4).send<&wanderer::hit>(std::move(token));
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(own);
  }
};

struct short_lived : tri::array_element<short_lived, tri::index<1>> {
  explicit short_lived(counted token) {
    token.step();
    const int index = this_index()[0] + 1;
    this_array().insert_on(index % tri::pe_count(), index, std::move(token));
    erase_this();
  }
  void note(counted) {}
};

struct single : tri::object<single> {
  explicit single(counted token) {
    token.step();
    tri::make_object_on<single>((tri::this_pe() + 1) % tri::pe_count(), std::move(token));
    erase_this();
  }
};

// Sends from its destructor, when the job has ended.
struct last_words : tri::group_member<last_words> {
  ~last_words() override {
    for (int pe = 0; pe < tri::pe_count(); ++pe) {
      tri::send<&bounce>(pe, counted(function_on_pe));
      this_array()(pe).send<&last_words::hear>(counted(other_pe));
    }
    tri::offload_detached([token = counted(offloaded_by_destructor)] { token.step(); });
  }
  void hear(counted) {}
};

// Makes collections on all PEs without end; each is sent to another PE, which hears of it later than it was made.
struct maker : tri::group_member<maker> {
  void make(counted token) {
    const auto made = tri::make_array<worker>({1}, token);
    this_array()((tri::this_pe() + 1) % tri::pe_count()).send<&maker::hear>(made, token);
    tri::send_after<&maker::make>(std::chrono::milliseconds(100), this_element(), std::move(token));
  }
  void hear(tri::array<worker> made, counted token) {
    token.step();
    made(0).send<&worker::pass_to_nobody>(std::move(token));
  }
};

tri::read_only<counted> published;

void start_and_leave() {
  auto workers = tri::make_array<worker>({8}, tri::round_robin());
  auto nodes = tri::make_nodegroup<node_member>();
  tri::make_group<last_words>();
  for (int i = 0; i < 8; ++i) {
    workers(i).send<&worker::pass>(counted(own_pe));
    for (int token = 0; token < 200; ++token)  // more than an inbox holds
      workers(i).send<&worker::pass>(counted(other_pe));
    workers(i).send<&worker::take>(counted(callback_value));
    workers(i).send<&worker::ask>(counted(call));
    workers(i).send<&worker::ask_node>(nodes, counted(node_call));
    for (int unasked = 0; unasked < 3; ++unasked) workers(i).send<&worker::awaited>(unasked, counted(awaited_message));
    workers(i).send<&worker::wait>(counted(suspended_coroutine));
    workers(i).send<&worker::choose>(counted(suspended_choice));
    workers(i).send<&worker::give_own>();
    tri::send_after<&worker::pass>(never, workers(i), counted(timer));
  }
  // On a single PE immediate messages without end would leave no turn to any other.
  if (tri::pe_count() > 1) workers(0).send<&worker::pass_at_once>(counted(immediate_message));
  workers(0).send<&worker::reduce>();
  auto some = workers.select({0, 2, 3, worker::last});
  some.multicast<&worker::give_in>(some.name());
  workers(0).send<&worker::hand_round>(tri::to<&worker::take_of_part>(some), counted(section_callback));
  for (int token = 0; token < 4; ++token) {
    workers.broadcast<&worker::spread>(counted(broadcast));
    some.multicast<&worker::spread_to>(some, counted(multicast));
  }
  for (int pe = 0; pe < tri::pe_count(); ++pe) tri::send<&bounce>(pe, counted(function_on_pe));
  for (int i = 0; i < 20; ++i) nodes[i % tri::process_count()].send<&node_member::pass>(nodes, counted(node));

  const auto makers = tri::make_group<maker>();
  makers.broadcast<&maker::make>(counted(creation_again_and_again));

  auto wanderers = tri::make_array<wanderer>({4});
  for (int i = 0; i < 4; ++i) {
    // Within a process a suspended coroutine moves along; to another one it cannot.
    if (tri::process_count() == 1) wanderers(i).send<&wanderer::wait>();
    wanderers(i).send<&wanderer::awaited>(i, counted(awaited_message));
    for (int hits = 0; hits < 5; ++hits) wanderers(i).send<&wanderer::hit>(counted(message_to_migrating));
    wanderers(i).send<&wanderer::go>();
  }

  auto sparse = tri::make_sparse_array<short_lived>();
  sparse.insert(0, counted(insertion));
  std::vector<tri::future<void>> unanswered;
  for (int i = 0; i < 8; ++i) {
    sparse[1'000'000 + i].send<&short_lived::note>(counted(nonexistent_element));
    unanswered.push_back(sparse[1'000'000 + i].call<&short_lived::note>(counted(nonexistent_called)));
  }
  tri::element_ref<worker>(12345, 0).send<&worker::pass>(counted(nonexistent_collection));
  // Another host would refuse a number that it has not given out.
  for (int process = 0; process < tri::process_count(); ++process)
    if (tri::sched::this_pe().job().is_on_own_host(process * tri::pes_per_process()))
      tri::node_ref<node_member>(12345, process).send<&node_member::pass>(nodes, counted(no_such_node_group));
  tri::make_object<single>(counted(single_object));

  // What runs for ever must have begun here, or its last message may not have been under way at all.
  for (const int kind : {own_pe, other_pe, immediate_message, node, node_call, function_on_pe, broadcast, multicast,
                         call, callback_value, reduction_part, member_of_migrating, message_to_migrating, insertion,
                         single_object, creation_again_and_again, section_callback}) {
    if ((kind == member_of_migrating || kind == immediate_message) && tri::pe_count() == 1) continue;
    while (steps[static_cast<std::size_t>(kind)] < 5) tri::after(std::chrono::milliseconds(1)).get();
  }
  // At the very end: what would have run soon.
  for (int i = 0; i < 80; ++i) {
    tri::make_object<single>(counted(seed));
    tri::make_object<single>(tri::seed_options{.urgency = i % 7}, counted(seed));
    workers(i % 8).with(-3).send<&worker::pass>(counted(priority_before));
    workers(i % 8).with(3).send<&worker::pass>(counted(priority_after));
  }
  tri::make_array<worker>({8}, counted(creation));
  // The first few run, perhaps; whoever waits for them has gone.
  for (int i = 0; i < 50; ++i) {
    tri::offload_detached([token = counted(offloaded_work)] { token.step(); });
    static_cast<void>(tri::offload([token = counted(offloaded_work)] { return token; }));
  }
  const auto announced = published.publish(counted(read_only_value));
}

}  // namespace

int main(int argc, char** argv) {
  const int status = tri::run(argc, argv, &start_and_leave);
  int left = 0;
  for (int kind = 0; kind < kinds; ++kind) {
    const int count = alive[static_cast<std::size_t>(kind)];
    if (count != 0) std::fprintf(stderr, "%d arguments of kind %d are left\n", count, kind);
    left += count;
  }
  return status != 0 ? status : left != 0;
}
