#include "trireme/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "loops/loop_reporter.hpp"
#include "loops/loop_tuning.hpp"
#include "objects/balance/balance_service.hpp"
#include "objects/checkpoint/checkpoint_service.hpp"
#include "objects/collectives/quiescence.hpp"
#include "objects/idle_service.hpp"
#include "os/clock.hpp"
#include "sched/process_runtime.hpp"
#include "sched/scheduler.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/init.hpp"
#include "trireme/nodegroup.hpp"
#include "trireme/variables.hpp"

namespace tri {
void progress() {
  sched::pe& here = sched::this_pe();
  if (here.in_handler())
    throw std::logic_error("tri::progress() inside an entry method or coroutine: its PE runs messages when it ends");
  if (here.job().stopping()) throw sched::stop_unwinding{};
  static_cast<sched::scheduler&>(here).step();  // not run_until, which sleeps when there is nothing to do
}

namespace objects {
namespace {

void describe_deliver(sched::pe& here, sched::envelope& message) {
  unpacked_arguments<std::tuple<promise<std::string>>> arguments(message);
  std::get<0>(arguments.values()).set(pe_objects::of(here).describe_waiting());
}
const std::uint32_t describe_handler =
    register_handler_of<std::tuple<promise<std::string>>>(&describe_deliver, "stall report");

// Queries every PE of the job for what it waits for. A PE that does not answer within a second is reported as such.
std::string describe_waiting_everywhere() {
  auto& here = sched::this_pe();
  const std::string own = pe_objects::of(here).describe_waiting();  // before this adds futures of its own
  std::vector<future<std::string>> answers(static_cast<std::size_t>(here.job().pes()));
  for (int pe = 0; pe < here.job().pes(); ++pe) {
    const promise<std::string> answer = answers[static_cast<std::size_t>(pe)].get_promise();
    if (pe == here.number())
      answer.set(own);
    else
      post_packed(here, pe, describe_handler, 0, 0,
                  pack_arguments<std::tuple<promise<std::string>>>(here, here.is_in_this_process(pe), false, answer));
  }
  constexpr std::int64_t timeout_ns = 1'000'000'000;
  const std::int64_t deadline = os::now_ns() + timeout_ns;
  sched::envelope alarm{};  // we may fall asleep, and nothing else would wake us after the deadline
  alarm.handler = sched::taken_handler;
  alarm.kind = sched::payload_kind::direct;
  here.send_later(timeout_ns + timeout_ns / 10, alarm);
  here.run_until([&] { return os::now_ns() > deadline || std::ranges::all_of(answers, &future<std::string>::ready); });
  std::string text;
  for (std::size_t i = 0; i < answers.size(); ++i)
    text += answers[i].ready() ? answers[i].get() : "\n  PE " + std::to_string(i) + " does not answer";
  return text;
}

}  // namespace

namespace {

/// The main programs of other PEs that have ended; on PE 0.
struct ended_programs {
  int count = 0;
  int status = 0;  // the first that is not 0
};
pe_local<ended_programs> ended;  // NOLINT(cert-err58-cpp): registration before main, as of all variables of a PE

void program_ended(int status) {
  ++ended->count;
  if (ended->status == 0) ended->status = status;
}

/// The main program of this PE, in SPMD style, has ended. On PE 0: waits for those of the others, and returns the
/// status.
int await_main_programs(int own_status) {
  sched::pe& here = sched::this_pe();
  if (here.number() != 0) {
    tri::send<&program_ended>(0, own_status);
    here.main_program_ends();
    return own_status;
  }
  here.run_until([&] { return ended->count == here.job().pes() - 1; }, true);
  return own_status != 0 ? own_status : ended->status;
}

using objects_of_pes = std::vector<std::unique_ptr<pe_objects>>;

std::unique_ptr<sched::process_runtime> join_job(config::configuration values) {
  check_balance_options(values);
  loops::set_loop_report(values.loops_report, values.loops_report_file);
  loops::set_loop_tuning(values.loops_schedule, values.loops_tune);
  auto job = std::make_unique<sched::process_runtime>(std::move(values));
  job->add_stall_reporter(&describe_waiting_everywhere);
  return job;
}

/// `objects` outlive the steps; one for each PE of the process.
sched::process_runtime::program steps_of(objects_of_pes& objects, main_program_on where,
                                         os::unique_function<int()> main_program) {
  const auto of = [&objects](sched::pe& here) -> std::unique_ptr<pe_objects>& {
    return objects[static_cast<std::size_t>(here.local_number())];
  };
  return {.prepare =
              [of, where](sched::pe& here) {
                create_pe_locals();
                of(here) = std::make_unique<pe_objects>(here);
                here.upper = of(here).get();
                install_quiescence_service(here);
                install_balance_service(here);
                install_checkpoint_service(here, where == main_program_on::pe_0);
                if (where == main_program_on::all_pes && here.number() != 0) here.main_program_begins();
              },
          .main_program = std::move(main_program),
          .everywhere = where == main_program_on::all_pes,
          .drop_held =
              [of](sched::pe& here) {
                of(here)->drop_held();
                if (here.local_number() == 0) drop_early_node_messages(here);
              },
          .finish =
              [of](sched::pe& here) {
                end_checkpoint_service(here);
                end_idle_service();
                of(here)->end();
                destroy_pe_locals();
              },
          .finish_process =
              [](sched::pe&) {
                drop_node_objects();
                reset_read_only();
                reset_restored_state();
              },
          .leave = [of](sched::pe& here) {  // what destructors have used or asked for since
            of(here)->abandon_results();
            destroy_pe_locals();
          }};
}

/// The job between tri::init and tri::finalize. Not destroyed where the program ends without the latter: that is no end
/// of a job, and those that watch the process say so.
struct open_job {
  std::unique_ptr<sched::process_runtime> job;
  objects_of_pes objects{1};
  sched::process_runtime::program steps;
};
open_job* the_open_job = nullptr;  // of the thread that is the PE

}  // namespace

int run_program(int argc, char** argv, main_program_on where, os::function_ref<int(int, char**)> main_program) {
  std::unique_ptr<sched::process_runtime> job;
  try {
    job = join_job(config::configuration::from(argc, argv));
  } catch (const std::exception& error) {
    const std::string_view text = error.what();  // of ours it begins with our name
    fmt::print(stderr, "{}{}\n", text.starts_with("trireme: ") ? "" : "trireme: ", text);
    return 1;
  }
  objects_of_pes objects(static_cast<std::size_t>(job->pes_per_process()));
  return job->run(steps_of(objects, where, [&] {
    sched::pe& here = sched::this_pe();
    if (here.number() == 0) restart_if_wanted(here, where == main_program_on::pe_0);
    const int status = main_program(argc, argv);
    return where == main_program_on::pe_0 ? status : await_main_programs(status);
  }));
}

task<int> as_status(task<> running) {
  co_await std::move(running);
  co_return 0;
}

int wait_for_main(task<int> running) {
  auto& here = sched::this_pe();
  here.run_until([&] { return running.done(); }, true);
  int status = 0;
  coroutine_owner nobody;
  std::exception_ptr thrown;
  running.detach(nobody, [&](std::exception_ptr error, int* value) {
    thrown = std::move(error);
    if (value != nullptr) status = *value;
  });
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return status;
}

namespace {

// A time-out that nothing waits for any more ends at once, so it holds back neither memory nor quiescence. Always on
// its own PE, where results end.
class timer_state final : public result_state<void> {
 public:
  explicit timer_state(sched::pe& here) : here_(here) {}
  timer_state(const timer_state&) = delete;
  timer_state& operator=(const timer_state&) = delete;
  ~timer_state() override {
    if (!is_ready() && !is_abandoned() && sched::detail::this_pe == &here_) here_.cancel_later(name_);
  }
  void runs_as(const sched::timer_name& name) { name_ = name; }

