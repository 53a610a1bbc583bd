#include "formats/model/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "formats/base/err.h"
#include "formats/base/map.h"
#include "formats/base/order.h"
#include "formats/base/str.h"

const struct gp_column_info gp_column_infos[GP_COLUMN_COUNT] = {
#define X(id, member, type, dflt, name)                                                                      \
    {name, offsetof(struct gp_events, member), sizeof(type), (uint64_t)(dflt)},
    GP_COLUMNS(X)
#undef X
};

/* Hash of the identifying fields -> first index with that hash; further ones are found by `next`. */
struct chain {
    struct gp_map first;
    GP_VEC(uint32_t) next;
};

struct gp_trace_index {
    struct chain configs, processes, tracks, stacks, symbols;
};

GP_WORD(gp_table_name, enum gp_table, GP_TABLES, 1)
GP_WORD(gp_table_category, enum gp_table, GP_TABLES, 2)
GP_WORD(gp_issue_name, enum gp_issue_kind, GP_ISSUES, 1)
GP_WORD(gp_issue_text, enum gp_issue_kind, GP_ISSUES, 2)

GP_WORDS(gp_gpu_kind_category, enum gp_gpu_kind, "kernel", "gpu_memcpy", "gpu_memset")

/* ---- tables ---- */

static void **column_slot(struct gp_events *e, int col)
{
    return (void **)(void *)((char *)e + gp_column_infos[col].offset);
}

/* Defaults are all zeros or all ones. */
static void fill_default(void *cells, int col, size_t from, size_t to)
{
    size_t w = gp_column_infos[col].width;
    memset((char *)cells + from * w, gp_column_infos[col].dflt ? 0xff : 0, (to - from) * w);
}

static bool is_shared(const struct gp_events *e, int col) { return e->shared >> col & 1; }

static void free_column(struct gp_events *e, int col)
{
    void *cells = *column_slot(e, col);
    if (cells && !is_shared(e, col))
        free(cells); /* most have none, and a sanitizer's free(NULL) takes its time */
}

void gp_events_reserve(struct gp_events *e, size_t cap)
{
    if (cap <= e->cap) return;
    for (int col = 0; col < GP_COLUMN_COUNT; col++) {
        void **slot = column_slot(e, col);
        size_t w = gp_column_infos[col].width;
        if (col > GP_COL_NAME && !*slot) continue;
        if (is_shared(e, col)) *slot = memcpy(gp_alloc(cap * w), *slot, e->n * w);
        else *slot = gp_realloc(*slot, cap * w);
    }
    e->shared = 0;
    e->cap = cap;
}

void gp_trace_allocate(struct gp_trace *t, const size_t rows[GP_TABLE_COUNT],
                       const uint64_t columns[GP_TABLE_COUNT])
{
    enum { ALIGN = 64, ALWAYS = (1 << (GP_COL_NAME + 1)) - 1 };
    size_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) t->slab = gp_alloc_large(total);
        total = 0;
        for (int i = 0; i < GP_TABLE_COUNT; i++) {
            struct gp_events *e = &t->events[i];
            for (int col = 0; col < GP_COLUMN_COUNT; col++) {
                if (!rows[i] || !((columns[i] | ALWAYS) >> col & 1)) continue;
                if (pass) *column_slot(e, col) = (char *)t->slab + total;
                if (pass) e->shared |= GP_COLUMN(col);
                total += (rows[i] * gp_column_infos[col].width + ALIGN - 1) & ~(size_t)(ALIGN - 1);
            }
            e->n = e->cap = rows[i];
        }
    }
}

void gp_trace_deallocate(struct gp_trace *t)
{
    for (int i = 0; i < GP_TABLE_COUNT; i++) gp_events_release(&t->events[i]);
    free(t->slab);
    t->slab = NULL;
}

