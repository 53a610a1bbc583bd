/* profile.h -- reduces a trace to what a comparison needs: its environment, its steps, and each GPU event's
 * kernel, duration and share of the step, in launch order. A profile is far smaller than the trace and can be
 * saved, so baselines need no full traces. Knows nothing of the other side of a comparison, of statistics,
 * files or text.
 *
 *     struct gp_profile p;
 *     gp_profile_init(&p, &opts);
 *     if (gp_profile_add_trace(&p, &trace, &err)) ...                    // the trace may be freed afterwards
 *     for (size_t i = 0; i < p.events.n; i++)
 *         use(p.kernels.at[p.events.at[i].kernel], p.events.at[i].dur_ns);
 *     gp_profile_save(&p, &buf); gp_profile_release(&p);
 *
 * A lane is one device of one process. A GPU event belongs to the step of its lane in which it was LAUNCHED;
 * the window of a step on the GPU runs from its first GPU event to the next step's first (steps.h, hta.h).
 * Every ns of a window is either divided among the GPU events that run in it (in equal integer parts; the
 * remainder goes to the event that started first), or idle time with one cause (idle_walk.h): shares and idle
 * time sum to the window.
 */
#ifndef GP_ANALYZE_PROFILE_H
#define GP_ANALYZE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/classify.h"
#include "analyze/math/sums.h"
#include "analyze/math/histogram.h"
#include "analyze/result/field.h"
#include "analyze/view/idle_cause.h"
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/vec.h"
#include "formats/model/trace.h"

/* A zeroed struct is the default. */
struct gp_profile_opts {
    const struct gp_classes *classes; /* the user's; NULL: built in. Borrowed. */
    const char *step_marker;          /* POSIX extended regular expression; NULL: find the steps. Borrowed. */
    bool no_steps;                    /* take the trace as a whole */
};

/* The tables that gp_profile_add_trace looks at. */
#define GP_PROFILE_NEED (GP_VIEW_NEED | GP_NEED(GP_METRIC))

#define GP_PROFILE_NONE UINT32_MAX

/* What a GPU event runs. Equal names with different grids or needs are different entries. 0: not recorded. */
struct gp_profile_kernel {
    gp_sid name;   /* full name, demangled */
    uint32_t kind; /* enum gp_frame_kind; its class is gp_class_of() */
    uint32_t grid[3], block[3];
    uint32_t registers, local_bytes; /* per thread; local memory is where registers spill to */
    uint32_t shared_bytes;           /* per block */
    uint32_t waves;                  /* in which its blocks fit on the device, rounded up */
};

/* Where an event was launched: a host frame and its parents. Work of a graph is in the ranges of its capture,
 * inside the frame of the call that replayed it. Place 0 is outside everything known; parents come before
 * their children. */
struct gp_profile_place {
    uint32_t parent;  /* index into places */
    uint32_t kind;    /* enum gp_frame_kind */
    gp_sid label;     /* as in flame graphs */
    gp_sid op, range; /* labels of the innermost operator and range, itself or around it; 0: none */
    gp_sid line;      /* what launches there, "train.py:30 step"; 0: not known */
    bool by_graph;    /* see gp_profile_place_by_graph() */
};

/* The event is the first that its host event launched: counting them counts calls. Work of a graph: the first
 * of its range in a replay. */
enum { GP_PROFILE_FIRST_OF_OP = 1, GP_PROFILE_FIRST_OF_RANGE = 2 };

/* One GPU event. Events are sorted by lane, then in the order of launches. */
struct gp_profile_event {
    uint32_t kernel; /* index into kernels */
    uint32_t place;  /* index into places */
    uint32_t step;   /* index into steps; GP_PROFILE_NONE: launched outside all steps */
    /* number of the launching call within the lane: equal for the events of one graph launch;
     * GP_PROFILE_NONE: not known */
    uint32_t launch;
    uint32_t firsts; /* GP_PROFILE_FIRST_OF_* */
    int64_t dur_ns;
    int64_t share_ns; /* its part of the lane's busy time over all windows; dur_ns if nothing ran beside it */
    int64_t bytes;    /* copied or set; otherwise 0 */
};

/* The part of an event's share outside the window of its own step: in that of another step, or in none
 * (GP_PROFILE_NONE). The rest of share_ns is in its own step's window. By event; an event may have
 * several. */
struct gp_profile_spill {
    uint32_t event, step;
    int64_t share_ns;
};

/* A call that waits, or an allocation, in a step. */
enum gp_profile_call_sort { GP_PROFILE_SYNC, GP_PROFILE_BLOCKING, GP_PROFILE_ALLOCATION, GP_PROFILE_CALLS };
struct gp_profile_call {
    uint32_t step, sort; /* enum gp_profile_call_sort */
    gp_sid line;         /* as of a place */
};

/* What hardware counters count of an event. */
enum gp_profile_counted {
    GP_COUNTED_INSTRUCTIONS,
    GP_COUNTED_TENSOR,
    GP_COUNTED_L2_BYTES,
    GP_COUNTED_DRAM_BYTES,
    GP_COUNTED_COUNT
};

/* What of the host's work a step (or the whole lane) has. */
struct gp_profile_host {
    uint64_t launches;       /* calls that started GPU events; a graph launch is one */
    uint64_t graph_launches; /* of them, those of graphs */
    uint64_t syncs;          /* synchronising calls */
    uint64_t blocking;       /* blocking allocations, frees and copies */
    int64_t sync_ns;         /* time in synchronising calls */
    /* The allocator, where it is recorded (has_memory of the profile). */
    uint64_t allocations;
    int64_t allocated_bytes, peak_bytes, peak_reserved_bytes, end_bytes; /* end: allocated when it ended */
};

