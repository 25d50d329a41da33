/* A library of a program's own, with thread-local data. */
static __thread int count = 1;
int unsupported(void) { return count++ > 0; }