void gp_events_materialise(struct gp_events *e, enum gp_column col)
{
    void **slot = column_slot(e, col);
    if (*slot) return;
    size_t cap = e->cap ? e->cap : 1;
    *slot = gp_alloc(cap * gp_column_infos[col].width);
    fill_default(*slot, col, 0, e->n);
}

void gp_events_drop(struct gp_events *e, enum gp_column col)
{
    free_column(e, col);
    *column_slot(e, col) = NULL;
    e->shared &= ~GP_COLUMN(col);
}

size_t gp_events_from(const struct gp_events *e, int64_t at_ns)
{
    GP_SEARCH(lo, 0, e->n, mid, e->start_ns[mid] < at_ns);
    return lo;
}

size_t gp_events_add(struct gp_events *e, int64_t start_ns, int64_t dur_ns, uint32_t track, gp_sid name)
{
    size_t row = e->n;
    if (GP_UNLIKELY(row == e->cap)) gp_events_reserve(e, e->cap ? e->cap * 2 : 256);
    e->start_ns[row] = start_ns;
    e->dur_ns[row] = dur_ns;
    e->track[row] = track;
    e->name[row] = name;
#define X(id, member, type, dflt, fname)                                                                     \
    if (id > GP_COL_NAME && e->member) e->member[row] = (type)(dflt);
    GP_COLUMNS(X)
#undef X
    e->n = row + 1;
    return row;
}

void gp_events_release(struct gp_events *e)
{
    for (int col = 0; col < GP_COLUMN_COUNT; col++) free_column(e, col);
    memset(e, 0, sizeof *e);
}

/* ---- the small arrays ---- */

static uint64_t hash_process(const struct gp_process *p)
{
    int64_t key[3] = {p->producer, p->pid_text ? 0 : p->pid, p->pid_text};
    return gp_hash_place(key, sizeof key, gp_hash_seed());
}

static uint64_t hash_track(const struct gp_track *k)
{
    int64_t key[7] = {k->kind,    k->process, k->tid_text ? 0 : k->tid, k->tid_text, k->device,
                      k->context, k->stream};
    return gp_hash_place(key, sizeof key, gp_hash_seed());
}

static bool same_process(const struct gp_process *a, const struct gp_process *b)
{
    return a->producer == b->producer && a->pid_text == b->pid_text && (a->pid_text || a->pid == b->pid);
}

static bool same_track(const struct gp_track *a, const struct gp_track *b)
{
    return a->kind == b->kind && a->process == b->process && a->tid_text == b->tid_text &&
           (a->tid_text || a->tid == b->tid) && a->device == b->device && a->context == b->context &&
           a->stream == b->stream;
}

/* Walk the chain of HASH in C and return the first index for which SAME holds; otherwise push ITEM on VEC. */
#define FIND_OR_PUSH(chain_, vec_, item_, hash_, same_)                                                      \
    do {                                                                                                     \
        uint32_t *gp_first_ = gp_map_put(&(chain_)->first, (hash_), UINT32_MAX);                             \
        for (uint32_t gp_i_ = *gp_first_; gp_i_ != UINT32_MAX; gp_i_ = (chain_)->next.at[gp_i_])             \
            if (same_(&(vec_)->at[gp_i_], (item_))) return gp_i_;                                            \
        GP_VEC_PUSH(&(chain_)->next, *gp_first_);                                                            \
        *gp_first_ = (uint32_t)(vec_)->n;                                                                    \
        GP_VEC_PUSH((vec_), *(item_));                                                                       \
        return (uint32_t)((vec_)->n - 1);                                                                    \
    } while (0)

_Static_assert(sizeof(struct gp_config) == 21 * sizeof(uint32_t), "bytes between members are not equal");
#define SAME_BYTES(a, b) (!memcmp((a), (b), sizeof *(a)))

uint32_t gp_trace_config(struct gp_trace *t, const struct gp_config *c)
{
    FIND_OR_PUSH(&t->index->configs, &t->configs, c, gp_hash_place(c, sizeof *c, gp_hash_seed()), SAME_BYTES);
}

