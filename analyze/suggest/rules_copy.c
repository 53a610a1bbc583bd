// Copies between host and device: pageable memory, copies that the host waits for, copies that delay kernels,
// many small copies.
#include <stdlib.h>
#include "analyze/math/sums.h"
#include "analyze/names/name_predicates.h"
#include "analyze/suggest/rules_priv.h"
#include "analyze/suggest/rules_table.h"

enum {
    PAGEABLE_NS = 50000, /* per step; copies of a few KB of pageable memory cost nothing */
    SMALL_BYTES = 65536,
    SMALL_COPIES = 10,    /* a step and direction */
    MANY = 32,            /* more than a batch consists of */
    PINNED_LOW_GBPS = 20, /* 10^9 bytes per second, least and most for pinned copies: PCIe 4 and 5, x16 */
    PINNED_HIGH_GBPS = 55,
    EXPOSED_MOST = 105, /* of their time beside nothing goes at most: five programs gained 91 to 102% */
};

static const double PAGEABLE_PCT = 0.5, WAIT_PCT = 1, EXPOSED_PCT = 2;

/* ---- pageable memory ---- */

static bool is_pageable(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_rule_crosses(c, item) && gp_copy_is_pageable(gp_rule_name(c, item)) &&
           gp_rule_bytes(c, item) > SMALL_BYTES && !gp_rule_starts_up(c, item);
}

/* The best bandwidth of large pinned copies in the trace, bytes per microsecond; 0 if there are none. */
static int64_t pinned_speed(const struct gp_rule_ctx *c)
{
    int64_t best = 0;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        int64_t dur = gp_rule_dur(c, i), bytes = gp_rule_bytes(c, i);
        if (!gp_rule_crosses(c, i) || !gp_copy_is_pinned(gp_rule_name(c, i)) || bytes < 1 << 20 || dur <= 0)
            continue;
        if (bytes * 1000 / dur > best) best = bytes * 1000 / dur;
    }
    return best;
}

static void edit_pageable(struct gp_rule_ctx *c, struct gp_suggestion *s, uint32_t item, int64_t low,
                          int64_t high)
{
    uint32_t call = c->p->items.at[item].call;
    int64_t dur = gp_rule_dur(c, item), bytes = gp_rule_bytes(c, item);
    int64_t slow = bytes * 1000 / low, fast = bytes * 1000 / high;
    gp_rule_edit_dur(s, item, slow < dur ? slow : dur, fast < dur ? fast : dur);
    int64_t launch = c->p->replay.launch_ns, own = c->p->replay.calls.at[call].own_ns;
    gp_rule_edit_all(s, GP_EDIT_OWN, call, own < launch ? own : launch);
    gp_rule_edit_all(s, GP_EDIT_NO_WAIT, call, launch); /* and the host need not wait for it */
    /* A wait right after the copy is for the copy. */
    if (call + 1 < c->p->calls.n && c->p->calls.at[call + 1].waited_for == item)
        gp_rule_edit_all(s, GP_EDIT_NO_WAIT, call + 1, 0);
}

