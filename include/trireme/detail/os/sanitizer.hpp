// Which sanitizer this file is compiled under, as constants, so that the rest of the code needs no conditional
// compilation.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRIREME_UNDER_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TRIREME_UNDER_THREAD_SANITIZER 1
#endif

#pragma GCC visibility push(default)

namespace tri::os {

#ifdef TRIREME_UNDER_THREAD_SANITIZER
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

}  // namespace tri::os
#undef TRIREME_UNDER_THREAD_SANITIZER

#pragma GCC visibility pop
