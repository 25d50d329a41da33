#include "mpi/datatypes/held_handles.hpp"

#include <unordered_map>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::held_handles {
namespace {

struct datatype {
  using handle = MPI_Datatype;
  static handle none() { return MPI_DATATYPE_NULL; }
  static void forget(handle freed) {
    datatypes::forget(freed);
    forget_element_type(freed);
  }
  static int free(handle* freed) { return PMPI_Type_free(freed); }
};

struct operation {
  using handle = MPI_Op;
  static handle none() { return MPI_OP_NULL; }
  static void forget(handle) {}
  static int free(handle* freed) { return PMPI_Op_free(freed); }
};

// What all holders of one handle share.
template <class Kind>
class held {
  using handle = typename Kind::handle;

 public:
  static std::shared_ptr<void> hold(handle wanted) {
    std::weak_ptr<held>& known = all()[abi::word(wanted)];
    std::shared_ptr<held> holders = known.lock();
    if (holders == nullptr) known = holders = std::make_shared<held>(wanted);
    return holders;
  }
  /// True: its last holder frees it.
  static bool is_freed_later(handle unwanted) {
    const auto found = all().find(abi::word(unwanted));
    const std::shared_ptr<held> holders = found != all().end() ? found->second.lock() : nullptr;
    if (holders != nullptr) holders->is_freed_ = true;
    return holders != nullptr;
  }

  explicit held(handle wanted) : handle_(wanted) {}
  ~held() {
    all().erase(abi::word(handle_));
    if (!is_freed_) return;
    const program_function running;  // functions of its attributes
    Kind::forget(handle_);
    Kind::free(&handle_);
  }
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  // Never destroyed: persistent requests that the program does not free stay to the end of the process.
  static std::unordered_map<std::uint64_t, std::weak_ptr<held>>& all() {
    static auto& known = *new std::unordered_map<std::uint64_t, std::weak_ptr<held>>;
    return known;
  }

  handle handle_;
  bool is_freed_ = false;  // by the program
};

// By the library without the call guard: it may call functions of the program.
template <class Kind>
int free(typename Kind::handle* unwanted) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    if (held<Kind>::is_freed_later(*unwanted)) {
      *unwanted = Kind::none();
      return MPI_SUCCESS;
    }
    Kind::forget(*unwanted);
  }
  return Kind::free(unwanted);
}

}  // namespace

std::shared_ptr<void> hold_type(MPI_Datatype type) {
  return element_type_of(type).handle == type ? nullptr : held<datatype>::hold(type);
}

std::shared_ptr<void> hold_operation(MPI_Op wanted) {
  return wanted == MPI_OP_NULL || reduction_of(wanted) ? nullptr : held<operation>::hold(wanted);
}

}  // namespace tri::mpi::held_handles

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Type_free(MPI_Datatype* type) { return held_handles::free<held_handles::datatype>(type); }
TRIREME_EXPORTED int MPI_Op_free(MPI_Op* operation) { return held_handles::free<held_handles::operation>(operation); }
