#include "analyze/hta.h"

#include <stdlib.h>
#include <string.h>
#include "analyze/hta_parts.h"

/* ---- life ---- */

void gp_hta_init(struct gp_hta *h, const struct gp_hta_opts *opts)
{
    memset(h, 0, sizeof *h);
    if (opts) h->opts = *opts;
    h->world_size = -1;
    h->maps = gp_zalloc(sizeof *h->maps);
}

static void release_maps(struct gp_hta_maps *m)
{
    if (!m) return;
    gp_map_release(&m->kernels);
    gp_map_release(&m->owners);
    gp_map_release(&m->api);
    gp_map_release(&m->culprits);
    gp_map_release(&m->copies);
    free(m);
}

void gp_hta_release(struct gp_hta *h)
{
    gp_hta_release_devices(h);
    gp_hta_release_kernels(h);
    gp_hta_release_launches(h);
    gp_hta_release_graphs(h);
    gp_hta_release_steps(h);
    gp_hta_release_collectives(h);
    gp_hta_release_copies(h);
    gp_hta_release_paths(h);
    GP_VEC_FREE(&h->inputs);
    GP_VEC_FREE(&h->findings);
    GP_VEC_FREE(&h->missing_ranks);
    GP_VEC_FREE(&h->repeated_ranks);
    gp_strings_release(&h->strings);
    release_maps(h->maps);
    memset(h, 0, sizeof *h);
}

gp_sid gp_hta_take(struct gp_hta *h, const struct gp_strings *from, gp_sid sid)
{
    if (!sid || sid >= from->n) return 0;
    return gp_intern_hashed(&h->strings, from->at[sid], from->len[sid], from->hash[sid]);
}

/* ---- inputs ---- */

static gp_sid take_text(struct gp_hta *h, const char *s)
{
    return gp_intern_cstr(&h->strings, s ? s : "");
}

static void add_input(struct gp_hta *h, const struct gp_trace *t)
{
    struct gp_hta_input in;
    memset(&in, 0, sizeof in);
    in.path = take_text(h, t->input.path);
    in.format = take_text(h, t->input.format);
    in.compression = take_text(h, t->input.compression);
    in.rank = t->rank;
    in.events = t->input.events;
    in.gpu_events = t->events[GP_GPU].n;
    GP_VEC_PUSH(&h->inputs, in);
    if (t->world_size > h->world_size) h->world_size = t->world_size;
}

/* A trace that does not say its rank has the one that all its devices have. */
static int32_t rank_of_devices(const struct gp_hta *h, size_t first_device)
{
    int32_t rank = -1;
    for (size_t i = first_device; i < h->devices.n; i++) {
        if (rank >= 0 && h->devices.at[i].rank != rank) return -1;
        rank = h->devices.at[i].rank;
    }
    return rank;
}

/* Launches that are not recorded, or later than their kernels, are no damage: they count as issues, not against the
 * verdict. */
static void judge_input(struct gp_hta *h, struct gp_trace *t, const struct gp_view *v, size_t first_device)
{
    struct gp_hta_input *in = &h->inputs.at[h->inputs.n - 1];
    in->verdict = take_text(h, in->gpu_events ? gp_trace_verdict(t) : "unusable");
    gp_hta_count_launches(t, v);
    memcpy(in->issues, t->issues, sizeof in->issues);
    in->truncated = gp_trace_truncated(t);
    in->skipped = gp_trace_skipped(t);
    if (in->rank < 0) in->rank = rank_of_devices(h, first_device);
}

int gp_hta_add_trace(struct gp_hta *h, struct gp_trace *t, struct gp_err *err)
{
    struct gp_view v;
    struct gp_hta_idle idle;
    size_t first_device = h->devices.n, first_step = h->steps.n;
    add_input(h, t);
    gp_hta_repair(t, h->opts.repair);
    gp_view_init(&v, t, h->opts.classes);
    gp_hta_start_idle(&idle, &h->opts, &v);
    gp_hta_add_devices(h, &v);
    gp_hta_add_kernels(h, &v, first_device);
    gp_hta_add_launches(h, &v);
    gp_hta_add_graphs(h, &v);
    int failed = gp_hta_add_steps(h, &v, err);
    gp_hta_add_collectives(h, &v);
    gp_hta_add_copies(h, &v);
    gp_hta_add_path(h, &v, first_step);
    gp_hta_finish_idle(&idle, h, first_device);
    judge_input(h, t, &v, first_device);
    gp_view_release(&v);
    return failed;
}

