#include "boot/kvs/pmix_client.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "boot/bootstrap_messages.hpp"
#include "boot/membership.hpp"

namespace tri::boot {
namespace {

constexpr const char* library_name = "libpmix.so.2";

// The functions that we call. Never unloaded: the library has a thread and handlers of its own.
struct pmix_library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Error_string) error_string;

  pmix_library() {
    void* const library = dlopen(library_name, RTLD_NOW | RTLD_GLOBAL);  // its plug-ins resolve its symbols
    if (library == nullptr) {
      throw job_error(fmt::format(
          "PMIX_NAMESPACE is set, so a PMIx launcher (mpirun of Open MPI, srun) started this program, but {} cannot be "
          "loaded ({}); install it (Debian: libpmix2), or start the program with `trireme run`",
          library_name, dlerror()));
    }
    find(library, "PMIx_Init", init);
    find(library, "PMIx_Get", get);
    find(library, "PMIx_Put", put);
    find(library, "PMIx_Commit", commit);
    find(library, "PMIx_Fence", fence);
    find(library, "PMIx_Abort", abort);
    find(library, "PMIx_Finalize", finalize);
    find(library, "PMIx_Error_string", error_string);
  }

 private:
  template <class Function>
  static void find(void* library, const char* symbol, Function& into) {
    into = reinterpret_cast<Function>(dlsym(library, symbol));
    if (into == nullptr) throw job_error(fmt::format("{} has no {}", library_name, symbol));
  }
};

// PMIx allocates what it returns with malloc.
struct value_deleter {
  void operator()(pmix_value_t* value) const {
    if (value->type == PMIX_BYTE_OBJECT) std::free(value->data.bo.bytes);
    std::free(value);
  }
};
using owned_value = std::unique_ptr<pmix_value_t, value_deleter>;

class pmix_client final : public key_value_space {
 public:
  pmix_client();
  const char* name() const override { return "PMIx"; }
  int rank() const override { return static_cast<int>(self_.rank); }
  int size() const override { return size_; }
  void put(const std::string& key, std::span<const std::byte> value) override;
  void fence(bool collect) override;
  std::optional<std::vector<std::byte>> get(int rank, const std::string& key) override;
  void finalize() override { check(library_.finalize(nullptr, 0), "PMIx_Finalize"); }
  void abort(int exit_status, const std::string& text) override {
    library_.abort(exit_status, text.c_str(), nullptr, 0);
  }

 private:
  pmix_proc_t of_rank(pmix_rank_t rank) const {
    pmix_proc_t which = self_;
    which.rank = rank;
    return which;
  }
  void check(pmix_status_t status, const char* what) const {
    if (status != PMIX_SUCCESS) throw protocol_error(fmt::format("{} says {}", what, library_.error_string(status)));
  }
  static std::string full_key(const std::string& key) { return "trireme." + key; }

  pmix_library library_;
  pmix_proc_t self_{};
  int size_ = 0;
  // Slurm's plug-in (22.05) answers a fence that collects no data at once, without the other hosts. There is always
  // data to collect: find_places() of pmi_membership puts the first before any fence.
  bool only_collecting_fences_wait_ = false;
};

pmix_client::pmix_client() {
  const pmix_status_t status = library_.init(&self_, nullptr, 0);
  if (status == PMIX_ERR_UNREACH) {
    throw job_error(
        "PMIX_NAMESPACE is set, but no PMIx launcher answers; start the program with mpirun or srun, or unset the "
        "variables PMIX_* to start it alone");
  }
  check(status, "PMIx_Init");
  const pmix_proc_t job = of_rank(PMIX_RANK_WILDCARD);
  pmix_value_t* found = nullptr;
  check(library_.get(&job, PMIX_JOB_SIZE, nullptr, 0, &found), "PMIx_Get(PMIX_JOB_SIZE)");
  const owned_value owner(found);
  if (found->type != PMIX_UINT32) throw protocol_error("PMIX_JOB_SIZE is not a uint32");
  size_ = static_cast<int>(found->data.uint32);
  only_collecting_fences_wait_ = std::string_view(self_.nspace).starts_with("slurm.pmix.");
}

void pmix_client::put(const std::string& key, std::span<const std::byte> value) {
  pmix_value_t given{};
  given.type = PMIX_BYTE_OBJECT;
  given.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(value.data()));  // it is copied
  given.data.bo.size = value.size();
  check(library_.put(PMIX_GLOBAL, full_key(key).c_str(), &given), "PMIx_Put");
  check(library_.commit(), "PMIx_Commit");
}

// Anything but success counts as a failure: with a dead member the fence "partially" succeeds.
void pmix_client::fence(bool collect) {
  const pmix_proc_t job = of_rank(PMIX_RANK_WILDCARD);
  pmix_info_t with_data{};
  constexpr std::string_view name = PMIX_COLLECT_DATA;
  std::copy(name.begin(), name.end(), with_data.key);
  with_data.value.type = PMIX_BOOL;
  with_data.value.data.flag = collect || only_collecting_fences_wait_;
  check(library_.fence(&job, 1, &with_data, 1), "PMIx_Fence");
}

std::optional<std::vector<std::byte>> pmix_client::get(int rank, const std::string& key) {
  const pmix_proc_t other = of_rank(static_cast<pmix_rank_t>(rank));
  pmix_value_t* found = nullptr;
  const pmix_status_t status = library_.get(&other, full_key(key).c_str(), nullptr, 0, &found);
  if (status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_TIMEOUT) return std::nullopt;
  check(status, "PMIx_Get");
  const owned_value owner(found);
  if (found->type != PMIX_BYTE_OBJECT)
    throw protocol_error(fmt::format("PMIx key {} is not a byte object", full_key(key)));
  const auto* const begin = reinterpret_cast<const std::byte*>(found->data.bo.bytes);
  return std::vector<std::byte>(begin, begin + found->data.bo.size);
}

}  // namespace

std::unique_ptr<key_value_space> connect_to_pmix() { return std::make_unique<pmix_client>(); }

}  // namespace tri::boot
