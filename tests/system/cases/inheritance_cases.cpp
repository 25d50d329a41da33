// Entry methods of base classes: of a template, of a class that is no element, virtual ones; handles of base classes;
// and pointers to base classes in messages and in elements that move.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

// ---- a base class template, and one that is no element
template <class Self>
struct counting : array_element<Self, index<1>> {
  int count = 0;
  void add(int value) { count += value; }
  int value() { return count; }
  virtual int kind() { return 0; }
  int step(int, int by) { return by; }
  task<int> await_step(int number) { co_return co_await this->template when<&counting::step>(number); }
};
struct named {
  virtual ~named() = default;
  virtual std::string name() const { return "unnamed"; }
  void rename(std::string to) { own_name = std::move(to); }
  std::string renamed() const { return own_name; }
  int noted(int, int value) { return value; }
  std::string own_name;
};
struct both : counting<both>, named {
  int kind() override { return 7; }
  std::string name() const override { return "both " + std::to_string(this_index()[0]); }
  task<int> await_noted(int number) { co_return co_await when<&named::noted>(number); }
  void give(callback<int> target) { contribute(1, sum, target); }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count, own_name);
  }
};

void methods_of_base_classes() {
  const int n = 2 * pe_count();
  auto all = make_array<both>({n}, round_robin());
  all.broadcast<&counting<both>::add>(2);
  all.broadcast<&named::rename>(std::string("a name that needs a block of its own"));
  check_equal(all.reduce<&counting<both>::value>(sum).get(), 2 * n);
  const auto part = all.select({0, n - 1});
  part.multicast<&both::add>(1);
  quiescence().get();
  check_equal(part.reduce<&named::renamed>(gather).get().back(), "a name that needs a block of its own");
  for (int i = 0; i < n; ++i) {
    check_equal(all(i).call<&both::kind>().get(), 7);
    check_equal(all(i).call<&counting<both>::kind>().get(), 7);  // virtual
    check_equal(all(i).call<&named::name>().get(), "both " + std::to_string(i));
    auto answer = all(i).call<&both::await_step>(3);
    auto noted = all(i).call<&both::await_noted>(4);
    all(i).send<&both::step>(3, 33);
    all(i).send<&named::noted>(4, 44);
    check_equal(answer.get(), 33);
    check_equal(noted.get(), 44);
    to<&named::rename>(all(i))("new");
    check_equal(all(i).call<&named::renamed>().get(), "new");
    all(i).send<&both::go>((i + 1) % pe_count());
    quiescence().get();
    check_equal(all(i).call<&both::where>().get(), (i + 1) % pe_count());
    check_equal(all(i).call<&named::renamed>().get(), "new");
  }
}
const case_entry methods_case{"methods_of_base_classes", &methods_of_base_classes};

// ---- element classes that derive from each other
struct base_cell : array_element<base_cell, index<1>> {
  int visits = 0;
  base_cell() = default;
  explicit base_cell(int begin) : visits(begin) {}
  virtual std::string what() { return "base"; }
  virtual void visit(int by) { visits += by; }
  int count() { return visits; }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(visits);
  }
};
struct wet_cell : derived_element<wet_cell, base_cell> {
  int drops = 0;
  wet_cell() = default;
  wet_cell(int begin, int water) : derived_element(begin), drops(water) {}
  std::string what() override { return "wet " + std::to_string(drops); }
  void visit(int by) override { visits += 10 * by; }
  int water() { return drops; }
  void hand_on(int hops) {
    ++drops;
    if (hops > 0) this_array()((this_index()[0] + 1) % (2 * pe_count())).send<&wet_cell::hand_on>(hops - 1);
  }
  std::string own_name() { return describe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    base_cell::serialize(archive);
    archive(drops);
  }
};
struct base_single : object<base_single> {
  virtual ~base_single() = default;
  virtual int number() { return 1; }
};
struct other_single : derived_element<other_single, base_single> {
  int own = 0;
  explicit other_single(int value) : own(value) {}
  int number() override { return own; }
};

struct visitor : array_element<visitor, index<1>> {
  // Knows the base class only.
  task<std::string> see(array<base_cell> cells, int which, element_ref<base_single> single) {
    cells(which).send<&base_cell::visit>(1);
    std::string said = co_await cells(which).call<&base_cell::what>();
    co_return said + " " + std::to_string(co_await single.call<&base_single::number>());
  }
};

void handles_of_base_classes() {
  const int n = 2 * pe_count();
  auto wet = make_array<wet_cell>({n}, round_robin(), 5, 3);
  const array<base_cell> cells = wet;
  cells.broadcast<&base_cell::visit>(1);
  check_equal(cells.reduce<&base_cell::count>(sum).get(), n * 15);
  for (const base_cell* const each : cells.local_elements()) check_equal(each->visits, 15);
  for (const bool moved : {false, true}) {
    for (int i = 0; i < n; ++i) {
      const element_ref<base_cell> one = cells(i);
      check_equal(one.call<&base_cell::what>().get(), "wet 3");  // an element that has moved is of its class again
      const std::string own_name = wet(i).call<&wet_cell::own_name>().get();
      check(own_name.find("wet_cell(" + std::to_string(i) + ")") != std::string::npos, own_name);
      check_equal(one.call<&base_cell::count>().get(), 15);
      if (!moved) one.send<&base_cell::go>((i + 1) % pe_count());
    }
    quiescence().get();
  }
  wet(0).send<&wet_cell::hand_on>(n - 1);
  quiescence().get();
  check_equal(wet.reduce<&wet_cell::water>(sum).get(), 4 * n);
  auto visitors = make_array<visitor>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    const auto single = make_object_on<other_single>((pe + 1) % pe_count(), 40 + pe);
    check_equal(visitors(pe).call<&visitor::see>(wet, pe, single).get(), "wet 4 " + std::to_string(40 + pe));
  }
}
const case_entry handles_case{"handles_of_base_classes", &handles_of_base_classes};

