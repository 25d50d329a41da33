#include "omp/native_runtime.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace tri::omp {
namespace {

constexpr int missing_function_status = 127;

const void* our_base() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&find_native_function), &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_ours(void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 || info.dli_fbase == our_base();
}

}  // namespace

void* find_behind_object(const char* object, const char* name) {
  void* const found = os::find_in_object(object, name);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_global_native_function(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_native_function(const char* name) {
  if (void* const found = find_global_native_function(name)) return found;
  for (const std::string& object : os::loaded_objects()) {
    if (void* const found = find_behind_object(object.c_str(), name)) return found;
  }
  return nullptr;
}

void* require_native_function(const char* name) {
  void* const found = find_native_function(name);
  if (found == nullptr) report_missing(name);
  return found;
}

void* find_beside(void* neighbour, const char* name) {
  Dl_info info{};
  void* found = nullptr;
  if (dladdr(neighbour, &info) != 0 && info.dli_fname != nullptr) found = find_behind_object(info.dli_fname, name);
  return found != nullptr ? found : find_native_function(name);
}

thread_local const other_runtime* this_runtime [[gnu::tls_model("initial-exec")]] = nullptr;

class other_runtime {
 public:
  explicit other_runtime(std::string file) : file_(std::move(file)) {}
  void* find(const char* name) const {
    const std::lock_guard held(guard_);
    void*& found = known_[name];
    if (found == nullptr) found = find_behind_object(file_.c_str(), name);
    return found;
  }

 private:
  const std::string file_;
  mutable std::mutex guard_;
  mutable std::map<std::string, void*> known_;
};

void* require_in(const other_runtime& runtime, const char* name) {
  void* const found = runtime.find(name);
  if (found == nullptr) report_missing(name);
  return found;
}

namespace {

// When there is a runtime in the usual search order, the loader binds all objects to it.
const other_runtime* look_up_runtime(const void* code, const char* entry, void* usual) {
  Dl_info of_code{}, of_usual{}, of_own{};
  if (find_global_native_function(entry) != nullptr || dladdr(code, &of_code) == 0 || of_code.dli_fname == nullptr ||
      dladdr(usual, &of_usual) == 0)
    return nullptr;
  void* const own = find_behind_object(of_code.dli_fname, entry);
  if (own == nullptr || dladdr(own, &of_own) == 0 || of_own.dli_fbase == of_usual.dli_fbase) return nullptr;
  static std::mutex guard;
  static auto& known = *new std::map<const void*, other_runtime>;  // used until the very end
  const std::lock_guard held(guard);
  return &known.try_emplace(of_own.dli_fbase, of_own.dli_fname).first->second;
}

}  // namespace

const other_runtime* runtime_of(const void* code, const char* entry, void* usual) {
  struct place {
    const void* code = nullptr;
    const other_runtime* runtime = nullptr;
  };
  constexpr std::size_t places = 16;
  [[gnu::tls_model("initial-exec")]] static thread_local place recent[places];
  place& mine = recent[(reinterpret_cast<std::uintptr_t>(code) >> 4) % places];
  if (mine.code != code) [[unlikely]]
    mine = {code, look_up_runtime(code, entry, usual)};
  return mine.runtime;
}

void report_missing(const char* name) {
  std::fprintf(
      stderr,
      "trireme omp: the program calls %s, but no OpenMP runtime that is loaded has it. Run the program without "
      "`--omp`, or with the runtime it was built for.\n",
      name);
  _exit(missing_function_status);
}

}  // namespace tri::omp
