/* Loops for threads that you started yourself, in C, C++ or Fortran: each thread asks which iterations to run next. The
 * schedules are those of trireme/loops.hpp, by name.
 *
 *     tri_team* team = tri_team_create(threads);
 *     ... in every thread, with its own number 0 .. threads - 1:
 *     long start, end;
 *     TRI_FORALL_BEGIN(team, "staggered,0.5", 0, n, start, end, number)
 *       for (long i = start; i < end; i++) c[i] = a[i] + b[i];
 *     TRI_FORALL_END(team, start, end, number)
 *     ... a barrier of yours, if what follows needs the whole loop
 *     tri_team_destroy(team);
 *
 * Every thread of the team must come to every loop, in the same order and with the same arguments; no thread waits for
 * another one, so a thread may be several loops ahead. Schedules that learn ("automatic" and others) know a loop by the
 * place in the program that calls tri_forall_start. The four steps (create, start, next, destroy) are those of V. Kale's
 * dissertation, Illinois 2015, chapter 5. */
#ifndef TRIREME_FORALL_H
#define TRIREME_FORALL_H

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct tri_team tri_team;

/* Creates a team of `threads` threads, 1 to 65535; the caller frees it with tri_team_destroy. NULL on an error: see
 * tri_forall_error(). */
tri_team* tri_team_create(int threads);
/* Frees the team. No thread may be in a loop of it. NULL does nothing. */
void tri_team_destroy(tri_team* team);

/* Enters the next loop, over first .. last - 1 (empty when last <= first), as thread `number`. 1: run iterations
 * *start .. *end - 1, then call tri_forall_next. 0: there is nothing to run. -1: the schedule, the number or the team is
 * wrong, and no loop was entered; see tri_forall_error(). All threads get the same answer -1 for a wrong schedule. */
int tri_forall_start(tri_team* team, const char* schedule, long first, long last, long* start, long* end, int number);
/* The next iterations of the loop that this thread is in: 1, or 0 when nothing is left for it. */
int tri_forall_next(tri_team* team, long* start, long* end, int number);

/* Schedules of your own, as trireme/schedule.hpp: the function assigns the iterations 0 to iterations - 1 to
 * participants, each once, and may be called by several threads at once. `values`: the numbers after the name
 * ("mine,0.5,8"). 0, or -1: see tri_forall_error(). A wrong plan is reported by tri_forall_start, to all threads; the
 * loop is empty then. */
typedef struct tri_plan tri_plan;
typedef void (*tri_plan_function)(void* context, long iterations, int participants, const double* values,
                                  int value_count, tri_plan* plan);
int tri_schedule_add(const char* name, tri_plan_function function, void* context);
/* keep: only this participant runs them, before its other iterations. offer: it runs them next; a participant without
 * work may steal them. share: the pool, for any participant that is done with its own. */
void tri_plan_keep(tri_plan* plan, int participant, long first, long last);
void tri_plan_offer(tri_plan* plan, int participant, long first, long last);
void tri_plan_share(tri_plan* plan, long first, long last);

/* What was wrong in the last call of this thread that failed: with which value, and what would be right. */
const char* tri_forall_error(void);

#define TRI_FORALL_BEGIN(team, schedule, first, last, start, end, number)                       \
  {                                                                                             \
    int tri_forall_more_ = tri_forall_start(team, schedule, first, last, &(start), &(end), number); \
    while (tri_forall_more_ == 1) {
#define TRI_FORALL_END(team, start, end, number)                              \
      tri_forall_more_ = tri_forall_next(team, &(start), &(end), number);     \
    }                                                                         \
  }

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