uint32_t gp_trace_process(struct gp_trace *t, const struct gp_process *p)
{
    FIND_OR_PUSH(&t->index->processes, &t->processes, p, hash_process(p), same_process);
}

uint32_t gp_trace_track(struct gp_trace *t, const struct gp_track *k)
{
    FIND_OR_PUSH(&t->index->tracks, &t->tracks, k, hash_track(k), same_track);
}

uint32_t gp_trace_gpu_track(struct gp_trace *t, uint32_t number, const char *name)
{
    struct gp_process p = gp_process_unknown();
    struct gp_track k = gp_track_unknown();
    p.name = gp_intern_cstr(&t->strings, name);
    p.pid = number;
    k.kind = GP_TRACK_OTHER;
    k.process = gp_trace_process(t, &p);
    k.device = number;
    return gp_trace_track(t, &k);
}

uint32_t gp_trace_stack(struct gp_trace *t, const struct gp_stack *s)
{
    if (!t->stacks.n) { /* entry 0 is none */
        GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
        GP_VEC_PUSH(&t->index->stacks.next, UINT32_MAX);
    }
    FIND_OR_PUSH(&t->index->stacks, &t->stacks, s, gp_hash_place(s, sizeof *s, gp_hash_seed()), SAME_BYTES);
}

static bool same_symbol(const struct gp_symbol *a, const struct gp_symbol *b)
{
    return a->module == b->module && a->offset == b->offset && !b->name;
}

uint32_t gp_trace_symbol(struct gp_trace *t, const struct gp_symbol *s)
{
    uint64_t key[2] = {s->module, s->offset};
    if (!t->symbols.n) { /* entry 0 is none */
        GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
        GP_VEC_PUSH(&t->index->symbols.next, UINT32_MAX);
    }
    FIND_OR_PUSH(&t->index->symbols, &t->symbols, s, gp_hash_place(key, sizeof key, gp_hash_seed()),
                 same_symbol);
}

struct gp_process gp_process_unknown(void)
{
    struct gp_process p;
    memset(&p, 0, sizeof p);
    p.rank = -1;
    return p;
}

struct gp_track gp_track_unknown(void)
{
    struct gp_track k;
    memset(&k, 0, sizeof k);
    k.device = k.context = k.stream = -1;
    return k;
}

struct gp_device gp_device_unknown(void)
{
    struct gp_device d;
    memset(&d, 0, sizeof d);
    return d;
}

gp_sid gp_trace_intern(struct gp_trace *t, const char *s, size_t n) { return gp_intern(&t->strings, s, n); }

void gp_trace_set_meta(struct gp_trace *t, const char *key, const char *value, size_t n)
{
    struct gp_meta m = {gp_intern_cstr(&t->strings, key), gp_intern(&t->strings, value, n)};
    for (size_t i = 0; i < t->meta.n; i++) {
        if (t->meta.at[i].key != m.key) continue;
        t->meta.at[i] = m;
        return;
    }
    GP_VEC_PUSH(&t->meta, m);
}

void gp_trace_set_number(struct gp_trace *t, const char *key, int64_t value)
{
    char json[24];
    int n = snprintf(json, sizeof json, "%" PRId64, value);
    gp_trace_set_meta(t, key, json, (size_t)n);
}

const char *gp_trace_get_meta(const struct gp_trace *t, const char *key)
{
    gp_sid sid = gp_intern_find(&t->strings, key, strlen(key));
    for (size_t i = 0; i < t->meta.n; i++)
        if (t->meta.at[i].key == sid) return gp_trace_str(t, t->meta.at[i].value);
    return NULL;
}

void gp_trace_issue(struct gp_trace *t, enum gp_issue_kind kind, uint64_t n, int64_t offset)
{
    struct gp_issue *q = &t->issues[kind];
    if (!n) return;
    if (offset >= 0 && (q->first_offset < 0 || offset < q->first_offset)) q->first_offset = offset;
    q->count += n;
}

