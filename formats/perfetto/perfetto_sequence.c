/* What packets of a sequence refer to: interned entries and clocks. */
#include "formats/perfetto/perfetto_read_priv.h"

struct gp_pr_sequence *gp_pr_sequence(struct gp_pr *r, uint64_t id)
{
    uint32_t *at = gp_map_put(&r->sequence_at, id, (uint32_t)r->sequences.n);
    if (*at == r->sequences.n) {
        struct gp_pr_sequence s = {.generation = 1, .clock = r->primary_clock};
        GP_VEC_PUSH(&r->sequences, s);
    }
    return &r->sequences.at[*at];
}

void gp_pr_clear(struct gp_pr_sequence *s)
{
    s->generation++;
    s->valid = true;
    s->track = 0;
    s->clock = GP_PF_BOOTTIME;
}

void gp_pr_sequences_release(struct gp_pr *r)
{
    GP_EACH(struct gp_pr_sequence, s, r->sequences) {
        for (int kind = 0; kind < GP_PR_KIND_COUNT; kind++) gp_map_release(&s->iids[kind]);
        GP_VEC_FREE(&s->entries);
        GP_VEC_FREE(&s->clocks);
    }
    GP_VEC_FREE(&r->sequences);
    GP_VEC_FREE(&r->clocks);
    gp_map_release(&r->sequence_at);
}

/* ---- entries ---- */

static void intern_one(struct gp_pr *r, struct gp_pr_sequence *s, enum gp_pr_kind kind, struct gp_wire w)
{
    struct gp_pr_entry e = {.generation = s->generation, .pid = -1};
    uint64_t iid = 0;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_IID) iid = f.value;
        else if (kind == GP_PR_CONTEXTS && f.tag == GP_PF_CONTEXT_PID) e.pid = (int32_t)f.value;
        else if (f.tag == GP_PF_TEXT || (kind == GP_PR_KERNELS && f.tag == GP_PF_DEMANGLED))
            e.text = gp_trace_intern(r->t, (const char *)f.data, f.value);
    }
    uint32_t *at = gp_map_put(&s->iids[kind], iid, (uint32_t)s->entries.n);
    if (*at == s->entries.n) GP_VEC_PUSH(&s->entries, e);
    else s->entries.at[*at] = e;
}

void gp_pr_intern(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w)
{
    static const uint32_t tags[] = {GP_PR_KINDS(GP_SECOND)};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        for (int kind = 0; kind < GP_PR_KIND_COUNT; kind++)
            if (f.tag == tags[kind]) intern_one(r, s, (enum gp_pr_kind)kind, gp_wire_message(&f));
    if (w.broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
}

const struct gp_pr_entry *gp_pr_look_up(struct gp_pr *r, const struct gp_pr_sequence *s, enum gp_pr_kind kind,
                                        uint64_t iid)
{
    const uint32_t *at = gp_map_get(&s->iids[kind], iid);
    const struct gp_pr_entry *e = at ? &s->entries.at[*at] : NULL;
    if (e && e->generation == s->generation) return e;
    if (iid) gp_trace_issue(r->t, GP_Q_BAD_VALUE, 1, (int64_t)r->offset);
    return NULL;
}

/* ---- clocks ---- */

static struct gp_pr_clock *find_clock(struct gp_pr *r, struct gp_pr_sequence *s, uint64_t id)
{
    bool own = id >= GP_PF_DELTAS && id < GP_PF_OWN_CLOCKS_END;
    size_t n = own ? s->clocks.n : r->clocks.n;
    struct gp_pr_clock *all = own ? s->clocks.at : r->clocks.at;
    for (size_t i = 0; i < n; i++)
        if (all[i].id == id) return &all[i];
    return NULL;
}

static struct gp_pr_clock *add_clock(struct gp_pr *r, struct gp_pr_sequence *s, uint64_t id)
{
    enum { MOST = 256 }; /* ids of clocks beside those of the system */
    struct gp_pr_clock *c = find_clock(r, s, id), fresh = {.id = id, .unit = 1};
    bool own = id >= GP_PF_DELTAS && id < GP_PF_OWN_CLOCKS_END;
    if (c || (!own && r->clocks.n >= MOST)) return c;
    if (own) GP_VEC_PUSH(&s->clocks, fresh);
    else GP_VEC_PUSH(&r->clocks, fresh);
    return own ? &s->clocks.at[s->clocks.n - 1] : &r->clocks.at[r->clocks.n - 1];
}

/* The clock in F as it reads in the snapshot. */
static struct gp_pr_clock read_clock(struct gp_wire w)
{
    struct gp_pr_clock c = {.unit = 1};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == GP_PF_CLOCK_ID) c.id = f.value;
        if (f.tag == GP_PF_CLOCK_TIME) c.at = f.value;
        if (f.tag == GP_PF_CLOCK_IS_DELTA) c.delta = f.value != 0;
        if (f.tag == GP_PF_CLOCK_UNIT && f.value) c.unit = f.value;
    }
    c.at *= c.unit;
    c.now = c.at;
    return c;
}

/* The time of the trace at a snapshot: the primary clock, or another clock that is placed already. */
static bool time_of_snapshot(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w, int64_t *ns)
{
    bool any = false;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != GP_PF_CLOCK) continue;
        struct gp_pr_clock c = read_clock(gp_wire_message(&f));
        const struct gp_pr_clock *known = find_clock(r, s, c.id);
        if (c.id == r->primary_clock) {
            *ns = (int64_t)c.at;
            return true;
        }
        if (any || !known || !known->placed || c.id >= GP_PF_DELTAS) continue;
        *ns = (int64_t)(c.at - known->at + (uint64_t)known->trace_ns);
        any = true;
    }
    return any;
}

void gp_pr_snapshot(struct gp_pr *r, struct gp_pr_sequence *s, struct gp_wire w)
{
    struct gp_wire again = w;
    for (struct gp_wire_field f; gp_wire_next(&again, &f);)
        if (f.tag == GP_PF_PRIMARY_CLOCK) r->primary_clock = f.value;
    int64_t ns = 0;
    bool placed = time_of_snapshot(r, s, w, &ns);
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag != GP_PF_CLOCK) continue;
        struct gp_pr_clock c = read_clock(gp_wire_message(&f)), *to = add_clock(r, s, c.id);
        c.trace_ns = ns;
        c.placed = placed;
        if (to) *to = c;
        if (c.id != GP_PF_REALTIME || !placed || r->has_realtime || r->ours) continue;
        if (!gp_time_fits(ns) || !gp_time_fits((int64_t)c.at)) continue;
        r->has_realtime = true;
        GP_VEC_PUSH(&r->t->clocks, ((struct gp_clock){ns, (int64_t)c.at, 0}));
    }
    if (w.broken) gp_trace_issue(r->t, GP_Q_SYNTAX, 1, (int64_t)r->offset);
}

bool gp_pr_time(struct gp_pr *r, struct gp_pr_sequence *s, uint64_t clock, uint64_t time, int64_t *ns)
{
    struct gp_pr_clock *c = find_clock(r, s, clock);
    uint64_t v = time;
    if (c) {
        v *= c->unit;
        if (c->delta) v = c->now += v;
        if (c->placed && clock != r->primary_clock) v = v - c->at + (uint64_t)c->trace_ns;
    } else if (clock >= GP_PF_DELTAS) {
        return false;
    }
    v -= (uint64_t)r->shift_ns;
    *ns = (int64_t)v;
    return gp_time_fits(*ns);
}