static void check_pageable_copy(struct gp_rule_ctx *c)
{
    const struct gp_plan *p = c->p;
    int64_t copy_ns = 0, blocked_ns = 0, bytes = 0, count = 0;
    uint32_t largest = UINT32_MAX;
    for (uint32_t i = 0; i < p->items.n; i++) {
        if (!is_pageable(c, i)) continue;
        uint32_t call = p->items.at[i].call;
        copy_ns += gp_rule_dur(c, i);
        blocked_ns += p->calls.at[call].waited_for == i ? p->calls.at[call].waited_ns : 0;
        bytes += gp_rule_bytes(c, i);
        count++;
        if (largest == UINT32_MAX || gp_rule_bytes(c, i) > gp_rule_bytes(c, largest)) largest = i;
    }
    int64_t longer = copy_ns > blocked_ns ? copy_ns : blocked_ns;
    if (!count || (gp_pct(longer, c->plan_ns) < PAGEABLE_PCT && gp_rule_per_step(c, longer) < PAGEABLE_NS))
        return;
    int64_t seen = pinned_speed(c), low = seen ? seen * 9 / 10 : PINNED_LOW_GBPS * 1000,
            high = seen ? seen : PINNED_HIGH_GBPS * 1000;
    struct gp_suggestion *s = gp_rule_suggest(c);
    for (uint32_t i = 0; i < p->items.n; i++)
        if (is_pageable(c, i)) edit_pageable(c, s, i, low, high);
    s->operation = gp_rule_item_label(c, largest);
    s->current_ns = gp_rule_per_step(c, copy_ns);
    s->resource_low_ns = s->current_ns - gp_rule_per_step(c, bytes * 1000 / low);
    s->resource_high_ns = s->current_ns - gp_rule_per_step(c, bytes * 1000 / high);
    if (s->resource_low_ns < 0) s->resource_low_ns = 0;
    s->description = gp_rule_text(c, "Pageable memory is copied %s at %.2f GB/s, which takes %s%s%s",
                                  gp_rule_times(c, count), copy_ns ? (double)bytes / (double)copy_ns : 0,
                                  gp_rule_ns(c, s->current_ns), blocked_ns ? " and blocks the host for " : "",
                                  blocked_ns ? gp_rule_ns(c, gp_rule_per_step(c, blocked_ns)) : "");
    s->action = gp_intern_cstr(
        &c->s->strings,
        gp_rule_in(c,
                   "pin the memory (pin_memory=True in the DataLoader, tensor.pin_memory()) and copy with "
                   "non_blocking=True",
                   "pin the memory (memory_kind=\"pinned_host\") and copy with jax.device_put",
                   "pin the memory (cudaHostAlloc or what calls it), and copy asynchronously"));
    if (count >= MANY * (int64_t)c->n_steps) {
        s->change = s->action;
        s->action =
            gp_rule_text(c, "keep on the GPU what is the same in each step, such as weights; otherwise %s",
                         gp_suggest_str(c->s, s->action));
    }
    s->formula =
        gp_rule_text(c, "%s at %lld to %lld GB/s%s, and no wait on the host",
                     gp_rule_size(c, gp_rule_per_step(c, bytes)), (long long)low / 1000,
                     (long long)high / 1000, seen ? " (the rate of this trace's pinned copies)" : "");
    gp_rule_evidence_count(s, "copies", gp_rule_per_step(c, count));
    gp_rule_evidence_bytes(s, "copied", gp_rule_per_step(c, bytes));
    gp_rule_evidence_ns(s, "host_blocked", gp_rule_per_step(c, blocked_ns));
}

const struct gp_rule gp_rule_pageable_copy = {
    .name = "pageable_copy",
    .type = GP_SUGGEST_TRANSFER,
    .summary = "copies of pageable memory, which go through a driver buffer and block the host",
    .needs = "copies with bytes and kind of memory",
    .threshold = "0.5% of the time, or 50 us per step",
    .guard =
        "copies of at most 64 KB; without steps, copies before the first product, such as a model's weights",
    .assumes = "the memory is pinned once, not for each copy",
    .expect = "copies named Pinned and less idle_blocking_call",
    .run = check_pageable_copy,
    .measured = true,
    .least_pct = 40,
};

/* ---- copies that the host waits for ---- */

enum { SCALAR_BYTES = 16 };

/* The copy that CALL waits for, if no other rule covers it: not single values, nor much pageable memory. */
static uint32_t waited_copy(const struct gp_rule_ctx *c, uint32_t call)
{
    uint32_t item = gp_rule_copy_waited_for(c, call);
    if (item == GP_REPLAY_NONE || is_pageable(c, item) || gp_rule_starts_up(c, item)) return GP_REPLAY_NONE;
    bool to_host = gp_copy_to_host(gp_rule_name(c, item));
    return to_host && gp_rule_bytes(c, item) <= SCALAR_BYTES ? GP_REPLAY_NONE : item;
}

struct waited {
    int64_t count, to_host, bytes, events; /* EVENTS: pinned ones, which an event tells the end of */
    uint32_t longest;                      /* call */
};