/* ---- life ---- */

static void clear_issues(struct gp_trace *t)
{
    for (int i = 0; i < GP_ISSUE_COUNT; i++) t->issues[i] = (struct gp_issue){0, -1};
}

void gp_trace_init(struct gp_trace *t, uint32_t need)
{
    memset(t, 0, sizeof *t);
    t->need = need;
    t->rank = t->world_size = -1;
    t->index = gp_zalloc(sizeof *t->index);
    t->input = (struct gp_input_info){.path = "", .format = "", .compression = "none"};
    clear_issues(t);
    gp_intern(&t->strings, "", 0);
}

static void chain_release(struct chain *c)
{
    gp_map_release(&c->first);
    GP_VEC_FREE(&c->next);
}

void gp_trace_release(struct gp_trace *t)
{
    for (int i = 0; i < GP_TABLE_COUNT; i++) gp_events_release(&t->events[i]);
    GP_RELEASE(gp_vec_free, &t->configs, &t->processes, &t->tracks, &t->devices, &t->meta, &t->losses,
               &t->clocks, &t->node_runs, &t->metrics, &t->metric_sets, &t->metric_values, &t->stacks,
               &t->symbols, &t->paces);
    gp_strings_release(&t->strings);
    free(t->slab);
    if (t->index) {
        chain_release(&t->index->configs);
        chain_release(&t->index->processes);
        chain_release(&t->index->tracks);
        chain_release(&t->index->stacks);
        chain_release(&t->index->symbols);
        free(t->index);
    }
    memset(t, 0, sizeof *t);
}

void gp_trace_clear_events(struct gp_trace *t)
{
    for (int i = 0; i < GP_TABLE_COUNT; i++) t->events[i].n = 0;
    t->metric_values.n = 0;
    clear_issues(t);
}

/* ---- sorting ---- */

static bool in_order(const struct gp_events *e, size_t a, size_t b)
{
    return e->start_ns[a] < e->start_ns[b] ||
           (e->start_ns[a] == e->start_ns[b] && e->dur_ns[a] >= e->dur_ns[b]);
}

/* The first of the sorted ORDER[lo..hi) that must come after ROW, which follows all of them in the file. */
static size_t first_behind(const struct gp_events *e, const uint32_t *order, size_t lo, size_t hi,
                           uint32_t row)
{
    GP_NARROW(lo, hi, mid, in_order(e, order[mid], row));
    return lo;
}

/* Stable merge of the runs ORDER[lo..mid) and ORDER[mid..hi) through TMP. */
static void merge_runs(const struct gp_events *e, uint32_t *order, uint32_t *tmp, size_t lo, size_t mid,
                       size_t hi)
{
    if (in_order(e, order[mid - 1], order[mid])) return;
    lo = first_behind(e, order, lo, mid, order[mid]);
    memcpy(tmp, order + lo, (mid - lo) * sizeof *tmp);
    size_t i = 0, n = mid - lo, j = mid, k = lo;
    while (i < n && j < hi) order[k++] = in_order(e, tmp[i], order[j]) ? tmp[i++] : order[j++];
    memcpy(order + k, tmp + i, (n - i) * sizeof *tmp);
}

/* Natural merge sort: finds the runs that are already sorted, then merges neighbours. Traces consist of few
 * such runs. */
void gp_events_order(const struct gp_events *e, uint32_t *order)
{
    for (size_t i = 0; i < e->n; i++) order[i] = (uint32_t)i;
    uint32_t *tmp = gp_alloc(e->n * sizeof *tmp);
    GP_VEC(size_t) runs = {0};
    GP_VEC_PUSH(&runs, 0);
    for (size_t i = 1; i < e->n; i++)
        if (!in_order(e, i - 1, i)) GP_VEC_PUSH(&runs, i);
    GP_VEC_PUSH(&runs, e->n);
    while (runs.n > 2) {
        size_t out = 1;
        for (size_t r = 0; r + 1 < runs.n; r += 2) {
            size_t hi = r + 2 < runs.n ? runs.at[r + 2] : runs.at[r + 1];
            if (r + 2 < runs.n) merge_runs(e, order, tmp, runs.at[r], runs.at[r + 1], hi);
            runs.at[out++] = hi;
        }
        runs.n = out;
    }
    GP_VEC_FREE(&runs);
    free(tmp);
}

