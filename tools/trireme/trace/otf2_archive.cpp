#include "trace/otf2_archive.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trace/region_steps.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using trace::event;

constexpr std::uint64_t ns_per_second = 1'000'000'000;
constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 20;
constexpr const char* archive_name = "traces";  // traces.otf2 is what viewers open
constexpr OTF2_CommRef all_pes = 0;

void check(OTF2_ErrorCode code, const char* what) {
  if (code != OTF2_SUCCESS)
    throw std::runtime_error(fmt::format("--otf2: {}: {}", what, OTF2_Error_GetDescription(code)));
}

OTF2_FlushType flush_before(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
OTF2_TimeStamp time_after(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }

// Numbers for texts, in the order in which they were asked for: definitions have to be written in that of their
// numbers.
class numbered_texts {
 public:
  std::uint32_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> texts_;
};

// What one location writes, by time.
struct timed_write {
  std::int64_t ns;
  std::function<OTF2_ErrorCode(OTF2_EvtWriter*)> write;
};

class archive {
 public:
  archive(const std::string& folder, const trace_folder& trace, const std::vector<message_path>& paths)
      : trace_(trace), paths_(paths) {
    handle_ = OTF2_Archive_Open(folder.c_str(), archive_name, OTF2_FILEMODE_WRITE, chunk_bytes, chunk_bytes,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (handle_ == nullptr) throw std::runtime_error(fmt::format("--otf2: no archive can be made in {}", folder));
    static const OTF2_FlushCallbacks flushes{.otf2_pre_flush = flush_before, .otf2_post_flush = time_after};
    check(OTF2_Archive_SetFlushCallbacks(handle_, &flushes, nullptr), "flushing");
    check(OTF2_Archive_SetSerialCollectiveCallbacks(handle_), "collective calls");
  }
  ~archive() {
    if (handle_ != nullptr) OTF2_Archive_Close(handle_);
  }
  archive(const archive&) = delete;
  archive& operator=(const archive&) = delete;

  void write() {
    check(OTF2_Archive_OpenEvtFiles(handle_), "the files of events");
    for (std::size_t i = 0; i < trace_.rows.size(); ++i) write_events(i);
    check(OTF2_Archive_CloseEvtFiles(handle_), "the files of events");
    write_local_definitions();
    write_definitions();
    check(OTF2_Archive_Close(std::exchange(handle_, nullptr)), "closing the archive");
  }

 private:
  OTF2_StringRef text(const std::string& what) { return strings_.number_of(what); }
  OTF2_RegionRef region(const std::string& name) { return regions_.number_of(name); }
  OTF2_MetricRef metric(const std::string& name) { return metrics_.number_of(name); }
  static OTF2_TimeStamp stamp(std::int64_t ns) { return static_cast<OTF2_TimeStamp>(ns); }

  void write_events(std::size_t location) {
    const trace_row& row = trace_.rows[location];
    std::vector<timed_write> list;
    for (const region_step& step : region_steps_of(trace_, row, trace_.end_ns))
      list.push_back(
          {step.ns, [ns = stamp(step.ns), in = region(step.region), enters = step.enters](OTF2_EvtWriter* to) {
             return enters ? OTF2_EvtWriter_Enter(to, nullptr, ns, in) : OTF2_EvtWriter_Leave(to, nullptr, ns, in);
           }});
    add_messages(row, list);
    add_metrics(row, list);
    std::stable_sort(list.begin(), list.end(),
                     [](const timed_write& one, const timed_write& other) { return one.ns < other.ns; });
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(handle_, location);
    if (writer == nullptr) throw std::runtime_error("--otf2: a file of events cannot be made");
    for (const timed_write& each : list) check(each.write(writer), "an event");
    events_.push_back(list.size());
    check(OTF2_Archive_CloseEvtWriter(handle_, writer), "a file of events");
  }

  // Only those of which both ends are known: viewers want pairs.
  void add_messages(const trace_row& row, std::vector<timed_write>& list) const {
    if (row.pe < 0) return;
    for (const message_path& path : paths_) {
      const auto add = [&](auto* record, std::int64_t at, int peer) {
        list.push_back({at, [=, ns = stamp(at), tag = path.handler, bytes = path.bytes](OTF2_EvtWriter* to) {
                          return record(to, nullptr, ns, static_cast<std::uint32_t>(peer), all_pes, tag, bytes);
                        }});
      };
      if (path.source == row.pe) add(&OTF2_EvtWriter_MpiSend, path.sent, path.destination);
      if (path.destination == row.pe) add(&OTF2_EvtWriter_MpiRecv, path.begun, path.source);
    }
  }

  void add_metrics(const trace_row& row, std::vector<timed_write>& list) {
    for (const trace_event& one : row.events) {
      std::optional<OTF2_MetricRef> which;
      double value = 0;
      if (one.what == event::mark) {
        which = metric(row.name_of_program(one.handler));
        value = std::bit_cast<double>(one.number);
      } else if (one.what == event::load || one.what == event::expected) {
        which = metric(one.what == event::load ? "load before balancing, ns" : "load expected after balancing, ns");
        value = static_cast<double>(one.number);
      }
      if (which)
        list.push_back({one.ns, [ns = stamp(one.ns), which = *which, value](OTF2_EvtWriter* to) {
                          const OTF2_Type type = OTF2_TYPE_DOUBLE;
                          OTF2_MetricValue shown{};
                          shown.floating_point = value;
                          return OTF2_EvtWriter_Metric(to, nullptr, ns, which, 1, &type, &shown);
                        }});
    }
  }

  void write_local_definitions() {
    check(OTF2_Archive_OpenDefFiles(handle_), "the files of definitions");
    for (std::size_t i = 0; i < trace_.rows.size(); ++i) {
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(handle_, i);
      if (writer == nullptr) throw std::runtime_error("--otf2: a file of definitions cannot be made");
      check(OTF2_Archive_CloseDefWriter(handle_, writer), "a file of definitions");
    }
    check(OTF2_Archive_CloseDefFiles(handle_), "the files of definitions");
  }

  // All texts before what refers to them: readers may go through the file once.
  void write_definitions() {
    OTF2_GlobalDefWriter* const to = OTF2_Archive_GetGlobalDefWriter(handle_);
    if (to == nullptr) throw std::runtime_error("--otf2: the definitions cannot be written");
    std::vector<std::function<OTF2_ErrorCode()>> rest;
    define_regions(to, rest);
    define_places(to, rest);
    check(OTF2_GlobalDefWriter_WriteClockProperties(to, ns_per_second, 0, stamp(trace_.end_ns) + 1,
                                                    OTF2_UNDEFINED_TIMESTAMP),
          "the clock");
    for (OTF2_StringRef number = 0; number < strings_.texts().size(); ++number)
      check(OTF2_GlobalDefWriter_WriteString(to, number, strings_.texts()[number].c_str()), "a text");
    for (const auto& define : rest) check(define(), "a definition");
    check(OTF2_Archive_CloseGlobalDefWriter(handle_, to), "the definitions");
  }

  void define_regions(OTF2_GlobalDefWriter* to, std::vector<std::function<OTF2_ErrorCode()>>& rest) {
    const OTF2_StringRef none = text("");
    for (OTF2_RegionRef number = 0; number < regions_.texts().size(); ++number)
      rest.emplace_back([=, called = text(regions_.texts()[number])] {
        return OTF2_GlobalDefWriter_WriteRegion(to, number, called, called, none, OTF2_REGION_ROLE_FUNCTION,
                                                OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, none, 0, 0);
      });
    for (OTF2_MetricRef number = 0; number < metrics_.texts().size(); ++number)
      rest.emplace_back([=, called = text(metrics_.texts()[number])] {
        const OTF2_ErrorCode code = OTF2_GlobalDefWriter_WriteMetricMember(
            to, number, called, none, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE,
            OTF2_BASE_DECIMAL, 0, none);
        return code != OTF2_SUCCESS ? code
                                    : OTF2_GlobalDefWriter_WriteMetricClass(
                                          to, number, 1, &number, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
      });
  }

  // The machine with its hosts, processes, and PEs and wires as locations.
  void define_places(OTF2_GlobalDefWriter* to, std::vector<std::function<OTF2_ErrorCode()>>& rest) {
    const OTF2_StringRef node = text("node");
    rest.emplace_back([=, machine = text("machine")] {
      return OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    });
    for (int host = 0; host < trace_.hosts; ++host)
      rest.emplace_back([=, name = text(fmt::format("host {}", host))] {
        return OTF2_GlobalDefWriter_WriteSystemTreeNode(to, static_cast<OTF2_SystemTreeNodeRef>(host + 1), name, node,
                                                        0);
      });
    int last = -1;
    std::vector<std::uint64_t> pes;
    for (std::size_t i = 0; i < trace_.rows.size(); ++i) {
      const trace_row& row = trace_.rows[i];
      if (row.process != std::exchange(last, row.process))
        rest.emplace_back(
            [=, process = row.process, host = row.host, name = text(fmt::format("process {}", row.process))] {
              return OTF2_GlobalDefWriter_WriteLocationGroup(
                  to, static_cast<OTF2_LocationGroupRef>(process), name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                  static_cast<OTF2_SystemTreeNodeRef>(host + 1), OTF2_UNDEFINED_LOCATION_GROUP);
            });
      rest.emplace_back([=, events = events_[i], process = row.process, name = text(row.label())] {
        return OTF2_GlobalDefWriter_WriteLocation(to, i, name, OTF2_LOCATION_TYPE_CPU_THREAD, events,
                                                  static_cast<OTF2_LocationGroupRef>(process));
      });
      if (row.pe >= 0) {  // its rank is its number, also where not all PEs were traced
        pes.resize(std::max(pes.size(), static_cast<std::size_t>(row.pe) + 1), OTF2_UNDEFINED_LOCATION);
        pes[static_cast<std::size_t>(row.pe)] = i;
      }
    }
    define_communicator(to, rest, pes);
  }

  void define_communicator(OTF2_GlobalDefWriter* to, std::vector<std::function<OTF2_ErrorCode()>>& rest,
                           const std::vector<std::uint64_t>& pes) {
    const auto count = static_cast<std::uint32_t>(pes.size());
    std::vector<std::uint64_t> ranks(pes.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
    rest.emplace_back([=, name = text("PEs")] {
      return OTF2_GlobalDefWriter_WriteGroup(to, 0, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, count, pes.data());
    });
    rest.emplace_back([=, name = text("all PEs")] {
      return OTF2_GlobalDefWriter_WriteGroup(to, 1, name, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, count, ranks.data());
    });
    rest.emplace_back([=, name = text("all PEs")] {
      return OTF2_GlobalDefWriter_WriteComm(to, all_pes, name, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    });
  }

  const trace_folder& trace_;
  const std::vector<message_path>& paths_;
  OTF2_Archive* handle_ = nullptr;
  numbered_texts strings_;
  numbered_texts regions_;
  numbered_texts metrics_;
  std::vector<std::uint64_t> events_;  // by location
};

}  // namespace

bool has_otf2() { return true; }

void write_otf2(const std::string& folder, const trace_folder& trace, const std::vector<message_path>& paths) {
  std::error_code problem;
  if (fs::exists(folder, problem) && !(fs::is_directory(folder, problem) && fs::is_empty(folder, problem)))
    throw std::runtime_error(
        fmt::format("--otf2 {}: there is something already; an archive needs a new folder", folder));
  archive(folder, trace, paths).write();
}

}  // namespace tri::tools
