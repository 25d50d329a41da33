// All differences between the MPI libraries: the form of handles, the handle values that are intercepted, where a
// status keeps its count, how the library makes progress. Compiled once per library, with its mpi.h.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <bit>
#include <cstdint>

namespace tri::mpi::abi {

#if defined(MPICH_VERSION)

inline constexpr const char* library_name = "MPICH";

// Handles are numbers: two bits of kind, four of type, the rest a slot number. MPI_REQUEST_NULL is of the kind
// "invalid" and the type "request"; with another slot number that is a value which MPICH never gives out.
inline constexpr std::uint32_t first_own_request = MPI_REQUEST_NULL + 1u;
inline constexpr std::uint32_t most_own_requests = (1u << 26) - 2;

inline bool is_own(MPI_Request request) {
  return static_cast<std::uint32_t>(request) - first_own_request < most_own_requests;
}
inline std::uint32_t slot_of(MPI_Request request) { return static_cast<std::uint32_t>(request) - first_own_request; }
inline MPI_Request own_request(std::uint32_t slot) { return static_cast<MPI_Request>(slot + first_own_request); }

// MPI_Message is a request by another name there.
inline bool is_own_message(MPI_Message message) { return is_own(message); }
inline std::uint32_t slot_of_message(MPI_Message message) { return slot_of(message); }
inline MPI_Message own_message(std::uint32_t slot) { return own_request(slot); }

inline void set_count(MPI_Status& status, std::uint64_t bytes, bool cancelled) {
  status.count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status.count_hi_and_cancelled =
      static_cast<int>(static_cast<std::uint32_t>((bytes >> 32) << 1 | (cancelled ? 1 : 0)));
}

#elif defined(OPEN_MPI)

inline constexpr const char* library_name = "Open MPI";

inline constexpr const char* rank_variable = "OMPI_COMM_WORLD_RANK";
inline constexpr const char* ranks_variable = "OMPI_COMM_WORLD_SIZE";
inline constexpr const char* ranks_here_variable = "OMPI_COMM_WORLD_LOCAL_SIZE";
inline constexpr bool launcher_is_pmix = true;

// Handles are pointers to objects, so never odd.
inline constexpr std::uint32_t most_own_requests = 1u << 30;

inline bool is_own(MPI_Request request) { return (std::bit_cast<std::uintptr_t>(request) & 1) != 0; }
inline std::uint32_t slot_of(MPI_Request request) {
  return static_cast<std::uint32_t>(std::bit_cast<std::uintptr_t>(request) >> 1);
}
inline MPI_Request own_request(std::uint32_t slot) { return std::bit_cast<MPI_Request>(std::uintptr_t{slot} << 1 | 1); }
inline bool is_own_message(MPI_Message message) { return (std::bit_cast<std::uintptr_t>(message) & 1) != 0; }
inline std::uint32_t slot_of_message(MPI_Message message) {
  return static_cast<std::uint32_t>(std::bit_cast<std::uintptr_t>(message) >> 1);
}
inline MPI_Message own_message(std::uint32_t slot) { return std::bit_cast<MPI_Message>(std::uintptr_t{slot} << 1 | 1); }

// It ends by a signal there, as it does without us.
inline constexpr bool checks_collective_buffers = false;

/// As which integers the library accumulates bytes and characters, on which MPI defines no arithmetic.
inline MPI_Datatype integer_of_bytes(MPI_Datatype type) {
  return type == MPI_CHAR ? MPI_SIGNED_CHAR : MPI_UNSIGNED_CHAR;
}

/// While one lives, the library does not yield the core when idle. Open MPI yields with more ranks than cores, and
/// where others compute a yield costs a slice of the scheduler's, some milliseconds.
class without_yields {
 public:
  without_yields() {
    usually_yields();  // the first one remembers it
    set(false);
  }
  // Restores the usual value, not the current one: other threads may poll at the same time.
  ~without_yields() { set(usually_yields()); }
  without_yields(const without_yields&) = delete;
  without_yields& operator=(const without_yields&) = delete;