/* TMP holds a column: touching new memory costs more than copying. */
static void permute(struct gp_events *e, int col, const uint32_t *order, size_t from, size_t to, void *tmp)
{
    void **slot = column_slot(e, col);
    if (!*slot) return;
    if (gp_column_infos[col].width == 8) {
        uint64_t *cells = *slot, *sorted = tmp;
        for (size_t i = from; i < to; i++) sorted[i - from] = cells[order[i]];
        memcpy(cells + from, sorted, (to - from) * sizeof *cells);
    } else {
        uint32_t *cells = *slot, *sorted = tmp;
        for (size_t i = from; i < to; i++) sorted[i - from] = cells[order[i]];
        memcpy(cells + from, sorted, (to - from) * sizeof *cells);
    }
}

void gp_events_sort(struct gp_events *e)
{
    size_t i = 1;
    while (i < e->n && in_order(e, i - 1, i)) i++;
    if (i >= e->n) return;
    uint32_t *order = gp_alloc(e->n * sizeof *order);
    gp_events_order(e, order);
    size_t from = 0, to = e->n;
    while (from < to && order[from] == from) from++;
    while (from < to && order[to - 1] == to - 1) to--;
    uint64_t *tmp = gp_alloc((to - from) * sizeof *tmp);
    for (int col = 0; col < GP_COLUMN_COUNT; col++) permute(e, col, order, from, to, tmp);
    free(tmp);
    free(order);
}

void gp_events_keep(struct gp_events *e, const uint8_t *keep)
{
    size_t n = 0;
    for (int col = 0; col < GP_COLUMN_COUNT; col++) {
        char *cells = *column_slot(e, col);
        size_t w = gp_column_infos[col].width;
        if (!cells) continue;
        n = 0;
        for (size_t i = 0; i < e->n; i++)
            if (keep[i]) memmove(cells + n++ * w, cells + i * w, w);
    }
    e->n = n;
}

/* The longest duration, a power of two, with which the table stays within GP_DURATIONS_MOST. */
static int64_t longest_duration(const struct gp_events *e)
{
    int64_t most = GP_DURATION_MOST;
    for (;; most /= 2) {
        int64_t sum = 0;
        for (size_t i = 0; i < e->n && sum <= GP_DURATIONS_MOST; i++)
            if (e->dur_ns[i] <= most) sum += e->dur_ns[i];
        if (sum <= GP_DURATIONS_MOST) return most;
    }
}

static void remove_far_events(struct gp_trace *t, struct gp_events *e)
{
    uint8_t *keep = gp_alloc(e->n);
    for (size_t i = 0; i < e->n; i++) {
        keep[i] = gp_time_fits(e->start_ns[i]);
        gp_trace_issue(t, GP_Q_BAD_TIME, !keep[i], -1);
    }
    gp_events_keep(e, keep);
    free(keep);
}

/* Nearly always nothing is to be done. */
static void bound_times(struct gp_trace *t, struct gp_events *e)
{
    bool far = false;
    int64_t longest = 0;
    for (size_t i = 0; i < e->n; i++) {
        far |= !gp_time_fits(e->start_ns[i]);
        if (e->dur_ns[i] > longest) longest = e->dur_ns[i];
    }
    if (far) remove_far_events(t, e);
    if (longest > GP_DURATIONS_MOST / (int64_t)(e->n + 1)) {
        int64_t most = longest_duration(e);
        for (size_t i = 0; i < e->n; i++) {
            if (e->dur_ns[i] <= most) continue;
            e->dur_ns[i] = 0;
            gp_trace_issue(t, GP_Q_BAD_DURATION, 1, -1);
        }
    }
}

