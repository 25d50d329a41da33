#include "mpi/startup/session.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "coll/cost_fit.hpp"
#include "mpi/abi/abi.hpp"
#include "mpi/abi/counted_calls.hpp"
#include "mpi/abi/wrappers.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/engine/rank_statistics.hpp"
#include "mpi/engine/rank_trace.hpp"
#include "mpi/heap/core_dumps.hpp"
#include "mpi/heap/static_data.hpp"
#include "mpi/heap/user_heap.hpp"
#include "mpi/internode/internode_messages.hpp"
#include "mpi/internode/library_carrier.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/startup/bootstrap_exchange.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/live_figures.hpp"
#include "mpi/startup/progress_thread.hpp"
#include "mpi/startup/shared_files.hpp"
#include "mpi/startup/user_memory.hpp"
#include "mpi/startup/user_settings.hpp"
#include "os/clock.hpp"
#include "os/hash.hpp"
#include "os/output_file.hpp"
#include "os/unique_fd.hpp"

namespace tri::mpi {

// The root of our window, for other processes.
struct published_parts {
  endpoint* rank = nullptr;
  call_counts* calls = nullptr;  // when statistics are reported
  std::byte* board = nullptr;    // of rank 0 only
  std::size_t board_bytes = 0;
  host_messages* messages = nullptr;  // where the job has several hosts
  std::byte sample{};                 // for the test whether processes may copy from each other
};

namespace {

struct another_rank_failed {};

thread_local int guards = 0;

// The cores that the ranks of the host may run on.
cpu_set_t cores_of_host(const bootstrap_exchange& bootstrap) {
  cpu_set_t mine;
  cpu_set_t all;
  CPU_ZERO(&mine);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof mine, &mine);
  std::vector<cpu_set_t> each(static_cast<std::size_t>(bootstrap.hosts().size));
  bootstrap.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(each)));
  for (const cpu_set_t& some : each) CPU_OR(&all, &all, &some);
  return all;
}

// The program has no options of ours.
arena::error_hints error_hints_of(std::size_t window_bytes, int ranks) {
  return {.address_space = fmt::format("each of {} ranks maps {} GiB and the heaps; raise it: ulimit -v unlimited",
                                       ranks, static_cast<std::size_t>(ranks) * (window_bytes >> 30)),
          .window = "begin fewer and smaller messages at a time, or run without 'trireme exec'",
          .limit = "receive or complete messages earlier, give the job more memory, or run without 'trireme exec'"};
}

bool kernel_copies_between(const bootstrap_exchange& bootstrap, const arena::arena_space& arena, int rank, int ranks,
                           const std::vector<endpoint*>& endpoints) {
  const auto all_agree = [&](bool may) { return bootstrap.all_agree(may); };
  if (wants_no_kernel_copies()) return all_agree(false);
  const int next = (rank + 1) % ranks;
  auto& parts = *static_cast<published_parts*>(arena.root_of(next));
  return all_agree(ranks == 1 ||
                   may_copy_between_processes(endpoints[static_cast<std::size_t>(next)]->process, &parts.sample));
}

int digest_of(const std::optional<coll::cost_parameters>& costs) {
  if (!costs) return 0;
  std::uint64_t digest = os::hash_of_nothing;
  for (const coll::cost_parameter& each : coll::all_cost_parameters())
    digest = os::hashed_word(digest, std::bit_cast<std::uint64_t>((*costs).*each.value));
  return 1 + static_cast<int>(digest % std::numeric_limits<int>::max());
}

// At rank 0 those of all ranks, in their order; at others nothing. Collective over the job.
template <class Data>
std::vector<Data> gathered_at_first(std::span<const Data> mine) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = static_cast<int>(mine.size_bytes());
  std::vector<int> counts(static_cast<std::size_t>(size)), places(static_cast<std::size_t>(size));
  PMPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<Data> all(rank == 0 ? static_cast<std::size_t>(places.back() + counts.back()) / sizeof(Data) : 0);
  PMPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE, 0, MPI_COMM_WORLD);
  return all;
}