// ---- pointers to base classes
struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;
};
struct circle : shape {
  double radius = 0;
  circle() = default;
  explicit circle(double r) : radius(r) {}
  double area() const override { return 3 * radius * radius; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(radius);
  }
};
struct labelled {
  virtual ~labelled() = default;
  std::string label;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(label);
  }
};
struct square : labelled, shape {  // its shape is not at its beginning
  double side = 0;
  square() = default;
  square(double s, std::string text) : side(s) { label = std::move(text); }
  double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(side, label);
  }
};
struct group_of_shapes : shape {
  std::vector<std::unique_ptr<shape>> parts;
  double area() const override {
    double total = 0;
    for (const auto& each : parts) total += each->area();
    return total;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(parts);
  }
};
struct unknown_shape : shape {
  double area() const override { return -1; }
};
// NOLINTBEGIN(cert-err58-cpp): registration before main
const derived_class<shape, circle> circle_is_a_shape;
const derived_class<shape, square> square_is_a_shape;
const derived_class<shape, group_of_shapes> group_is_a_shape;
const derived_class<labelled, square> square_is_labelled;
const derived_class<labelled, labelled> labelled_is_itself;
// NOLINTEND(cert-err58-cpp)

struct drawer : array_element<drawer, index<1>> {
  std::vector<std::shared_ptr<shape>> shapes;
  std::shared_ptr<labelled> of_last;
  std::unique_ptr<shape> own;
  double take(std::unique_ptr<shape> one) { return one == nullptr ? 0 : one->area(); }
  double take_shared(std::vector<std::shared_ptr<shape>> all, std::shared_ptr<labelled> label) {
    shapes = std::move(all);
    of_last = std::move(label);
    own = std::make_unique<circle>(2);
    return facts();
  }
  // The total area, with signs of what is shared.
  double facts() {
    double total = own == nullptr ? 0 : own->area();
    for (const auto& each : shapes) total += each == nullptr ? 0.25 : each->area();
    if (shapes.size() == 4 && shapes[0] == shapes[2] && shapes[3] == nullptr) total += 1000;
    if (of_last != nullptr && dynamic_cast<shape*>(of_last.get()) == shapes[1].get()) total += 2000;
    if (of_last != nullptr && of_last->label == "a square") total += 4000;
    return total;
  }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(shapes, of_last, own);
  }
};

void pointers_to_base_classes() {
  auto all = make_array<drawer>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto one = all(pe);
    check_equal(one.call<&drawer::take>(std::make_unique<circle>(2)).get(), 12.0);
    check_equal(one.call<&drawer::take>(std::make_unique<square>(3, "x")).get(), 9.0);
    check_equal(one.call<&drawer::take>(nullptr).get(), 0.0);
    auto several = std::make_unique<group_of_shapes>();
    several->parts.push_back(std::make_unique<circle>(1));
    several->parts.push_back(std::make_unique<square>(2, "inside"));
    check_equal(one.call<&drawer::take>(std::move(several)).get(), 7.0);
    const auto round = std::make_shared<circle>(1);
    const auto edged = std::make_shared<square>(2, "a square");
    const std::vector<std::shared_ptr<shape>> shared{round, edged, round, nullptr};
    check_equal(one.call<&drawer::take_shared>(shared, edged).get(), 12 + 3 + 4 + 3 + 0.25 + 7000);
    one.send<&drawer::go>((pe + 1) % pe_count());
    quiescence().get();
    check_equal(one.call<&drawer::where>().get(), (pe + 1) % pe_count());
    check_equal(one.call<&drawer::facts>().get(), 12 + 3 + 4 + 3 + 0.25 + 7000);
  }
}
const case_entry pointers_case{"pointers_to_base_classes", &pointers_to_base_classes};

// A class that was not declared: the sender learns of it, and nothing is sent.
void undeclared_derived_class() {
  auto all = make_array<drawer>({pe_count()});
  for (int pe = pes_per_process(); pe < pe_count(); ++pe) {
    check_throws<std::runtime_error>([&] { all(pe).send<&drawer::take>(std::make_unique<unknown_shape>()); },
                                     "unknown_shape cannot be sent by a pointer to");
    check_equal(all(pe).call<&drawer::take>(std::make_unique<circle>(1)).get(), 3.0);
  }
}
const case_entry undeclared_case{"undeclared_derived_class", &undeclared_derived_class};

}  // namespace
}  // namespace tri::testing