/* The host needs copied bytes at some point, so copies to the host save nothing at the low end. */
static void check_synchronous_copy(struct gp_rule_ctx *c)
{
    struct waited w = {.longest = UINT32_MAX};
    struct gp_suggestion edits = {0};
    for (uint32_t k = 0; k < c->p->calls.n; k++) {
        uint32_t item = waited_copy(c, k);
        if (item == GP_REPLAY_NONE) continue;
        bool to_host = gp_copy_to_host(gp_rule_name(c, item));
        if (to_host) gp_rule_edit_high(&edits, GP_EDIT_NO_WAIT, k, 0);
        else gp_rule_edit_all(&edits, GP_EDIT_NO_WAIT, k, 0);
        if (c->p->calls.at[k].waited_for == GP_REPLAY_NONE) continue;
        w.count++;
        w.to_host += to_host;
        w.events += gp_copy_is_pinned(gp_rule_name(c, item)) &&
                    gp_name_has_one_of(c->calls[k].name, " EventSynchronize ");
        w.bytes += gp_rule_bytes(c, item);
        edits.current_ns += c->p->calls.at[k].waited_ns;
        if (w.longest == UINT32_MAX || c->p->calls.at[k].waited_ns > c->p->calls.at[w.longest].waited_ns)
            w.longest = k;
    }
    bool enough =
        w.count && w.count * 2 >= (int64_t)c->n_steps && gp_pct(edits.current_ns, c->plan_ns) >= WAIT_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, waited_copy(c, w.longest));
    s->description = gp_rule_text(
        c, "The host waits for copies %s (%s on average) and launches nothing meanwhile: %s per step",
        gp_rule_times(c, w.count), gp_rule_size(c, w.bytes / w.count), gp_rule_ns(c, s->current_ns));
    s->action = gp_intern_cstr(
        &c->s->strings,
        w.events == w.count ? "wait for the copy's event later, where the bytes are needed, after the next "
                              "launches: the copy itself does not block the host"
        : w.to_host == w.count
            ? gp_rule_in(c,
                         "copy to pinned memory with non_blocking=True, and wait for an event where the "
                         "bytes are needed, after the next launches",
                         "copy with copy_to_host_async(), and read the bytes after the next launches",
                         "copy to pinned memory asynchronously, and wait for an event where the bytes are "
                         "needed, after the next launches")
            : gp_rule_in(
                  c,
                  "copy from pinned memory with non_blocking=True (cudaMemcpyAsync without a wait after it)",
                  "copy with jax.device_put, and do not wait for it",
                  "copy from pinned memory with cudaMemcpyAsync, or what calls it, without a wait after it"));
    s->formula =
        gp_rule_text(c, w.to_host ? "a replay of the steps without these waits; the low end removes only the "
                                    "waits for copies to the GPU"
                                  : "a replay of the steps without these waits: the host keeps launching");
    s->assumes = gp_rule_text(c, "nothing writes to the copied memory before the copy ends%s",
                              w.to_host ? "; the host does not need the bytes at once" : "");
    gp_rule_evidence_count(s, "copies", gp_rule_per_step(c, w.count));
    gp_rule_evidence_count(s, "to_the_host", gp_rule_per_step(c, w.to_host));
    gp_rule_evidence_ns(s, "waited", s->current_ns);
    gp_rule_evidence_text(s, "longest_in", gp_intern_cstr(&c->s->strings, c->calls[w.longest].name));
}

const struct gp_rule gp_rule_synchronous_copy = {
    .name = "synchronous_copy",
    .type = GP_SUGGEST_SYNC,
    .summary = "the host waits for copies that need not block it",
    .needs = "copies with bytes and kind of memory, synchronising calls",
    .threshold = "1% of the time, every second step",
    .guard = "single values (see scalar_read); pageable memory above 64 KB or that small_copies packs; waits "
             "that cost nothing in the replay; without steps, copies before the first product",
    .expect = "less idle_synchronisation and idle_blocking_call",
    .run = check_synchronous_copy,
    .measured = true,
};

/* ---- copies with nothing beside them ---- */

/* Time of an item during which no other item of the plan runs. Few items overlap it, so its neighbours in
 * time suffice. */