// Any call that polls for a message makes the library progress. (In a communicator of one process MPICH does not.)
void poll_library() {
  if (progress_thread::is_this()) return;
  [[maybe_unused]] const abi::without_yields looking;
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

job_places places_of(const job_hosts& hosts, const std::vector<std::uint32_t>& numbers, int rank) {
  job_places places{.rank = rank, .number_of = numbers, .host_of = {}, .ranks_of = {}};
  std::vector<int> dense(numbers.size(), -1);  // of the first rank of each host
  for (std::size_t each = 0; each < numbers.size(); ++each) {
    int& host = dense[static_cast<std::size_t>(hosts.host_of[each])];
    if (host < 0) {
      host = static_cast<int>(places.ranks_of.size());
      places.ranks_of.emplace_back();
    }
    places.host_of.push_back(host);
    places.ranks_of[static_cast<std::size_t>(host)].push_back(static_cast<int>(each));
  }
  return places;
}

std::string what_is_left() {
  return fmt::format("all messages are left to {}{}", abi::library_name,
                     wants_reproducible_sums() ? ", and sums are not reproducible" : "");
}

void say(int rank, const std::string& what) {
  if (rank == 0) fmt::print(stderr, "trireme mpi: {}; {}\n", what, what_is_left());
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, the last one first (MPI 4.0, section
// 11.2.4). Ours was set before the program could set one, so the program's delete functions still run with the drop-in
// active, with our requests for example.
void stop_in_finalize() {
  int key = MPI_KEYVAL_INVALID;
  const auto copies_nothing = [](MPI_Comm, int, void*, void*, void*, int* copied) {
    *copied = 0;
    return MPI_SUCCESS;
  };
  const auto stop = [](MPI_Comm, int, void*, void*) {
    session::stop();
    return MPI_SUCCESS;
  };
  PMPI_Comm_create_keyval(copies_nothing, stop, &key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  PMPI_Comm_free_keyval(&key);  // freed with its attribute
}

}  // namespace

struct session::shared_parts {
  shared_files files;
  std::unique_ptr<arena::arena_space> arena;
  std::vector<endpoint*> endpoints;
  std::optional<board::board> work;
  std::optional<board::board_pe> pe;
  std::unique_ptr<arena::block_cache> blocks;
  std::unique_ptr<engine> ranks;
  std::vector<host_messages*> messages;  // of the ranks of the host, where the job has several hosts
  std::unique_ptr<library_carrier> network;
  std::unique_ptr<internode_messages> internode;
  std::unique_ptr<progress_thread> progress;
  std::unique_ptr<rank_trace> trace;
  std::unique_ptr<library_call_thread> library_thread;
  bool tells_statistics = false;  // all ranks agree
  std::uint64_t began_ticks = 0;
};

// When all have stopped counting: rank 0 reads the counters of the ranks of its host in shared memory; those of other
// hosts come by the library.
void session::report_statistics(const session& ended, const shared_parts& parts, double total_s) {
  std::vector<rank_statistics> ranks;
  for (const endpoint* const each : parts.endpoints) {
    ranks.push_back(statistics_of(*each));
    ranks.back().total_s = total_s;
  }
  std::vector<std::span<const call_count>> of_ranks;
  for (int rank = 0; rank < static_cast<int>(parts.endpoints.size()); ++rank)
    if (const call_counts* const counted = static_cast<published_parts*>(parts.arena->root_of(rank))->calls)
      of_ranks.push_back(counted->counted());
  std::vector<call_count> calls = sum_of(of_ranks);
  if (ended.hosts_.are_several()) {
    ranks = gathered_at_first(std::span<const rank_statistics>(&ranks[static_cast<std::size_t>(ended.hosts_.rank)], 1));
    if (ended.hosts_.rank != 0) calls.clear();
    calls = gathered_at_first(std::span<const call_count>(calls));
    const std::span<const call_count> all = calls;
    calls = sum_of({&all, 1});
  }
  if (ended.world_rank_ != 0) return;
  const statistics_wish wish = wished_statistics();
  if (wish.table) fmt::print(stderr, "{}{}", to_table(ranks, abi::library_name), calls_to_table(calls));
  if (wish.file.empty()) return;
  try {
    os::write_output_file(wish.file, to_json(ranks, abi::library_name, calls_to_json(calls)));
  } catch (const std::exception& failure) {
    fmt::print(stderr, "trireme mpi: the statistics could not be written: {}\n", failure.what());
  }
}

// The steps of the start, in this order. Each is agreed on by all ranks: it succeeds everywhere or nowhere.
struct session::starting {
  std::unique_ptr<session> made{new session};
  const int world_rank;
  const int world_size;
  bootstrap_exchange bootstrap;
  int rank = 0;  // on the host
  int size = 0;
  cpu_set_t cores{};  // of the ranks of the host
  user_settings settings;
  std::unique_ptr<shared_parts> parts = std::make_unique<shared_parts>();
  std::vector<heap_location> heaps;

  starting(int own_rank, int ranks) : world_rank(own_rank), world_size(ranks), bootstrap(own_rank, ranks) {
    made->world_rank_ = own_rank;
  }

  bool all_agree(bool fits) const { return bootstrap.all_agree(fits); }

  // Runs a step; when it throws on some rank, one line reports why.
  template <class Step>
  bool attempt(Step&& step) const {
    std::string problem;
    bool succeeded = false;
    try {
      step();
      succeeded = true;
    } catch (const another_rank_failed&) {  // which reports why
    } catch (const std::exception& failure) {
      problem = failure.what();
    }
    if (all_agree(succeeded)) return true;
    // Several may have failed, mostly for one reason: one line is enough.
    if (bootstrap.smallest(problem.empty() ? INT_MAX : world_rank) == world_rank) say_why(problem);
    return false;
  }

  void say_why(std::string_view problem) const {
    fmt::print(stderr, "trireme mpi: rank {}: {}; {}\n", world_rank, problem, what_is_left());
  }

  bool ranks_can_take_part() {
    if (bootstrap.has_failed()) {
      if (!bootstrap.failure().empty()) say_why(bootstrap.failure());
      return false;
    }
    bootstrap.meet();
    if (!all_agree(!is_switched_off())) return false;
    const std::optional<wrapper> wrapped = wrapper_in_front();
    if (!all_agree(!wrapped)) {
      if (bootstrap.smallest(wrapped ? world_rank : INT_MAX) == world_rank)
        say_why(fmt::format("{} is {}'s own, in front of the drop-in (a profiling layer)", wrapped->function,
                            wrapped->object));
      return false;
    }
    if (!learn_hosts()) return false;
    if (!bootstrap.hosts().is_alone_everywhere()) return true;
    say(world_rank, "each rank is alone on its host");
    return false;
  }

  bool learn_hosts() {
    int pretended = 0;
    if (!attempt([&] { pretended = pretended_host_of(world_rank, world_size); })) return false;
    bootstrap.find_hosts(pretended);
    rank = bootstrap.hosts().rank;
    size = bootstrap.hosts().size;
    cores = cores_of_host(bootstrap);
    abi::set_more_ranks_than_cores(ranks_on_cores() > CPU_COUNT(&cores));
    return true;
  }
  int ranks_on_cores() const { return pretends_hosts() ? world_size : size; }

  void read_settings() {
    settings = read_user_settings();
    const progress_choice& progress = settings.progress;
    if (progress.mode == progress_mode::reserved && progress.cores >= static_cast<std::uint32_t>(CPU_COUNT(&cores)))
      throw std::runtime_error(
          fmt::format("TRIREME_MPI_PROGRESS reserves {} of {} cores, which leaves none to the ranks", progress.cores,
                      CPU_COUNT(&cores)));
    if (size > static_cast<int>(most_slots))
      throw std::runtime_error(fmt::format("{} ranks on a host; at most {} are supported", size, most_slots));
    if (user_heap().phase == heap_phase::shared && !owns_heap_descriptors())
      throw std::runtime_error("the program has closed or replaced the descriptors of its shared heap before MPI_Init");
  }

  // The ranks give each other the files of their arenas and heaps, and map them.
  bool share_memory() {
    std::optional<os::unique_fd> own_file;
    if (!attempt([&] {
          read_settings();
          own_file.emplace(arena::create_window_file(window_bytes));
        }))
      return false;
    if (user_heap().phase == heap_phase::shared && !check_static_data())
      fmt::print(stderr, "trireme mpi: rank {}: static data has been mapped anew; messages in it are copied twice\n",
                 world_rank);
    heaps.resize(static_cast<std::size_t>(size));
    const heap_location mine = own_heap();
    // No rank may be missing here.
    bootstrap.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(heaps)));
    return attempt([&] { parts->files = exchange_files(own_file->get(), heaps, bootstrap); }) &&
           attempt([&] { map_heaps(parts->files, heaps, rank); }) && attempt([&] { map_arena(); });
  }

  void map_arena() {
    std::vector<int> files;
    for (const os::unique_fd& file : parts->files.arenas) files.push_back(file.get());
    bool connected = false;
    try {
      const arena::arena_options wanted{.window_bytes = window_bytes, .what_to_do = error_hints_of(window_bytes, size)};
      parts->arena = std::make_unique<arena::arena_space>(wanted, files, rank, [&] {
        connected = true;
        if (!all_agree(true)) throw another_rank_failed();
      });
    } catch (...) {
      if (!connected) all_agree(false);
      throw;
    }
  }

  void publish_endpoint() {
    arena::heap& heap = parts->arena->heap();
    auto& published = *new (heap.reserve(sizeof(published_parts))) published_parts;
    published.rank =
        make_endpoint(heap, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size), settings.domain);
    const board::board_shape shape{std::vector<std::uint32_t>(static_cast<std::size_t>(size), 0)};
    if (rank == 0) {
      published.board_bytes = board::board::required_bytes(shape);
      published.board = static_cast<std::byte*>(heap.reserve(published.board_bytes));
      parts->work = board::board::initialise({published.board, published.board_bytes}, shape);
    }
    if (bootstrap.hosts().are_several())
      published.messages = make_host_messages(heap, static_cast<std::uint32_t>(world_size));
    parts->arena->publish(&published);
  }

  void join_board() {
    for (int i = 0; i < size; ++i) {
      const auto& published = *static_cast<published_parts*>(parts->arena->root_of(i));
      parts->endpoints.push_back(published.rank);
      if (published.messages != nullptr) parts->messages.push_back(published.messages);
    }
    if (rank != 0) {
      const auto& first = *static_cast<published_parts*>(parts->arena->root_of(0));
      parts->work = board::board::attach({first.board, first.board_bytes});
    }
    parts->pe.emplace(parts->work->join(static_cast<std::uint32_t>(rank),
                                        order_of_ranks(parts->endpoints, static_cast<std::uint32_t>(rank))));
    parts->blocks = std::make_unique<arena::block_cache>(parts->arena->heap(), std::uint16_t{0});
  }

  void make_engine(int thread_level) {
    engine_options& options = settings.engine;
    const int all_cores = CPU_COUNT(&cores);
    options.kernel_copies = kernel_copies_between(bootstrap, *parts->arena, rank, size, parts->endpoints);
    // Agreed, because it decides which collectives are used: TRIREME_MPI_PROGRESS may differ between ranks.
    options.oversubscribed = !all_agree(static_cast<std::uint32_t>(ranks_on_cores()) + settings.progress.cores <=
                                        static_cast<std::uint32_t>(all_cores));
    options.cores = all_cores;
    options.several_hosts = bootstrap.hosts().are_several();
    abi::set_more_ranks_than_cores(options.oversubscribed);
    options.measures_time = parts->tells_statistics = all_agree(wished_statistics().any());
    agree_on_sums();
    agree_on_costs();
    parts->began_ticks = os::ticks();
    parts->ranks = std::make_unique<engine>(parts->endpoints, static_cast<std::uint32_t>(rank), *parts->pe,
                                            *parts->blocks, options);
    set_arena_windows(size);
    parts->ranks->set_shared_memory(&shared_address_of_user_memory);
    parts->ranks->set_library_progress(&poll_library);
    made->threaded_ = thread_level == MPI_THREAD_MULTIPLE || settings.progress.has_thread();
    made->guarded_ = made->threaded_ || options.several_hosts;
    if (made->threaded_) parts->ranks->set_api_mutex(&made->lock_);
    made->engine_ = parts->ranks.get();
    made->parts_ = std::move(parts);
  }

  // Mostly no rank asks for them, which one exchange shows.
  void agree_on_sums() {
    const int first = bootstrap.smallest(wants_reproducible_sums() ? world_rank - world_size : 0) + world_size;
    if (first == world_size) return;
    made->reproducible_sums_ = all_agree(wants_reproducible_sums());
    if (!made->reproducible_sums_ && first == world_rank)
      fmt::print(stderr,
                 "trireme mpi: rank {} asks for reproducible sums (--reproducible-sums), and not all ranks do; "
                 "sums are as usual\n",
                 world_rank);
  }

  // All ranks have to choose the same algorithms between hosts.
  void agree_on_costs() {
    if (!bootstrap.hosts().are_several()) return;
    const int mine = digest_of(settings.collective_costs);
    const int largest = -bootstrap.smallest(-mine);
    if (largest == 0) return;  // there are none
    if (bootstrap.smallest(mine) == largest)
      made->collective_costs_ = settings.collective_costs;
    else if (world_rank == 0)
      fmt::print(stderr,
                 "trireme mpi: the costs of collectives (--tune-file) are not the same on all ranks; the "
                 "algorithms are chosen without them\n");
  }

  void learn_world() {
    made->hosts_ = bootstrap.hosts();
    made->number_of_world_rank_ = made->hosts_.numbers_on_host(world_rank, world_size);
    PMPI_Comm_group(MPI_COMM_WORLD, &made->world_group_);
    int* largest = nullptr;
    int is_known = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &is_known);
    if (is_known != 0) made->largest_tag_ = *largest;
    communicators::add_predefined(*made, bootstrap);
    all_agree(true);  // has an engine
  }

  // Messages to other hosts.
  bool connect_hosts() {
    if (!made->hosts_.are_several()) return true;
    const MPI_Comm comm = library_carrier::make_communicator(MPI_COMM_WORLD);
    if (comm == MPI_COMM_NULL) {  // on all
      say(world_rank, "the library has no room for another communicator");
      return false;
    }
    shared_parts& all = *made->parts_;
    all.network = std::make_unique<library_carrier>(comm, made->largest_tag_);
    all.internode = std::make_unique<internode_messages>(
        *all.ranks, *all.network, places_of(made->hosts_, made->number_of_world_rank_, world_rank), all.messages,
        internode_options{.most_unconfirmed_bytes = internode_options::most_unconfirmed_of(
                              static_cast<std::size_t>(world_size - made->hosts_.size))});
    made->internode_ = all.internode.get();
    all.ranks->set_wait_observer(all.internode.get());
    made->set_advance(advancing::internode, &advance_internode);
    return true;
  }

  bool begin_progress() {
    const progress_choice& progress = settings.progress;
    std::optional<cpu_set_t> reserved;
    if (progress.mode == progress_mode::reserved) reserved = last_of(cores, progress.cores);
    if (!attempt([&] {
          if (progress.has_thread())
            made->parts_->progress = std::make_unique<progress_thread>(*made->engine_, made->lock_, reserved);
        }))
      return false;
    if (reserved) leave_to_progress(*reserved);
    return true;
  }

  // Our messages move on while the library waits.
  bool begin_library_calls(int thread_level) {
    if (!made->hosts_.are_several()) return true;
    shared_parts& all = *made->parts_;
    if (!attempt([&] {
          if (thread_level == MPI_THREAD_MULTIPLE) all.library_thread = std::make_unique<library_call_thread>(*made);
        }))
      return false;
    made->library_thread_ = all.library_thread.get();
    library_waits::start();
    return true;
  }

  void count_calls() {
    if (!made->parts_->tells_statistics) return;
    arena::arena_space& arena = *made->parts_->arena;
    auto* const counts = new (arena.heap().reserve(sizeof(call_counts))) call_counts;
    static_cast<published_parts*>(arena.root_of(rank))->calls = counts;
    counted_calls::counts = counts;
  }

  // For readers outside of the job.
  void show_figures() {
    shared_parts& all = *made->parts_;
    const auto [host, hosts] = place_of_host();
    publish_live_page(all.arena->heap(), *all.endpoints[static_cast<std::size_t>(rank)],
                      {.rank = world_rank,
                       .size = world_size,
                       .host = host,
                       .hosts = hosts,
                       .first_pid = all.endpoints.front()->process});
  }

  // A rank whose file cannot be written has no trace, and says so; the program runs.
  void begin_trace() {
    const std::string folder = wished_trace();
    if (folder.empty()) return;
    shared_parts& all = *made->parts_;
    rank_trace_facts facts{.rank = world_rank, .size = world_size, .host = 0, .hosts = 1, .world_ranks = {}};
    facts.world_ranks.resize(all.endpoints.size());
    for (int each = 0; each < world_size; ++each)
      if (const std::uint32_t number = made->number_of(each); number != on_another_host)
        facts.world_ranks[number] = static_cast<std::uint32_t>(each);
    std::tie(facts.host, facts.hosts) = place_of_host();
    try {
      all.trace = std::make_unique<rank_trace>(folder, std::move(facts));
    } catch (const std::exception& problem) {
      fmt::print(stderr, "trireme mpi: rank {}: {}\n", world_rank, problem.what());
      return;
    }
    rank_trace::current = all.trace.get();
  }

  // The number of the own host, and how many there are.
  std::pair<int, int> place_of_host() const {
    std::vector<int> first_ranks = made->hosts_.host_of;  // of the hosts
    if (first_ranks.empty()) return {0, 1};
    std::sort(first_ranks.begin(), first_ranks.end());
    first_ranks.erase(std::unique(first_ranks.begin(), first_ranks.end()), first_ranks.end());
    const auto own = std::lower_bound(first_ranks.begin(), first_ranks.end(),
                                      made->hosts_.host_of[static_cast<std::size_t>(world_rank)]);
    return {static_cast<int>(own - first_ranks.begin()), static_cast<int>(first_ranks.size())};
  }

  static constexpr std::size_t window_bytes = config::default_arena_window_bytes;
};