void gp_trace_sort(struct gp_trace *t)
{
    for (int i = 0; i < GP_TABLE_COUNT; i++) bound_times(t, &t->events[i]);
    for (int i = 0; i < GP_TABLE_COUNT; i++) gp_events_sort(&t->events[i]);
}

uint64_t gp_trace_lost(const struct gp_trace *t, bool stacks)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < t->losses.n; i++)
        if (!strcmp(gp_trace_str(t, t->losses.at[i].what), GP_LOSS_STACKS) == stacks)
            lost += t->losses.at[i].count;
    return lost;
}

void gp_trace_finish(struct gp_trace *t)
{
    gp_trace_sort(t);
    gp_trace_issue(t, GP_Q_LOSS, gp_trace_lost(t, false), -1);
    gp_trace_issue(t, GP_Q_LOST_STACK, gp_trace_lost(t, true), -1);
}

/* ---- reading ---- */

/* The ids of calls as bits from FIRST_ID on; profilers count them up. NULL if a call is not on a thread, or
 * if the ids are far apart.
 */
static uint8_t *ids_of_calls(const struct gp_trace *t, uint64_t *first_id, uint64_t *n)
{
    enum { IDS_PER_CALL = 64 };
    const struct gp_events *api = &t->events[GP_API];
    uint64_t lo = UINT64_MAX, hi = 0;
    for (size_t i = 0; i < api->n; i++) {
        uint64_t id = api->corr[i];
        if (t->tracks.at[api->track[i]].kind != GP_TRACK_THREAD) return NULL;
        if (!id || id == GP_NO_ID) continue;
        if (id < lo) lo = id;
        if (id > hi) hi = id;
    }
    if (lo > hi || hi - lo >= (uint64_t)api->n * IDS_PER_CALL) return NULL;
    *first_id = lo;
    *n = hi - lo + 1;
    uint8_t *ids = gp_zalloc(*n / 8 + 1);
    for (size_t i = 0; i < api->n; i++) {
        uint64_t at = api->corr[i] - lo;
        if (at < *n) ids[at / 8] |= (uint8_t)(1 << at % 8);
    }
    return ids;
}

bool gp_trace_knows_calls(const struct gp_trace *t)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    uint64_t first_id, n;
    if (!gpu->n) return true;
    if (!gpu->corr || !t->events[GP_API].corr) return false;
    for (size_t i = 1; i < t->processes.n; i++) /* ids are unique only within a producer */
        if (t->processes.at[i].producer != t->processes.at[0].producer) return false;
    uint8_t *ids = ids_of_calls(t, &first_id, &n);
    bool known = ids;
    for (size_t i = 0; known && i < gpu->n; i++) {
        uint64_t at = gpu->corr[i] - first_id;
        known = at < n && ids[at / 8] >> at % 8 & 1;
    }
    free(ids);
    return known;
}

uint64_t gp_trace_skipped(const struct gp_trace *t)
{
    return t->issues[GP_Q_SYNTAX].count + t->issues[GP_Q_BAD_TIME].count +
           t->issues[GP_Q_UNKNOWN_PHASE].count + t->issues[GP_Q_UNMATCHED_END].count +
           t->issues[GP_Q_LIMIT].count;
}

bool gp_trace_truncated(const struct gp_trace *t) { return t->issues[GP_Q_TRUNCATED].count > 0; }

static bool any_event(const struct gp_trace *t)
{
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (t->events[i].n) return true;
    return false;
}

const char *gp_trace_verdict(const struct gp_trace *t)
{
    uint64_t issues = 0;
    for (int i = 0; i < GP_ISSUE_COUNT; i++) issues += i == GP_Q_COUNTERS ? 0 : t->issues[i].count;
    if (!issues) return "clean";
    return any_event(t) ? "repaired" : "unusable";
}