 private:
  sched::pe& here_;
  sched::timer_name name_;
};

}  // namespace

future<void> after_nanoseconds(std::int64_t delay) {
  const auto state = std::make_shared<timer_state>(sched::this_pe());
  future<void> result(state);
  const promise<void> expired = result.get_promise();
  auto& here = sched::this_pe();
  sched::envelope message{};
  message.element = pack_name(expired.slot, expired.generation);
  message.handler = result_handler<void>::handler;
  pack_arguments<std::tuple<std::monostate>>(here, true, false, std::monostate{}).store(message);
  state->runs_as(here.send_later(delay, message));
  return result;
}

}  // namespace objects

void init(int& argc, char** argv) {
  if (sched::current_runtime() != nullptr)
    throw std::logic_error("tri::init: this process is in a job already, of tri::init or tri::run");
  auto values = config::configuration::from(argc, argv);
  if (values.pes > 1)
    throw config::configuration_error(
        fmt::format("pes is {}, and a process that calls tri::init has one PE: the thread that calls it", values.pes));
  values.set("pes", "1");
  // The PE may be away in a call of MPI for long: what it has sent must go out all the same, or those that it has to
  // release from a barrier would wait for it.
  if (values.origin_of("comm_thread") == config::value_origin::default_value) values.set("comm_thread", "on");
  auto opened = std::make_unique<objects::open_job>();
  opened->job = objects::join_job(std::move(values));
  opened->steps = objects::steps_of(opened->objects, objects::main_program_on::all_pes, {});
  opened->job->begin(opened->steps);
  objects::the_open_job = opened.release();
}

void init() {
  int argc = 0;
  char* none[] = {nullptr};
  init(argc, none);
}

int finalize() {
  sched::pe& here = sched::this_pe();  // throws on other threads
  if (objects::the_open_job == nullptr) throw std::logic_error("tri::finalize: this process has not called tri::init");
  if (here.in_handler()) throw std::logic_error("tri::finalize() inside an entry method or coroutine");
  try {
    const int status = objects::await_main_programs(0);
    if (here.number() == 0) here.job().request_stop(status);
  } catch (const sched::stop_unwinding&) {  // stopped already, by another PE
  }
  const std::unique_ptr<objects::open_job> ending(std::exchange(objects::the_open_job, nullptr));
  return ending->job->end(ending->steps);
}

}  // namespace tri
