/* inject_cuts.h -- sessions of the program, and recording switched by it.
 */
#ifndef GP_COLLECT_INJECT_INJECT_CUTS_H
#define GP_COLLECT_INJECT_INJECT_CUTS_H

#include <stdbool.h>
#include "collect/wire/wire.h"

/* What the flush thread offers for that. */
struct gp_inject_flusher {
    void (*flush)(void); /* hand over everything that there is */
    void (*send)(enum gp_wire_type type, const void *data, size_t n);
    bool (*hear)(struct gp_wire_cut_done *done); /* wait for the answer; false if there will be none */
};

enum gp_ask { GP_ASK_BEGIN, GP_ASK_END, GP_ASK_RECORD, GP_ASK_STOP };

/* Ask the flush thread, and wait until it has answered. FRAME is of the first two, DONE gets the
 * complaint of the launcher. Returns 0 or an enum gpuprof_error. */
int gp_inject_ask(enum gp_ask ask, struct gp_wire_cut *frame, bool memory, struct gp_wire_cut_done *done);
/* ALONE: nobody else records this process, so CUPTI is lent when nothing is recorded. */
void gp_inject_cuts_start(bool alone);
/* Answer whoever has asked; flush thread only. */
void gp_inject_cuts_serve(const struct gp_inject_flusher *f);
/* There will be no more answers. */
void gp_inject_cuts_close(void);
void gp_inject_cuts_forked(void);

#endif