/* ---- merging ---- */

static void merge_inputs(struct gp_hta *to, struct gp_hta *from)
{
    for (size_t i = 0; i < from->inputs.n; i++) {
        struct gp_hta_input in = from->inputs.at[i];
        in.path = gp_hta_take(to, &from->strings, in.path);
        in.format = gp_hta_take(to, &from->strings, in.format);
        in.compression = gp_hta_take(to, &from->strings, in.compression);
        in.verdict = gp_hta_take(to, &from->strings, in.verdict);
        GP_VEC_PUSH(&to->inputs, in);
    }
    if (from->world_size > to->world_size) to->world_size = from->world_size;
}

void gp_hta_merge(struct gp_hta *to, struct gp_hta *from)
{
    struct gp_hta_opts opts = from->opts;
    gp_hta_merge_devices(to, from);
    gp_hta_merge_kernels(to, from);
    gp_hta_merge_launches(to, from);
    gp_hta_merge_graphs(to, from);
    gp_hta_merge_steps(to, from);
    gp_hta_merge_collectives(to, from);
    gp_hta_merge_copies(to, from);
    gp_hta_merge_paths(to, from);
    merge_inputs(to, from);
    gp_hta_release(from);
    gp_hta_init(from, &opts);
}

/* ---- finishing ---- */

static int compare_ranks(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The ranks of all inputs, each as often as inputs have it, sorted. */
static int32_t *find_ranks(const struct gp_hta *h, size_t *n)
{
    int32_t *ranks = gp_alloc((h->inputs.n + h->devices.n + 1) * sizeof *ranks);
    *n = 0;
    for (size_t i = 0; i < h->inputs.n; i++)
        if (h->inputs.at[i].rank >= 0) ranks[(*n)++] = h->inputs.at[i].rank;
    /* Devices are sorted by rank: what an input says again is near. */
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_hta_device *d = &h->devices.at[i];
        bool counted = d->rank < 0 || d->input >= h->inputs.n || d->rank == h->inputs.at[d->input].rank;
        for (size_t k = i; k-- > 0 && !counted && h->devices.at[k].rank == d->rank;)
            counted = h->devices.at[k].input == d->input;
        if (!counted) ranks[(*n)++] = d->rank;
    }
    if (*n) qsort(ranks, *n, sizeof *ranks, compare_ranks);
    return ranks;
}

/* A damaged world size must not make a list of two thousand million ranks. */
enum { MOST_MISSING = 1 << 16 };

static void check_ranks(struct gp_hta *h)
{
    size_t n;
    int32_t *ranks = find_ranks(h, &n), next = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && ranks[i] == ranks[i - 1]) {
            bool told = h->repeated_ranks.n && h->repeated_ranks.at[h->repeated_ranks.n - 1] == ranks[i];
            if (!told) GP_VEC_PUSH(&h->repeated_ranks, ranks[i]);
            continue;
        }
        for (; next < ranks[i] && h->missing_ranks.n < MOST_MISSING; next++)
            GP_VEC_PUSH(&h->missing_ranks, next);
        next = ranks[i] < INT32_MAX ? ranks[i] + 1 : INT32_MAX;
    }
    for (; n && next < h->world_size && h->missing_ranks.n < MOST_MISSING; next++)
        GP_VEC_PUSH(&h->missing_ranks, next);
    free(ranks);
}

void gp_hta_finish(struct gp_hta *h)
{
    gp_hta_finish_devices(h);
    gp_hta_finish_kernels(h);
    gp_hta_finish_launches(h);
    gp_hta_finish_graphs(h);
    gp_hta_finish_steps(h);
    gp_hta_finish_collectives(h);
    gp_hta_finish_copies(h);
    gp_hta_finish_paths(h);
    check_ranks(h);
    gp_hta_finish_findings(h); /* looks at all the others */
}

/* ---- saving ---- */

static void xfer_issue(struct gp_xfer *x, struct gp_issue *issue)
{
    gp_xfer_u64(x, &issue->count);
    gp_xfer_i64(x, &issue->first_offset);
}

