/* reach.h -- processes that run already: which of them use CUDA, and how each can be reached.
 *
 *     struct gp_reach r;
 *     gp_reach(&r, pid, library);
 *     if (r.way == GP_REACH_PTRACE) gp_load_library(&r, library);
 *     int fd = gp_reach_connect(&r);             // -1: r.why says why
 */
#ifndef GP_COLLECT_ATTACH_REACH_H
#define GP_COLLECT_ATTACH_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "formats/base/vec.h"

enum gp_reach_way {
    GP_REACH_NOT,     /* see WHY */
    GP_REACH_DORMANT, /* the library sleeps in it */
    GP_REACH_PTRACE,  /* it can be loaded */
};

/* What decides about a process. */
struct gp_reach_facts {
    uint32_t uid, own_uid;
    long tracer;                        /* process that traces it, 0: none */
    long seccomp, filters, own_filters; /* as in /proc/PID/status */
    long yama;                          /* kernel.yama.ptrace_scope, 0: none */
    bool may_trace;                     /* we have CAP_SYS_PTRACE */
    bool uses_cuda, stopped, shadow_stack, has_dlopen, sees_library;
};

struct gp_reach {
    pid_t pid, inner; /* INNER: its own view of its number */
    uint32_t uid;
    enum gp_reach_way way;
    char why[400];
    char name[32]; /* of the program */
};

typedef GP_VEC(struct gp_reach) gp_reach_list;

/* LIBRARY: the path of the injected library. */
void gp_reach(struct gp_reach *r, pid_t pid, const char *library);
/* Why the library cannot be loaded into a process of that kind; NULL: it can. */
const char *gp_reach_refusal(const struct gp_reach_facts *f, char *text, size_t size);
/* Does it have a GPU open, or libcuda mapped? */
bool gp_reach_uses_cuda(pid_t pid);
/* All processes that use CUDA, by number; unless ROOT is 0, only those below it, and itself. */
void gp_reach_find(gp_reach_list *list, pid_t root, const char *library);
/* A connection to the library that sleeps there; -1: it does not, as WHY says. */
int gp_reach_connect(struct gp_reach *r);

/* Have the process load LIBRARY, which then sleeps in it: one of its threads that waits in a call makes a
 * detour. The process never stays stopped, whenever this program ends. R is filled anew. */
void gp_load_library(struct gp_reach *r, const char *library);

#endif
