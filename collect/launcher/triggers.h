/* triggers.h -- moments at which the flight recorder writes what it has kept: a step, a collective, the
 * memory or the clock of a GPU is not as it was before. Only compares what is reported to it: reads no clock,
 * file or environment, and writes nothing. One caller at a time.
 *
 *     struct gp_dump_when when = {0};
 *     if (!gp_dump_when_parse(&when, "step:1.5x,memory:95%")) ...
 *     struct gp_triggers *t = gp_triggers_new(&when, apart_ns, settle_ns, most);
 *     gp_triggers_note(t, producer, tid, note);           // ranges and marks of processes
 *     gp_triggers_events(t, producer, &trace);            // their calls and GPU work
 *     gp_triggers_reach(t, producer, ns);                 // until then, they have reported all
 *     gp_triggers_sample(t, &sample, memory_bytes);       // of GPUs in use
 *     if (gp_triggers_turn(t, now_ns, &dump)) write(dump.why);    // now and then
 *
 * What runs is as long as its process has reported without its end: reports come late, and a step may be over
 * by then. A process that reports nothing for long is taken to do nothing, too.
 *
 * A moment is handed out SETTLE_NS later, when what led to it has arrived. From one to the next it takes
 * APART_NS at least, and there are at most MOST (0: no limit); the others are only counted.
 */
#ifndef GP_COLLECT_LAUNCHER_TRIGGERS_H
#define GP_COLLECT_LAUNCHER_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/clocks/clock_sampler.h"
#include "collect/wire/capture_window.h"
#include "collect/wire/ring.h"
#include "formats/model/trace.h"

/* 0: not that. */
struct gp_dump_when {
    uint64_t signal;       /* as a bit */
    int64_t idle_ns;       /* without GPU work */
    double step;           /* times the median of the steps before */
    int64_t collective_ns; /* that one has not ended */
    double memory, clock;  /* parts in use, and below the median before */
};

/* What --dump accepts, for messages. */
#define GP_DUMP_WORDS                                                                                        \
    "SIGUSR1, SIGUSR2, idle:TIME, step:1.5x (more than 1), collective:TIME, memory:95%, clock:-10%"

/* Add what the words in TEXT, with a comma between two, ask for. NULL, or the first word that is wrong. */
const char *gp_dump_when_parse(struct gp_dump_when *when, const char *text);

struct gp_dump {
    int64_t at_ns;
    uint32_t producer; /* whose process it was, 0: none's */
    char why[200];     /* with nothing that the program has named */
};

struct gp_triggers;

/* WHEN is borrowed. */
struct gp_triggers *gp_triggers_new(const struct gp_dump_when *when, int64_t apart_ns, int64_t settle_ns,
                                    uint64_t most);
void gp_triggers_note(struct gp_triggers *t, uint32_t producer, int64_t tid, const struct gp_note *note);
void gp_triggers_events(struct gp_triggers *t, uint32_t producer, const struct gp_trace *trace);
void gp_triggers_reach(struct gp_triggers *t, uint32_t producer, int64_t ns);
/* MEMORY_BYTES: of the GPU, 0 unknown. */
void gp_triggers_sample(struct gp_triggers *t, const struct gp_clock_sample *s, double memory_bytes);
/* Another moment, which the caller has seen. */
void gp_triggers_fire(struct gp_triggers *t, uint32_t producer, int64_t at_ns, const char *fmt, ...)
    GP_PRINTF(4, 5);
/* Is there a moment to write? */
bool gp_triggers_turn(struct gp_triggers *t, int64_t now_ns, struct gp_dump *dump);
/* How many moments were only counted. */
uint64_t gp_triggers_passed(const struct gp_triggers *t);
void gp_triggers_free(struct gp_triggers *t);

#endif