static int64_t alone_ns(const struct gp_rule_ctx *c, uint32_t item)
{
    const struct gp_plan_item *items = c->p->items.at;
    int64_t begin = items[item].start_ns, end = begin + gp_rule_dur(c, item), covered = begin, alone = 0;
    uint32_t from = item > 64 ? item - 64 : 0,
             to = item + 64 < c->p->items.n ? item + 64 : (uint32_t)c->p->items.n;
    /* Launch order is nearly the order of time: cover what the neighbours cover, earliest first. */
    for (bool more = true; more && covered < end;) {
        int64_t next_begin = end, next_end = end;
        more = false;
        for (uint32_t i = from; i < to; i++) {
            int64_t b = items[i].start_ns, e = b + gp_rule_dur(c, i);
            if (i == item || e <= covered || b >= end) continue;
            if (!more || b < next_begin) next_begin = b, next_end = e, more = true;
        }
        if (!more) break;
        if (next_begin > covered) alone += next_begin - covered;
        covered = next_end;
    }
    return covered < end ? alone + end - covered : alone;
}

static bool is_large_and_pinned(const struct gp_rule_ctx *c, uint32_t item)
{
    return gp_rule_crosses(c, item) && gp_rule_bytes(c, item) > SMALL_BYTES &&
           gp_copy_is_pinned(gp_rule_name(c, item));
}

static void check_copy_overlap(struct gp_rule_ctx *c)
{
    struct gp_suggestion edits = {0};
    int64_t exposed = 0, count = 0, back_ns = 0;
    uint32_t largest = UINT32_MAX;
    for (uint32_t i = 0; i < c->p->items.n; i++) {
        if (!is_large_and_pinned(c, i)) continue;
        int64_t alone = alone_ns(c, i);
        exposed += alone;
        edits.current_ns += gp_rule_dur(c, i);
        back_ns += gp_copy_to_host(gp_rule_name(c, i)) ? gp_rule_dur(c, i) : 0;
        count += alone > 0;
        if (largest == UINT32_MAX || gp_rule_bytes(c, i) > gp_rule_bytes(c, largest)) largest = i;
        GP_VEC_PUSH(&edits.low, ((struct gp_edit){GP_EDIT_DUR, i, gp_rule_dur(c, i) / 2}));
        gp_rule_edit_high(&edits, GP_EDIT_ASIDE, i, 0);
    }
    bool back = gp_mul_saturated(back_ns, 2) > edits.current_ns;
    bool enough = count && gp_pct(exposed, c->plan_ns) >= EXPOSED_PCT;
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->operation = gp_rule_item_label(c, largest);
    s->resource_high_ns = gp_rule_per_step(c, exposed);
    s->limit_ns = gp_part(s->resource_high_ns, EXPOSED_MOST, 100);
    s->description =
        gp_rule_text(c, "Pinned copies take %s per step, %s of it while nothing else runs on the GPU",
                     gp_rule_ns(c, s->current_ns), gp_rule_ns(c, s->resource_high_ns));
    if (back)
        s->action =
            gp_rule_text(c, "copy the results back on a separate stream while the next ones are computed");
    gp_rule_evidence_count(s, "copies", gp_rule_per_step(c, count));
    gp_rule_evidence_ns(s, "exposed", s->resource_high_ns);
}

const struct gp_rule gp_rule_copy_overlap = {
    .name = "copy_overlap",
    .type = GP_SUGGEST_OVERLAP,
    .summary = "pinned copies not overlapped by kernels",
    .needs = "copies with bytes and kind of memory",
    .threshold = "2% of the time",
    .guard = "pageable copies, which cannot run beside anything; copies of at most 64 KB",
    .action = "copy the next batch on a separate stream while the current one is computed",
    .formula =
        "at least half of the copies run beside other work, at most all of them, and what goes is no more "
        "than their time beside nothing, and 5%",
    .assumes = "some other work does not need these bytes yet",
    .expect = "less exposed memory time",
    .run = check_copy_overlap,
    .to_know = "record operators, which show what needs the copied bytes first",
    .measured = true,
    .least_pct = 75,
};

/* ---- many small ones ---- */