static void xfer_input(struct gp_xfer *x, struct gp_hta_input *in)
{
    gp_xfer_str(x, &in->path);
    gp_xfer_str(x, &in->format);
    gp_xfer_str(x, &in->compression);
    gp_xfer_i32(x, &in->rank);
    gp_xfer_u64(x, &in->events);
    gp_xfer_u64(x, &in->gpu_events);
    gp_xfer_bool(x, &in->truncated);
    gp_xfer_u64(x, &in->skipped);
    for (int i = 0; i < GP_ISSUE_COUNT; i++) xfer_issue(x, &in->issues[i]);
    gp_xfer_str(x, &in->verdict);
}

static void xfer_all(struct gp_xfer *x, struct gp_hta *h)
{
    GP_XFER_VEC(x, &h->inputs, xfer_input);
    gp_xfer_i32(x, &h->world_size);
    gp_hta_xfer_devices(x, h);
    gp_hta_xfer_kernels(x, h);
    gp_hta_xfer_launches(x, h);
    gp_hta_xfer_graphs(x, h);
    gp_hta_xfer_steps(x, h);
    gp_hta_xfer_collectives(x, h);
    gp_hta_xfer_copies(x, h);
    gp_hta_xfer_paths(x, h);
}

/* The beginning of what is saved: magic, version of the content, length and hash of what follows; little endian. The
 * version changes with any struct that is saved. */
static const char magic[8] = {'g', 'p', 'h', 't', 'a', '\r', '\n', 0x1a};
enum { VERSION = 1, HEAD_SIZE = 8 + 4 + 8 + 8 };

static void put_number(uint8_t *to, uint64_t v, int width)
{
    for (int i = 0; i < width; i++) to[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get_number(const uint8_t *from, int width)
{
    uint64_t v = 0;
    for (int i = 0; i < width; i++) v |= (uint64_t)from[i] << 8 * i;
    return v;
}

void gp_hta_save(struct gp_hta *h, struct gp_buf *to)
{
    size_t start = to->n;
    gp_buf_reserve(to, HEAD_SIZE);
    to->n += HEAD_SIZE;
    struct gp_xfer x = {.save = to, .strings = &h->strings};
    xfer_all(&x, h);
    uint8_t *head = (uint8_t *)to->data + start;
    uint64_t size = to->n - start - HEAD_SIZE;
    memcpy(head, magic, sizeof magic);
    put_number(head + 8, VERSION, 4);
    put_number(head + 12, size, 8);
    put_number(head + 20, gp_hash_bytes(head + HEAD_SIZE, size), 8);
}

static int check_head(const uint8_t *p, size_t n, struct gp_err *err)
{
    if (n < sizeof magic || memcmp(p, magic, sizeof magic))
        return gp_fail(err, GP_E_FORMAT, 0, "not a saved partial result");
    if (n < HEAD_SIZE) return gp_fail(err, GP_E_SYNTAX, (int64_t)n, "the partial result ends early");
    uint64_t version = get_number(p + 8, 4), size = get_number(p + 12, 8);
    if (version != VERSION)
        return gp_fail(err, GP_E_FORMAT, 8, "a partial result of version %llu, expected %d",
                       (unsigned long long)version, VERSION);
    if (size > n - HEAD_SIZE) return gp_fail(err, GP_E_SYNTAX, (int64_t)n, "the partial result ends early");
    if (size < n - HEAD_SIZE)
        return gp_fail(err, GP_E_SYNTAX, (int64_t)(HEAD_SIZE + size), "bytes behind the partial result");
    if (gp_hash_bytes(p + HEAD_SIZE, size) != get_number(p + 20, 8))
        return gp_fail(err, GP_E_SYNTAX, HEAD_SIZE, "the partial result is damaged");
    return 0;
}

int gp_hta_load(struct gp_hta *h, const void *data, size_t n, struct gp_err *err)
{
    const uint8_t *p = data;
    if (check_head(p, n, err)) return -1;
    struct gp_hta_opts opts = h->opts;
    struct gp_xfer x = {.load = p + HEAD_SIZE, .end = p + n, .strings = &h->strings};
    xfer_all(&x, h);
    if (!x.failed && x.load == x.end) return 0;
    gp_hta_release(h);
    gp_hta_init(h, &opts);
    return gp_fail(err, GP_E_SYNTAX, HEAD_SIZE, "the partial result makes no sense");
}
