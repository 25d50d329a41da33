/* Runs a program as under a kernel with vm.overcommit_memory=2: private writable mappings of 32 GiB and more are
   refused, MAP_NORESERVE or not. A filter of system calls, because the heap asks the kernel without the C library. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENT(number) \
  ((unsigned)(offsetof(struct seccomp_data, args) + 8 * (number))) /* its low half; little endian */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
/* Goes on when the condition holds, else skips the rest. */
#define ONLY_IF(condition, value, rest) BPF_JUMP(BPF_JMP | (condition) | BPF_K, (value), 0, (rest))

int main(int count, char** arguments) {
  struct sock_filter steps[] = {
      LOAD(offsetof(struct seccomp_data, nr)),
      ONLY_IF(BPF_JEQ, SYS_mmap, 7),
      LOAD(ARGUMENT(2)),
      ONLY_IF(BPF_JSET, PROT_WRITE, 5),
      LOAD(ARGUMENT(3)),
      ONLY_IF(BPF_JSET, MAP_PRIVATE, 3),
      LOAD(ARGUMENT(1) + 4),
      ONLY_IF(BPF_JGE, 8, 1), /* times 4 GiB */
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
  if (count < 2) return 3;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("no filter of system calls");
    return 77;
  }
  execvp(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 3;
}
