#include "mpi/comm/error_handlers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>
#include <unwind.h>

#include <string>
#include <string_view>

#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// Looked for from the error outwards, among the functions that this library exports.
struct call_search {
  const void* library = nullptr;
  const char* name = nullptr;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* search) {
  auto& into = *static_cast<call_search*>(search);
  Dl_info found{};
  // One less: the address of the return may be the next function's.
  if (dladdr(reinterpret_cast<const void*>(_Unwind_GetIP(frame) - 1), &found) == 0 || found.dli_fbase != into.library ||
      found.dli_sname == nullptr)
    return _URC_NO_REASON;
  const std::string_view name = found.dli_sname;
  if (!name.starts_with("MPI_") && !name.starts_with("mpi_")) return _URC_NO_REASON;
  into.name = found.dli_sname;
  return _URC_END_OF_STACK;
}

// The program's current call. Calls do not store their names: that would cost each an instruction or two.
std::string_view call_under_way() {
  static const char of_this_library = 0;
  Dl_info own{};
  if (dladdr(&of_this_library, &own) == 0) return "a call";
  call_search search{own.dli_fbase};
  _Unwind_Backtrace(look_at_frame, &search);
  return search.name == nullptr ? std::string_view("a call") : search.name;
}

bool ends_the_job(MPI_Errhandler& handler) {
  const bool ends = handler == MPI_ERRORS_ARE_FATAL
#ifdef MPI_ERRORS_ABORT
                    || handler == MPI_ERRORS_ABORT
#endif
      ;
  PMPI_Errhandler_free(&handler);
  return ends;
}

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (PMPI_Error_string(error, text, &length) != MPI_SUCCESS || length <= 0) return fmt::format("error {}", error);
  return {text, static_cast<std::size_t>(length)};
}

void print_end(int cause, std::string_view call, std::string_view object, std::string_view object_name) {
  const session* const in = session::active();
  const std::string line = fmt::format("trireme mpi: rank {}: {} on {} '{}' failed: {}\n",
                                       in == nullptr ? 0 : in->world_rank(), call, object, object_name, text_of(cause));
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

int report(MPI_Comm comm, int error, int cause) {
  const guard_release released(session::active());
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS && ends_the_job(handler)) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Comm_get_name(comm, name, &length);
    print_end(cause, call_under_way(), "communicator", name);
  }
  PMPI_Comm_call_errhandler(comm, error);
  return error;
}

int report_on_window(MPI_Win window, int error, const char* call) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Win_get_errhandler(window, &handler) == MPI_SUCCESS && ends_the_job(handler)) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Win_get_name(window, name, &length);
    print_end(error, call, "window", name);
  }
  PMPI_Win_call_errhandler(window, error);
  return error;
}

}  // namespace tri::mpi
