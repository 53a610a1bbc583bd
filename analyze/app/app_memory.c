#include "analyze/app/app_join.h"

#include <string.h>
#include "analyze/memory/memory.h"
#include "formats/base/err.h"
#include "formats/pickle/pickle.h"
#include "formats/pickle/snapshot.h"

/* S, which is moved, as trace T. */
static int convert(struct gp_snapshot *s, uint32_t need, struct gp_trace *t, struct gp_err *err)
{
    struct gp_memory m;
    struct gp_input_info info = s->input;
    gp_memory_init(&m, NULL);
    gp_memory_add_snapshot(&m, s);
    int failed = gp_memory_finish(&m, err);
    if (!failed) {
        gp_trace_init(t, need);
        gp_memory_to_trace(&m, t);
        t->input = info;
        t->input.path = gp_arena_strndup(&t->strings.bytes, info.path, strlen(info.path));
        t->input.events = t->events[GP_MEMORY].n;
        gp_trace_finish(t);
    }
    gp_memory_release(&m);
    return failed;
}

static int read_snapshot(struct gp_app *f, struct gp_input *in, uint32_t need, struct gp_trace *t,
                         struct gp_err *err)
{
    struct gp_snapshot s;
    struct gp_app_meter meter = {.app = f};
    if (gp_snapshot_read(&s, in, gp_app_bytes, &meter, err) || convert(&s, need, t, err)) return -1;
    if (!f->opts->common.strict || !gp_trace_refuse_damage(t, err)) return 0;
    gp_trace_release(t);
    return -1;
}

int gp_app_trace_or_snapshot(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                             struct gp_err *err)
{
    enum { HEAD = 4096 };
    size_t n;
    struct gp_input *in = gp_input_open(f->paths[i], f->threads.each, err);
    if (!in) return -1;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    bool snapshot = gp_pickle_sniff(head, n);
    int failed = snapshot ? read_snapshot(f, in, need, t, err) : gp_app_trace_input(f, in, need, t, err);
    gp_input_close(in);
    if (f->threads.workers == 1) gp_progress_end(&f->progress);
    if (failed && snapshot) gp_err_context(err, "%s", f->paths[i]);
    return failed;
}
