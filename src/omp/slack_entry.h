/* How a layer between the program and its message passing tells the OpenMP drop-in that the process has waited. A C
   interface, found by name: the two are libraries of their own. Any thread. */
#ifndef TRIREME_OMP_SLACK_ENTRY_H
#define TRIREME_OMP_SLACK_ENTRY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `operation`: its name, such as "MPI_Allreduce". `count`: elements, or 0. */
void trireme_slack_waited(const char* operation, uint64_t count, double nanoseconds);

/* Not 0: the mean wait of a trial, when message passing begins, is to be the prediction for everything (TRIREME_SLACK=naive). */
int trireme_slack_wants_trial(void);
void trireme_slack_of_trial(double nanoseconds);

#ifdef __cplusplus
}
#endif

#endif