 private:
  static bool usually_yields() {
    static const bool yields = [] {
      const bool was = set(false);
      set(was);
      return was;
    }();
    return yields;
  }
  static bool set(bool yields) {
    using setter = bool (*)(bool);
    static const auto found = reinterpret_cast<setter>(dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle"));
    return found != nullptr && found(yields);
  }
};

inline void set_more_ranks_than_cores(bool) {}  // its launcher has set it

inline void set_count(MPI_Status& status, std::uint64_t bytes, bool cancelled) {
  status._ucount = bytes;
  status._cancelled = cancelled ? 1 : 0;
}

#elif defined(TRIREME_MPI_STANDARD_ABI)

inline constexpr const char* library_name = "an MPI library by the standard ABI";

// Handles are pointers in type only: MPICH stores its numbers in them, also negative ones. An address halfway between
// user space and kernel space is neither.
inline constexpr std::uint64_t own_mark = 0x5452'4900'0000'0000;
inline constexpr std::uint32_t most_own_requests = 1u << 30;

inline bool is_marked(const void* handle) { return (std::bit_cast<std::uintptr_t>(handle) ^ own_mark) >> 32 == 0; }
inline std::uint32_t slot_in(const void* handle) {
  return static_cast<std::uint32_t>(std::bit_cast<std::uintptr_t>(handle));
}

inline bool is_own(MPI_Request request) { return is_marked(request); }
inline std::uint32_t slot_of(MPI_Request request) { return slot_in(request); }
inline MPI_Request own_request(std::uint32_t slot) { return std::bit_cast<MPI_Request>(own_mark | slot); }
inline bool is_own_message(MPI_Message message) { return is_marked(message); }
inline std::uint32_t slot_of_message(MPI_Message message) { return slot_in(message); }
inline MPI_Message own_message(std::uint32_t slot) { return std::bit_cast<MPI_Message>(own_mark | slot); }

inline void set_count(MPI_Status& status, std::uint64_t bytes, bool cancelled) {
  PMPI_Status_set_elements_c(&status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(&status, cancelled ? 1 : 0);
}

#else
#error "the drop-in is built against Open MPI, MPICH, or the standard ABI"
#endif

// A handle as a key of tables.
inline std::uint64_t word(int handle) { return static_cast<std::uint32_t>(handle); }
template <class Handle>
std::uint64_t word(Handle* handle) {
  return std::bit_cast<std::uint64_t>(handle);
}

// What MPICH has in common with the libraries of the standard ABI: today these are MPICH 5 and Intel MPI.
#if !defined(OPEN_MPI)

// What its launcher (hydra) passes to a rank: its number, the number of ranks, and how many of them are on this host.
inline constexpr const char* rank_variable = "PMI_RANK";
inline constexpr const char* ranks_variable = "PMI_SIZE";
inline constexpr const char* ranks_here_variable = "MPI_LOCALNRANKS";
inline constexpr bool launcher_is_pmix = false;

/// Whether the library checks the buffers of collective calls and returns MPI_ERR_BUFFER when one is missing.
inline constexpr bool checks_collective_buffers = true;

/// As which integers the library accumulates bytes and characters, on which MPI defines no arithmetic.
inline MPI_Datatype integer_of_bytes(MPI_Datatype) { return MPI_SIGNED_CHAR; }

/// While one lives, the library does not yield the core when idle. MPICH yields because we interpose its progress
/// function (library_waits_mpich.cpp).
class without_yields {
 public:
  without_yields() : before_(active_) { active_ = true; }
  ~without_yields() { active_ = before_; }
  without_yields(const without_yields&) = delete;
  without_yields& operator=(const without_yields&) = delete;
  static bool is_active() { return active_; }

 private:
  static thread_local bool active_;
  bool before_;
};

/// Whether waits in the library yield the core.
void set_more_ranks_than_cores(bool more);

#endif

}  // namespace tri::mpi::abi
