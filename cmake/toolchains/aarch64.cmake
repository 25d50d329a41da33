# Cross build for 64-bit Arm with Debian's compiler against a Debian root that scripts/aarch64_sysroot.sh unpacked
# (TRIREME_SYSROOT); programs, tests among them, run in qemu's user mode.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(TRIREME_SYSROOT "" CACHE PATH "Debian root for arm64, made by scripts/aarch64_sysroot.sh")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRIREME_SYSROOT)
if(NOT EXISTS "${TRIREME_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "TRIREME_SYSROOT is '${TRIREME_SYSROOT}', which is not a Debian root for arm64; "
    "`scripts/aarch64_sysroot.sh FOLDER` makes one")
endif()

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "${TRIREME_SYSROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${TRIREME_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${TRIREME_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${TRIREME_SYSROOT}/usr/share/pkgconfig")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${TRIREME_SYSROOT})
