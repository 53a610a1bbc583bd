/* thread_state.h -- what a thread of another process is doing, as the kernel says: running, or waiting in
 * which call. One small file of /proc, which is kept open.
 *
 *     struct gp_thread_file f = {.fd = -1};
 *     enum gp_thread_does does = gp_thread_does(&f, pid, tid);
 *     gp_thread_close(&f);
 */
#ifndef GP_COLLECT_SAMPLE_THREAD_STATE_H
#define GP_COLLECT_SAMPLE_THREAD_STATE_H

#include <stdbool.h>
#include <sys/types.h>
#include "formats/model/samples.h"

enum gp_thread_does {
    GP_DOES_RUN,
#define X(id, name) GP_DOES_##id,
    GP_SAMPLED_STATES(X)
#undef X
        GP_THREAD_DOES_COUNT
};

struct gp_thread_file {
    int fd; /* -1: not open */
};

const char *gp_thread_does_name(enum gp_thread_does does);
/* GP_DOES_RUN if that cannot be found out. */
enum gp_thread_does gp_thread_does(struct gp_thread_file *f, pid_t pid, pid_t tid);
/* What the text of the file means; FD gets the descriptor that the call is about, -1: none. */
enum gp_thread_does gp_thread_does_parse(const char *text, int *fd);
void gp_thread_close(struct gp_thread_file *f);

#endif