/* By item: is it launched during the set-up of communicators, on any thread? The caller frees the result. */
static uint8_t *in_set_up(const struct gp_rule_ctx *c)
{
    uint8_t *in = gp_zalloc(c->p->items.n + 1);
    struct gp_host_memo memo = {.hs = &c->v->hs};
    for (uint32_t i = 0; i < c->p->items.n; i++)
        in[i] = gp_rule_outermost(c, &memo, c->calls[c->p->items.at[i].call].node, GP_NEED_ALL,
                                  gp_range_sets_up) != GP_HOST_NONE;
    gp_host_memo_release(&memo);
    return in;
}

static bool is_small(const struct gp_rule_ctx *c, uint32_t item, gp_rule_match *direction)
{
    int64_t bytes = gp_rule_bytes(c, item);
    const char *name = gp_rule_name(c, item);
    if (bytes <= SCALAR_BYTES && gp_copy_to_host(name)) return false; /* scalar_read has those */
    if (bytes <= SCALAR_BYTES && c->jax) return false; /* Python's numbers, which jax.jit makes constants */
    return c->items[item].kind == GP_FRAME_MEMCPY && direction(name) && bytes > 0 && bytes < SMALL_BYTES;
}

static void check_small_of(struct gp_rule_ctx *c, const uint8_t *set_up, gp_rule_match *direction,
                           const char *words)
{
    struct gp_suggestion edits = {0};
    uint8_t *calls = gp_zalloc(c->p->calls.n + 1); /* that wait for one of pageable memory */
    int64_t count = 0, bytes = 0;
    for (uint32_t i = 0, step = UINT32_MAX; i < c->p->items.n; i++) {
        if (set_up[i] || !is_small(c, i, direction)) continue;
        bool first = c->p->items.at[i].step != step;
        uint32_t call = c->p->items.at[i].call;
        step = c->p->items.at[i].step;
        count++, bytes += gp_rule_bytes(c, i), edits.current_ns += gp_rule_dur(c, i);
        if (first || c->p->replay.calls.at[call].n != 1) continue;
        gp_rule_edit_all(&edits, GP_EDIT_GONE, i, 0);
        gp_rule_edit_launch(c, &edits, call); /* the host calls for one copy where it did for many */
        for (uint32_t k = call; k < c->p->calls.n && k < call + 2; k++)
            calls[k] |= gp_rule_copy_waited_for(c, k) == i && gp_copy_is_pageable(gp_rule_name(c, i));
    }
    bool enough = count > (int64_t)(SMALL_COPIES * c->n_steps);
    if (enough) gp_rule_absorb(c, calls, " synchronous_copy ", NULL);
    free(calls);
    struct gp_suggestion *s = gp_rule_suggest_edits(c, enough, &edits);
    if (!s) return;
    s->description =
        gp_rule_text(c, "%lld copies per step %s move %s each on average",
                     (long long)gp_rule_per_step(c, count), words, gp_rule_size(c, bytes / count));
    s->action = gp_rule_text(c, "pack the %lld small copies per step into one",
                             (long long)gp_rule_per_step(c, count));
    gp_rule_evidence_count(s, "copies", gp_rule_per_step(c, count));
    gp_rule_evidence_bytes(s, "mean_size", bytes / count);
}

static void check_small_copies(struct gp_rule_ctx *c)
{
    if (!c->p->found_steps) return;
    uint8_t *set_up = in_set_up(c);
    check_small_of(c, set_up, gp_copy_to_device, "to the GPU");
    check_small_of(c, set_up, gp_copy_to_host, "to the host");
    free(set_up);
}

const struct gp_rule gp_rule_small_copies = {
    .name = "small_copies",
    .type = GP_SUGGEST_BATCHING,
    .summary = "many small copies in one direction",
    .needs = "copies with bytes",
    .threshold = "more than 10 per step below 64 KB",
    .guard =
        "single values that the host reads (see scalar_read); the set-up of communicators; traces without "
        "steps, where it may be part of the start-up",
    .formula = "all copies but one go away; at most also their calls and the host time before them",
    .assumes = "the copies can wait for one another",
    .expect = "fewer copies",
    .run = check_small_copies,
    .to_know = "record operators, which show what is copied",
    .measured = true,
    .least_pct = 55,
};