void session::start(int thread_level) {
  if (active_ != nullptr) return;
  was_asked_to_start_ = true;
  keep_core_dumps_small();
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  starting ranks(rank, size);
  if (!ranks.ranks_can_take_part() || !ranks.share_memory() || !ranks.attempt([&] { ranks.publish_endpoint(); }) ||
      !ranks.attempt([&] { ranks.join_board(); }))
    return;
  ranks.make_engine(thread_level);
  ranks.learn_world();
  if (!ranks.connect_hosts() || !ranks.begin_progress() || !ranks.begin_library_calls(thread_level)) return;
  ranks.count_calls();
  ranks.show_figures();
  ranks.begin_trace();
  requests::start();
  active_ = ranks.made.release();
  stop_in_finalize();
  // The libraries freed more memory during their start than most programs allocate.
  trim_user_heap();
}

// Transfers between others may still use our memory; no rank leaves before all have arrived.
void session::stop() {
  session* const ended = active_;
  if (ended == nullptr) return;
  {
    const call_guard guard(*ended);
    requests::collect(*ended);
    requests::stop();
    if (ended->hosts_.are_several()) {  // other ranks may still ask for what this one has sent
      MPI_Request all = MPI_REQUEST_NULL;
      PMPI_Ibarrier(MPI_COMM_WORLD, &all);
      ended->ranks().wait([&] { return is_done_in_library(all); }, true);
      PMPI_Wait(&all, MPI_STATUS_IGNORE);
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  PMPI_Group_free(&ended->world_group_);
  active_ = nullptr;
  counted_calls::counts = nullptr;
  shared_parts& parts = *ended->parts_;
  if (ended->hosts_.are_several()) library_waits::stop();
  parts.library_thread.reset();
  parts.progress.reset();
  rank_trace::current = nullptr;
  parts.trace.reset();
  parts.internode.reset();
  parts.network.reset();
  parts.ranks.reset();
  if (parts.tells_statistics) {
    const double total_s = static_cast<double>(os::ticks() - parts.began_ticks) * os::ns_per_tick() / 1e9;
    PMPI_Barrier(MPI_COMM_WORLD);  // counting has stopped
    report_statistics(*ended, parts, total_s);
  }
  if (ended->hosts_.are_several()) PMPI_Comm_free(&ended->hosts_.of_host);
  // The session itself stays: buffers of the program may be in the arena.
}

void session::enter() {
  if (threaded_) lock_.lock();
  ++guards;
}
void session::exit() {
  --guards;
  if (threaded_) lock_.unlock();
}
bool session::is_entered() { return guards > 0; }

// The library is asked in each so many steps of a wait, and before a sleep. The progress thread leaves it alone.
bool session::advance_internode(bool before_sleep) {
  constexpr unsigned steps_between_polls = 8;
  session* const in = active_;
  if (in == nullptr || progress_thread::is_this()) return false;
  if (!before_sleep && !in->internode_->is_active() && ++in->internode_steps_ % steps_between_polls != 0) return false;
  return in->internode_->poll();
}

bool session::advance_operations(bool before_sleep) {
  bool worked = false;
  for (const auto advance : advances_)
    if (advance != nullptr && advance(before_sleep)) worked = true;
  return worked;
}

void session::set_advance(advancing what, bool (*advance)(bool before_sleep)) {
  advances_[static_cast<std::size_t>(what)] = advance;
  const bool any = std::ranges::any_of(advances_, [](auto* each) { return each != nullptr; });
  ranks().set_operations(any ? &advance_operations : nullptr);
}

session::session() = default;
session::~session() = default;

}  // namespace tri::mpi