/* A step on one lane, or, in lanes.whole, a whole lane. */
struct gp_profile_step {
    uint32_t lane;
    gp_sid name; /* "ProfilerStep#12"; "period 3" */
    /* the edge of the trace cuts off some of its work: first or last step of a periodic trace */
    bool cut;
    bool warm_up;              /* comes before the first steady one (view/steps.h) */
    bool open;                 /* nothing follows, so that its window ends with its last GPU event */
    uint32_t first, n;         /* slice of events; a whole lane: all of it */
    uint64_t sequence;         /* hash of its kernels' names and kinds in the order of launches */
    int64_t host_ns;           /* the marker's duration, or first launch to end of the last launch */
    int64_t begin_ns, wall_ns; /* the window on the GPU, begin from the lane's first GPU event; its length */
    int64_t busy_ns;           /* union of GPU events in the window */
    int64_t gpu_ns;            /* sum of durations of the events that it launched */
    int64_t idle_ns[GP_IDLE_CAUSE_COUNT]; /* sums to wall_ns - busy_ns */
    /* busy time in no event's share: only in damaged traces, where too many events run at once */
    int64_t other_ns;
    struct gp_profile_host host;
    int64_t clock_khz;  /* mean SM clock in the window; 0: not recorded in all of it */
    int64_t others_ppm; /* mean use of the GPU by processes of others */
};

struct gp_profile_lane {
    int32_t rank; /* -1 unknown */
    uint32_t producer;
    int64_t device;
    uint32_t first_event, n_events;
    uint32_t first_step, n_steps;
    struct gp_profile_step whole; /* first GPU event's start to last GPU event's end */
    uint64_t unlaunched;          /* GPU events whose launch is not known */
};

/* What two traces must have in common to be compared. */
struct gp_profile_env {
    gp_sid gpu;                      /* "NVIDIA H200"; several kinds: joined by ", "; 0 unknown */
    uint32_t devices;                /* lanes */
    int32_t sms, cc_major, cc_minor; /* of the first device; 0 unknown */
    int64_t driver, runtime;         /* CUDA versions as 13000; 0 unknown */
    gp_sid recorder;                 /* "kineto", "gpuprof-collect 0.1.0"; 0 unknown */
    gp_sid framework;                /* version, where recorded */
    gp_sid command;                  /* of our collector: the command line */
    int32_t world_size;              /* -1 unknown */
    bool record_shapes, profile_memory, with_flops, with_stack; /* how it was recorded */
    bool has_python, has_ops, has_ranges;                       /* such events are there */
};

extern const struct gp_record gp_profile_env_row;

struct gp_profile {
    struct gp_profile_opts opts;
    struct gp_strings strings;     /* all sids */
    struct gp_input_quality input; /* path, format, quality */
    struct gp_profile_env env;
    uint32_t step_source; /* enum gp_step_source */
    bool has_memory;      /* allocations are recorded */
    uint64_t unlaunched;  /* GPU events whose launch is not known */
    uint64_t lost;        /* launch calls whose GPU event is missing, plus losses reported by the collector */
    uint64_t content;     /* hash of everything measured: equal traces have equal hashes */
    uint32_t clock_reason; /* why the SM clock was low, mostly: as gp_clock_reason() */
    int32_t tick_ns;       /* durations are multiples of this, within 1 ns; 1: of nothing larger */
    GP_VEC(struct gp_profile_kernel) kernels;
    GP_VEC(struct gp_profile_place) places;
    GP_VEC(struct gp_profile_lane) lanes; /* by rank, producer, device */
    GP_VEC(struct gp_profile_step) steps; /* by lane, then time */
    GP_VEC(struct gp_profile_event) events;
    GP_VEC(struct gp_profile_spill) spills;
    GP_VEC(struct gp_profile_call) calls; /* those of a sort come in order */
    GP_VEC(int64_t) counted; /* GP_COUNTED_COUNT of each event, -1: not counted; empty without counters */
};

/* OPTS is copied; may be NULL. */
void gp_profile_init(struct gp_profile *p, const struct gp_profile_opts *opts);
/* Reduce a finished trace T into P, which must be fresh. Returns -1 if the step marker is not a valid regular
 * expression. Bounds T's times as trace-hta does (repair.c), and counts issues in T. */
GP_MUST_CHECK int gp_profile_add_trace(struct gp_profile *p, struct gp_trace *t, struct gp_err *err);
void gp_profile_release(struct gp_profile *p);

/* Append P to TO as bytes, and read it back. Load fails on damaged bytes and on other versions; P is then
 * empty. */
void gp_profile_save(struct gp_profile *p, struct gp_buf *to);
GP_MUST_CHECK int gp_profile_load(struct gp_profile *p, const void *data, size_t n, struct gp_err *err);
/* Do N bytes begin like a saved profile? */
bool gp_profile_is_saved(const void *data, size_t n);

/* Are events of a place that is such a frame inside AROUND launched by a graph? No other call is a frame, and
 * what is around its capture lies inside it. */
static inline bool gp_profile_place_by_graph(uint32_t kind, const struct gp_profile_place *around)
{
    return kind == GP_FRAME_API || around->by_graph;
}

static inline const char *gp_profile_str(const struct gp_profile *p, gp_sid sid)
{
    return gp_string(&p->strings, sid);
}

#endif
