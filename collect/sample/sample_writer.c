#include "collect/sample/sample_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt_write.h"
#include "formats/redact.h"
#include "formats/model/trace.h"

enum { ROWS_MOST = 8192 };

struct process {
    struct gp_sample_writer *owner;
    int32_t pid;
    uint32_t index; /* of the process in its trace */
    struct gp_trace trace;
    struct gp_gpt_writer *writer; /* NULL: nobody takes its blocks yet */
    struct gp_map stacks;         /* entry of the sampler -> entry of the trace */
    struct gp_map threads;        /* tid -> track */
};

struct gp_sample_writer {
    struct gp_sample_writer_opts opts;
    GP_VEC(struct process *) processes;
};

struct gp_sample_writer *gp_sample_writer_new(const struct gp_sample_writer_opts *opts)
{
    struct gp_sample_writer *w = gp_zalloc(sizeof *w);
    w->opts = *opts;
    return w;
}

/* ---- names of processes ---- */

static gp_sid comm_of(const struct gp_sample_writer *w, struct gp_trace *t, int32_t pid, int64_t tid)
{
    char path[96], name[64] = "";
    snprintf(path, sizeof path, "/proc/%" PRId32 "/task/%" PRId64 "/comm", pid, tid);
    FILE *f = fopen(path, "re");
    if (f && fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
    if (f) fclose(f);
    return gp_redact_intern(t, w->opts.redact, name, strlen(name), gp_redact_name);
}

static struct process *find_process(struct gp_sample_writer *w, int32_t pid)
{
    for (size_t i = 0; i < w->processes.n; i++)
        if (w->processes.at[i]->pid == pid) return w->processes.at[i];
    struct process *p = gp_zalloc(sizeof *p);
    p->owner = w;
    p->pid = pid;
    gp_trace_init(&p->trace, GP_NEED_ALL);
    struct gp_process k = gp_process_unknown();
    k.pid = pid;
    k.name = comm_of(w, &p->trace, pid, pid);
    p->index = gp_trace_process(&p->trace, &k);
    gp_trace_set_number(&p->trace, GP_META_SAMPLE_PERIOD, w->opts.period_ns);
    GP_VEC_PUSH(&w->processes, p);
    return p;
}

static uint32_t find_thread(struct process *p, int64_t tid)
{
    uint32_t *at = gp_map_put(&p->threads, (uint64_t)tid, UINT32_MAX);
    if (*at != UINT32_MAX) return *at;
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_THREAD;
    k.process = p->index;
    k.tid = tid;
    k.name = comm_of(p->owner, &p->trace, p->pid, tid);
    return *at = gp_trace_track(&p->trace, &k);
}

/* ---- rows ---- */

/* The entry of a stack in the trace: callers first. */
static uint32_t find_stack(struct process *p, const struct gp_stacks *from, uint32_t stack)
{
    uint32_t path[GP_PY_DEPTH], n = 0, parent = 0;
    for (uint32_t s = stack; s && n < GP_PY_DEPTH; s = from->nodes.at[s].parent) {
        const uint32_t *known = gp_map_get(&p->stacks, s);
        if (known) {
            parent = *known;
            break;
        }
        path[n++] = s;
    }
    struct gp_trace *t = &p->trace;
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    while (n-- > 0) {
        const struct gp_stack_node *k = &from->nodes.at[path[n]];
        struct gp_stack s = {.parent = parent, .line = k->line};
        s.name = gp_redact_intern(t, p->owner->opts.redact, gp_string(&from->strings, k->name),
                                  gp_string_len(&from->strings, k->name), gp_redact_name);
        s.file = gp_redact_intern(t, p->owner->opts.redact, gp_string(&from->strings, k->file),
                                  gp_string_len(&from->strings, k->file), gp_redact_name);
        parent = (uint32_t)t->stacks.n;
        GP_VEC_PUSH(&t->stacks, s);
        *gp_map_put(&p->stacks, path[n], 0) = parent;
    }
    return parent;
}

void gp_sample_writer_put(void *writer, const struct gp_sample_run *run, const struct gp_stacks *stacks)
{
    struct process *p = find_process(writer, run->pid);
    struct gp_events *e = &p->trace.events[GP_SAMPLE];
    gp_sid name = gp_intern_cstr(&p->trace.strings, gp_thread_does_name((enum gp_thread_does)run->does));
    size_t row =
        gp_events_add(e, run->first_ns, run->last_ns - run->first_ns, find_thread(p, run->tid), name);
    gp_set_id(e, row, find_stack(p, stacks, run->stack));
    gp_set_total(e, row, run->count - 1);
    if (run->partial) gp_set_cat(e, row, gp_intern_cstr(&p->trace.strings, "partial"));
}

static bool has_place(struct process *p)
{
    const struct gp_sample_writer_opts *opts = &p->owner->opts;
    struct gp_gpt_write_opts o = {0};
    if (!p->writer && (o.producer = opts->producer(opts->ctx, p->pid)))
        p->writer = gp_gpt_writer_new(&o, opts->on_block, opts->ctx);
    return p->writer;
}

static void flush(struct process *p)
{
    size_t n = p->trace.events[GP_SAMPLE].n;
    if (!n || (!has_place(p) && n < ROWS_MOST)) return;
    if (p->writer) gp_gpt_flush(p->writer, &p->trace); /* our sink never stops */
    gp_trace_clear_events(&p->trace);
}

void gp_sample_writer_flush(struct gp_sample_writer *w)
{
    for (size_t i = 0; i < w->processes.n; i++) flush(w->processes.at[i]);
}

void gp_sample_writer_end(struct gp_sample_writer *w)
{
    for (size_t i = 0; i < w->processes.n; i++) {
        struct process *p = w->processes.at[i];
        flush(p);
        if (p->writer) gp_gpt_end(p->writer, &p->trace);
    }
}

void gp_sample_writer_free(struct gp_sample_writer *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->processes.n; i++) {
        struct process *p = w->processes.at[i];
        gp_gpt_writer_free(p->writer);
        gp_trace_release(&p->trace);
        gp_map_release(&p->stacks);
        gp_map_release(&p->threads);
        free(p);
    }
    GP_VEC_FREE(&w->processes);
    free(w);
}
