#include "formats/base/buf.h"
#include "formats/base/order.h"
#include "formats/gpt/gpt_encode_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_predict.h"
#include "formats/model/metric.h"

/* One side of a block: the GPU events or the API calls of a launch block, or the rows of a table. */
struct side {
    const struct gp_events *events;
    const uint32_t *rows;
    uint32_t n;
    bool contiguous; /* rows[i] is rows[0] + i */
    enum gp_table table;
    uint8_t add; /* to column ids */
    uint64_t base;
    uint64_t *start, *dur;
    uint32_t *track, *key; /* local numbers */
    uint32_t ntracks, nkeys;
    /* API calls of a launch block: local number of the GPU event's config; otherwise NULL */
    const uint32_t *config;
    uint32_t nconfigs;
};

struct gp_block_encoder {
    uint32_t max_rows;
    size_t nslots;
    struct gp_buf body;
    struct side side[2];
    uint64_t *v, *d, *state, *other, *dict, *a, *b;
    uint32_t *slots, *next, *local;
};

struct gp_block_encoder *gp_block_encoder_new(uint32_t max_rows)
{
    struct gp_block_encoder *e = gp_zalloc(sizeof *e);
    size_t n = max_rows + 1;
    e->max_rows = max_rows;
    e->nslots = 64;
    while (e->nslots < 2 * n) e->nslots *= 2;
    uint64_t **wide[] = {&e->v,          &e->d, &e->state,         &e->other,       &e->dict,
                         &e->a,          &e->b, &e->side[0].start, &e->side[0].dur, &e->side[1].start,
                         &e->side[1].dur};
    for (size_t i = 0; i < GP_COUNT(wide); i++) *wide[i] = gp_alloc(n * sizeof **wide[i]);
    uint32_t **narrow[] = {&e->next,        &e->local,         &e->side[0].track,
                           &e->side[0].key, &e->side[1].track, &e->side[1].key};
    for (size_t i = 0; i < GP_COUNT(narrow); i++) *narrow[i] = gp_alloc(n * sizeof **narrow[i]);
    e->slots = gp_alloc(e->nslots * sizeof *e->slots);
    return e;
}

void gp_block_encoder_free(struct gp_block_encoder *e)
{
    if (!e) return;
    uint64_t *wide[] = {e->v,          e->d, e->state,         e->other,       e->dict,
                        e->a,          e->b, e->side[0].start, e->side[0].dur, e->side[1].start,
                        e->side[1].dur};
    for (size_t i = 0; i < GP_COUNT(wide); i++) free(wide[i]);
    uint32_t *narrow[] = {e->next,        e->local,         e->side[0].track,
                          e->side[0].key, e->side[1].track, e->side[1].key};
    for (size_t i = 0; i < GP_COUNT(narrow); i++) free(narrow[i]);
    free(e->slots);
    gp_buf_release(&e->body);
    free(e);
}

/* ---- columns ---- */

static void put_column(struct gp_buf *b, uint8_t id, uint8_t pred, const struct gp_buf *body)
{
    gp_buf_putc(b, (char)id);
    gp_buf_putc(b, (char)pred);
    gp_varint_put(b, body->n);
    gp_buf_put(b, body->data, body->n);
}

/* A column of values that go into one stream unchanged. */
static void put_plain(struct gp_buf *b, uint8_t id, const uint64_t *v, size_t n)
{
    struct gp_buf body = {0};
    gp_stream_encode(&body, v, n);
    put_column(b, id, GP_PRED_PLAIN, &body);
    gp_buf_release(&body);
}

static void put_bytes(struct gp_buf *b, uint8_t id, const struct gp_buf *bytes)
{
    put_column(b, id, GP_PRED_PLAIN, bytes);
}

/* A stream that is not the last of its column: its length precedes it. */
static void put_inner_stream(struct gp_buf *b, const uint64_t *v, size_t n)
{
    struct gp_buf s = {0};
    gp_stream_encode(&s, v, n);
    gp_varint_put(b, s.n);
    gp_buf_put(b, s.data, s.n);
    gp_buf_release(&s);
}

static bool all_equal(const uint64_t *v, size_t n, uint64_t to)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != to) return false;
    return true;
}

static void zigzag_all(uint64_t *d, size_t n)
{
    for (size_t i = 0; i < n; i++) d[i] = gp_zigzag((int64_t)d[i]);
}

/* Are the rows consecutive in the table? Then columns need no gathering. */
static bool in_a_row(const struct side *s)
{
    uint32_t apart = 0;
    for (uint32_t i = 0; i < s->n; i++) apart |= s->rows[i] ^ (s->rows[0] + i);
    return !apart;
}

/* The cells of COL of the side's rows; false if the table does not have the column. */
static bool gather(const struct side *s, enum gp_column col, uint64_t *to)
{
    const void *cells = gp_events_column(s->events, col);
    if (!cells) return false;
    if (gp_column_infos[col].width == 8) {
        const uint64_t *from = cells;
        if (s->contiguous) memcpy(to, from + s->rows[0], s->n * sizeof *to);
        for (uint32_t i = 0; !s->contiguous && i < s->n; i++) to[i] = from[s->rows[i]];
    } else {
        const uint32_t *from = cells, *run = from + s->rows[0];
        for (uint32_t i = 0; s->contiguous && i < s->n; i++) to[i] = run[i];
        for (uint32_t i = 0; !s->contiguous && i < s->n; i++) to[i] = from[s->rows[i]];
    }
    return true;
}

/* Write V as a dictionary column and leave the local numbers in LOCAL. CONTEXT, as predictor PRED, is what
 * the numbers may depend on; NULL if there is nothing. */
static uint32_t put_dict_column(struct gp_block_encoder *e, struct gp_buf *b, uint8_t id, const uint64_t *v,
                                size_t n, uint32_t *local, enum gp_gpt_predictor pred,
                                const uint32_t *context)
{
    size_t nslots = 64;
    while (nslots < 2 * n) nslots *= 2;
    uint32_t ndict = gp_dict_number(v, n, local, e->dict, e->slots, nslots);
    size_t misses = gp_dict_forward(local, n, NULL, e->d, e->next, n + 1);
    if (context && ndict > 1 && gp_dict_forward(local, n, context, e->a, e->next, n + 1) < misses) {
        uint64_t *swap = e->d;
        e->d = e->a;
        e->a = swap;
    } else {
        pred = GP_PRED_DICT;
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < ndict; i++) {
        e->a[i] = gp_zigzag((int64_t)(e->dict[i] - last));
        last = e->dict[i];
    }
    e->body.n = 0;
    gp_varint_put(&e->body, ndict);
    put_inner_stream(&e->body, e->a, ndict);
    gp_stream_encode(&e->body, e->d, n);
    put_column(b, id, (uint8_t)pred, &e->body);
    return ndict;
}

/* The key: the config of GPU events, otherwise the name. */
static void put_key(struct gp_block_encoder *e, struct gp_buf *b, struct side *s)
{
    enum gp_column key = s->table == GP_GPU ? GP_COL_CONFIG : GP_COL_NAME;
    uint8_t id = (uint8_t)(gp_gpt_column_id[key] + s->add);
    memset(s->key, 0, s->n * sizeof *s->key);
    s->nkeys = 1;
    if (!gather(s, key, e->v) || all_equal(e->v, s->n, 0)) return;
    s->nkeys = put_dict_column(e, b, id, e->v, s->n, s->key, GP_PRED_DICT_CONFIG, s->config);
}

static void put_track(struct gp_block_encoder *e, struct gp_buf *b, struct side *s)
{
    memset(s->track, 0, s->n * sizeof *s->track);
    s->ntracks = 1;
    if (!gather(s, GP_COL_TRACK, e->v) || all_equal(e->v, s->n, 0)) return;
    s->ntracks =
        put_dict_column(e, b, (uint8_t)(3 + s->add), e->v, s->n, s->track, GP_PRED_DICT_KEYED, s->key);
}

/* ---- times ---- */

/* The best way found so far to code the column in e->v. */
struct choice {
    enum gp_gpt_predictor pred;
    struct gp_pred_rows rows;
    uint64_t cost;
    bool times; /* which may be multiples of a clock's tick */
};

/* How many rows decide between predictors; the first half of them only warms up the predictors. */
enum { SAMPLE_ROWS = 1024 };

static void try_predictor(struct gp_block_encoder *e, enum gp_gpt_predictor pred,
                          const struct gp_pred_rows *r, struct choice *best)
{
    struct gp_pred_rows some = *r;
    if (some.n > SAMPLE_ROWS) some.n = SAMPLE_ROWS;
    if (!gp_pred_forward(pred, &some, e->v, e->d)) return;
    size_t from = r->n > SAMPLE_ROWS ? SAMPLE_ROWS / 2 : 0;
    if (gp_pred_is_signed(pred)) zigzag_all(e->d + from, some.n - from);
    uint64_t cost = gp_stream_cost(e->d + from, some.n - from);
    if (cost < best->cost) *best = (struct choice){pred, *r, cost, best->times};
}

/* Split the differences D into whole quanta and the rest, which is at most half a quantum either way. */
static void split(const uint64_t *d, size_t n, uint64_t q, uint64_t *a, uint64_t *b)
{
    int64_t half = (int64_t)(q / 2), step = (int64_t)q;
    for (size_t i = 0; i < n; i++) {
        int64_t v = (int64_t)d[i];
        int64_t whole = v / step, rest = v % step;
        if (rest > half) whole++, rest -= step;
        if (rest < -half) whole--, rest += step;
        a[i] = (uint64_t)whole;
        b[i] = gp_zigzag(rest);
    }
}

static bool worth_splitting(const uint64_t *d, size_t n, uint64_t q)
{
    size_t near = 0, used = 0, step = n / 256 + 1;
    for (size_t i = 0; i < n; i += step, used++) {
        uint64_t v = (int64_t)d[i] < 0 ? -d[i] : d[i];
        uint64_t rest = v % q;
        near += rest <= q / 16 || rest >= q - q / 16;
    }
    return near * 2 > used;
}

/* Write the column in e->v in the best way found. FALLBACK can hold any values. */
static void put_chosen(struct gp_block_encoder *e, struct gp_buf *b, uint8_t id, const struct choice *c,
                       enum gp_gpt_predictor fallback)
{
    static const uint64_t quanta[] = {1000, 32};
    const struct gp_pred_rows *r = &c->rows;
    enum gp_gpt_predictor pred = c->pred;
    size_t n = r->n;
    if (!gp_pred_forward(pred, r, e->v, e->d)) {
        pred = fallback;
        gp_pred_forward(pred, r, e->v, e->d);
    }
    uint64_t quantum = 1;
    bool is_signed = gp_pred_is_signed(pred), time = c->times;
    for (size_t i = 0; time && n >= 16 && i < 2 && quantum == 1; i++)
        if (worth_splitting(e->d, n, quanta[i])) quantum = quanta[i];
    e->body.n = 0;
    if (pred == GP_PRED_LAUNCH) {
        gp_varint_put(&e->body, gp_zigzag(r->gap));
        gp_varint_put(&e->body, gp_zigzag(r->latency));
    }
    if (quantum > 1) {
        split(e->d, n, quantum, e->a, e->b);
        if (is_signed) zigzag_all(e->a, n);
        gp_varint_put(&e->body, quantum);
        put_inner_stream(&e->body, e->a, n);
        gp_stream_encode(&e->body, e->b, n);
        put_column(b, id, (uint8_t)(pred | GP_PRED_QUANTUM), &e->body);
    } else {
        if (is_signed) zigzag_all(e->d, n);
        gp_stream_encode(&e->body, e->d, n);
        put_column(b, id, (uint8_t)pred, &e->body);
    }
}

static void put_dur(struct gp_block_encoder *e, struct gp_buf *b, struct side *s)
{
    memset(s->dur, 0, s->n * sizeof *s->dur);
    if (!gather(s, GP_COL_DUR, s->dur) || all_equal(s->dur, s->n, 0)) return;
    struct choice best = {.cost = UINT64_MAX, .times = true};
    struct gp_pred_rows r = {.n = s->n, .key = s->key, .state = e->state, .nstate = s->nkeys};
    memcpy(e->v, s->dur, s->n * sizeof *e->v);
    try_predictor(e, GP_PRED_PLAIN, &r, &best);
    try_predictor(e, GP_PRED_KEYED, &r, &best);
    struct gp_pred_rows by_config = {.n = s->n, .key = s->config, .state = e->state, .nstate = s->nconfigs};
    if (s->config) try_predictor(e, GP_PRED_KEYED_CONFIG, &by_config, &best);
    put_chosen(e, b, (uint8_t)(2 + s->add), &best, GP_PRED_PLAIN);
}

/* The number at PART of the N sorted numbers at V; 0 if there are none. */
static int64_t quantile(int64_t *v, size_t n, double part)
{
    if (!n) return 0;
    qsort(v, n, sizeof *v, gp_order_i64);
    return v[(size_t)((double)(n - 1) * part)];
}

/* A - B < C - D, without overflow. */
static bool is_below(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (int64_t)((uint64_t)a - (uint64_t)b) < (int64_t)((uint64_t)c - (uint64_t)d);
}

/* g and l of GP_PRED_LAUNCH from a sample of the rows: the usual gap if a kernel waits for the one before it,
 * the usual latency if it waits for its launch. A first guess at each decides which of the two it is. */
static void find_launch_constants(struct gp_block_encoder *e, const struct side *s, const struct side *api,
                                  struct gp_pred_rows *r)
{
    enum { SAMPLE = 256 };
    int64_t gap[SAMPLE], latency[SAMPLE], sorted[SAMPLE], bound[SAMPLE];
    size_t n = 0, step = s->n / SAMPLE + 1, waits = 0;
    for (uint32_t i = 0; i < s->ntracks; i++) e->state[i] = s->base;
    for (size_t i = 0; i < s->n; i++) {
        uint64_t *end = &e->state[s->track[i]];
        if (i % step == 0) {
            gap[n] = (int64_t)(s->start[i] - *end);
            latency[n++] = (int64_t)(s->start[i] - api->start[i]);
        }
        *end = s->start[i] + s->dur[i];
    }
    memcpy(sorted, gap, n * sizeof *gap);
    int64_t g = quantile(sorted, n, 0.2);
    memcpy(sorted, latency, n * sizeof *gap);
    int64_t l = quantile(sorted, n, 0.2);
    for (size_t i = 0; i < n; i++)
        if (is_below(gap[i], g, latency[i], l)) bound[waits++] = gap[i];
    r->gap = waits ? quantile(bound, waits, 0.5) : g;
    waits = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_below(gap[i], g, latency[i], l)) bound[waits++] = latency[i];
    r->latency = waits ? quantile(bound, waits, 0.5) : l;
}

static void put_start(struct gp_block_encoder *e, struct gp_buf *b, struct side *s, const struct side *api)
{
    gather(s, GP_COL_START, s->start);
    struct choice best = {.cost = UINT64_MAX, .times = true};
    struct gp_pred_rows r = {.n = s->n,
                             .first = s->base,
                             .track = s->track,
                             .state = e->state,
                             .nstate = s->ntracks,
                             .dur = s->dur,
                             .launch = api ? api->start : NULL};
    memcpy(e->v, s->start, s->n * sizeof *e->v);
    try_predictor(e, GP_PRED_TRACK_END, &r, &best);
    try_predictor(e, GP_PRED_TRACK_START, &r, &best);
    if (!api) try_predictor(e, GP_PRED_DELTA, &r, &best);
    if (api) {
        find_launch_constants(e, s, api, &r);
        try_predictor(e, GP_PRED_LAUNCH, &r, &best);
    }
    put_chosen(e, b, (uint8_t)(1 + s->add), &best, GP_PRED_TRACK_END);
}

/* ---- everything else ---- */

static bool is_reference(enum gp_column col)
{
    int type = gp_gpt_column_type[col];
    return type == GP_GPT_STRING || type == GP_GPT_TRACK_REF || type == GP_GPT_CONFIG_REF ||
           type == GP_GPT_STACK_REF || col == GP_COL_PHASE;
}

static void put_number_column(struct gp_block_encoder *e, struct gp_buf *b, const struct side *s,
                              enum gp_column col)
{
    struct choice best = {.cost = UINT64_MAX};
    struct gp_pred_rows r = {
        .n = s->n, .dflt = gp_gpt_default(col), .key = s->key, .state = e->state, .nstate = s->nkeys};
    if (r.dflt == 0) try_predictor(e, GP_PRED_PLAIN, &r, &best);
    try_predictor(e, GP_PRED_LAST, &r, &best);
    try_predictor(e, GP_PRED_KEYED, &r, &best);
    if (col == GP_COL_VALUE) try_predictor(e, GP_PRED_FLOAT, &r, &best);
    put_chosen(e, b, (uint8_t)(gp_gpt_column_id[col] + s->add), &best, GP_PRED_KEYED);
}

/* Columns of the GPU side of a launch block that default to those of the API call: they are written only if
 * they differ. */
static bool put_shared_column(struct gp_block_encoder *e, struct gp_buf *b, const struct side *s,
                              const struct side *api, enum gp_column col)
{
    if (!api || (col != GP_COL_CORR && col != GP_COL_EXT)) return false;
    if (!gather(api, col, e->other))
        for (uint32_t i = 0; i < s->n; i++) e->other[i] = gp_gpt_default(col);
    if (!memcmp(e->v, e->other, s->n * sizeof *e->v)) return true;
    struct choice best = {.cost = UINT64_MAX};
    struct gp_pred_rows r = {.n = s->n, .other = e->other};
    try_predictor(e, GP_PRED_OTHER, &r, &best);
    put_chosen(e, b, gp_gpt_column_id[col], &best, GP_PRED_OTHER);
    return true;
}

static void put_gpu_name(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                         const struct side *s)
{
    gather(s, GP_COL_NAME, e->v);
    if (!gather(s, GP_COL_CONFIG, e->other)) memset(e->other, 0, s->n * sizeof *e->other);
    for (uint32_t i = 0; i < s->n; i++)
        e->other[i] = e->other[i] < t->configs.n ? t->configs.at[e->other[i]].name : 0;
    if (!memcmp(e->v, e->other, s->n * sizeof *e->v)) return;
    struct choice best = {.cost = UINT64_MAX};
    struct gp_pred_rows r = {.n = s->n, .other = e->other};
    try_predictor(e, GP_PRED_CONFIG_NAME, &r, &best);
    put_chosen(e, b, gp_gpt_column_id[GP_COL_NAME], &best, GP_PRED_CONFIG_NAME);
}

static void put_side(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t, struct side *s,
                     const struct side *api)
{
    if (!api) put_key(e, b, s);
    put_track(e, b, s);
    put_dur(e, b, s);
    put_start(e, b, s, api);
    if (s->table == GP_GPU) put_gpu_name(e, b, t, s);
    for (int id = 6; id < GP_GPT_COLUMN_END; id++) {
        enum gp_column col = (enum gp_column)gp_gpt_model_column[id];
        if (col == GP_COL_SET) continue; /* put_values() writes it */
        if (!gather(s, col, e->v)) {
            if (!api || !gp_events_column(api->events, col)) continue;
            for (uint32_t i = 0; i < s->n; i++) e->v[i] = gp_gpt_default(col);
        }
        if (put_shared_column(e, b, s, api, col)) continue;
        if (all_equal(e->v, s->n, gp_gpt_default(col))) continue;
        bool by_config = col == GP_COL_STACK && s->config; /* a call's name says little about its stack */
        if (is_reference(col))
            put_dict_column(e, b, (uint8_t)(id + s->add), e->v, s->n, e->local,
                            by_config ? GP_PRED_DICT_CONFIG : GP_PRED_DICT_KEYED,
                            by_config ? s->config : s->key);
        else put_number_column(e, b, s, col);
    }
}

static struct side *side_init(struct gp_block_encoder *e, int i, const struct gp_trace *t,
                              enum gp_table table, const uint32_t *rows, uint32_t n)
{
    struct side *s = &e->side[i];
    s->events = &t->events[table];
    s->table = table;
    s->rows = rows;
    s->n = n;
    s->add = i ? GP_GPT_SIDE : 0;
    s->config = NULL;
    s->contiguous = in_a_row(s);
    return s;
}

/* A column for each metric of the set of which any row has a value. */
static void put_values(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                       const struct side *s)
{
    uint32_t number = gp_get_set(s->events, s->rows[0]);
    const struct gp_metric_set *set = &t->metric_sets.at[number];
    for (uint32_t i = 0; i < s->n; i++) e->v[i] = number;
    if (number) put_plain(b, gp_gpt_column_id[GP_COL_SET], e->v, s->n);
    if (gather(s, GP_COL_CONFIG, e->v) && !all_equal(e->v, s->n, 0))
        put_dict_column(e, b, gp_gpt_column_id[GP_COL_CONFIG], e->v, s->n, e->local, GP_PRED_DICT_KEYED,
                        s->key);
    for (uint32_t m = 0; m < set->n && m < GP_METRICS_MOST; m++) {
        bool any = false;
        for (uint32_t i = 0; i < s->n; i++) {
            double x = gp_metric_values(t, s->rows[i])[m];
            if (isnan(x)) x = NAN; /* one of them */
            else any = true;
            memcpy(&e->v[i], &x, sizeof x);
        }
        struct choice best = {.cost = UINT64_MAX};
        struct gp_pred_rows r = {.n = s->n, .key = s->key, .state = e->state, .nstate = s->nkeys};
        try_predictor(e, GP_PRED_PLAIN, &r, &best);
        try_predictor(e, GP_PRED_KEYED, &r, &best);
        try_predictor(e, GP_PRED_FLOAT, &r, &best);
        if (any) put_chosen(e, b, (uint8_t)(GP_GPT_VALUES + m), &best, GP_PRED_KEYED);
    }
}

void gp_block_put_events(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                         enum gp_table table, const uint32_t *rows, uint32_t n)
{
    struct side *s = side_init(e, 0, t, table, rows, n);
    s->base = gp_block_base(table, s->events->start_ns[rows[0]]);
    put_side(e, b, t, s, NULL);
    if (table == GP_METRIC) put_values(e, b, t, s);
}

void gp_block_put_launches(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                           const uint32_t *gpu, const uint32_t *api, uint32_t n)
{
    struct side *g = side_init(e, 0, t, GP_GPU, gpu, n), *a = side_init(e, 1, t, GP_API, api, n);
    g->base = a->base = (uint64_t)g->events->start_ns[gpu[0]];
    put_key(e, b, g);
    a->config = g->key;
    a->nconfigs = g->nkeys;
    put_side(e, b, t, a, NULL);
    put_side(e, b, t, g, a);
}

/* ---- dictionaries ---- */

void gp_block_put_dict(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_gpt_dict *d,
                       const void *at, size_t n)
{
    const char *p = at;
    uint64_t *v = n <= e->max_rows ? e->v : gp_alloc(2 * n * sizeof *v);
    uint64_t *delta = n <= e->max_rows ? e->d : v + n;
    GP_EACH_OF(const struct gp_gpt_field, field, d->fields, d->nfields) {
        uint64_t last = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = gp_gpt_field_get(field, p + i * d->size);
            delta[i] = gp_zigzag((int64_t)(v[i] - last));
            last = v[i];
        }
        if (all_equal(v, n, field->dflt)) continue;
        bool plain = gp_stream_cost(v, n) <= gp_stream_cost(delta, n);
        e->body.n = 0;
        gp_stream_encode(&e->body, plain ? v : delta, n);
        put_column(b, field->id, plain ? GP_PRED_PLAIN : GP_PRED_DELTA, &e->body);
    }
    if (v != e->v) free(v);
}

void gp_block_put_strings(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_strings *s,
                          uint32_t first, uint32_t n)
{
    uint64_t *lengths = gp_alloc(n * sizeof *lengths);
    for (uint32_t i = 0; i < n; i++) lengths[i] = s->len[first + i];
    put_plain(b, 1, lengths, n);
    free(lengths);
    e->body.n = 0;
    for (uint32_t i = 0; i < n; i++) gp_buf_put(&e->body, s->at[first + i], s->len[first + i]);
    put_bytes(b, 2, &e->body);
}

void gp_block_put_info(struct gp_buf *b, const struct gp_trace *t)
{
    uint64_t rank = gp_zigzag(t->rank), world_size = gp_zigzag(t->world_size);
    put_plain(b, 1, &rank, 1);
    put_plain(b, 2, &world_size, 1);
}

/* Rows of the SCHEMA block while they are gathered. */
struct schema {
    uint64_t *kind, *id, *type, *length;
    struct gp_buf names;
    uint32_t n;
};

static void schema_add(struct schema *s, unsigned kind, unsigned id, unsigned type, const char *name)
{
    s->kind[s->n] = kind;
    s->id[s->n] = id;
    s->type[s->n] = type;
    s->length[s->n++] = strlen(name);
    gp_buf_puts(&s->names, name);
}

uint32_t gp_block_put_schema(struct gp_buf *b)
{
    enum { MAX = 256 };
    uint64_t kind[MAX], id[MAX], type[MAX], length[MAX];
    struct schema s = {kind, id, type, length, {0}, 0};
    for (size_t i = 0; i < GP_GPT_DICTS; i++) {
        const struct gp_gpt_dict *d = gp_gpt_dicts[i];
        schema_add(&s, d->kind, 0, GP_GPT_TEXT, d->name);
        for (unsigned f = 0; f < d->nfields; f++)
            schema_add(&s, d->kind, d->fields[f].id, d->fields[f].type, d->fields[f].name);
    }
    schema_add(&s, GP_GPT_LAUNCH, 0, GP_GPT_TEXT, "launch");
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        schema_add(&s, GP_GPT_EVENTS + gp_gpt_table_number[table], 0, GP_GPT_TEXT,
                   gp_table_name((enum gp_table)table));
    for (int col = 0; col < GP_COLUMN_COUNT; col++)
        if (gp_gpt_column_id[col])
            schema_add(&s, 0, gp_gpt_column_id[col], gp_gpt_column_type[col], gp_column_infos[col].name);
    put_plain(b, 1, kind, s.n);
    put_plain(b, 2, id, s.n);
    put_plain(b, 3, type, s.n);
    put_plain(b, 4, length, s.n);
    put_bytes(b, 5, &s.names);
    gp_buf_release(&s.names);
    return s.n;
}

uint32_t gp_block_put_issues(struct gp_buf *b, const struct gp_trace *t)
{
    uint64_t count[GP_ISSUE_COUNT], length[GP_ISSUE_COUNT];
    struct gp_buf names = {0};
    uint32_t n = 0;
    for (int i = 0; i <= GP_Q_LIMIT; i++) {
        if (!t->issues[i].count) continue;
        const char *name = gp_issue_name((enum gp_issue_kind)i);
        count[n] = t->issues[i].count;
        length[n++] = strlen(name);
        gp_buf_puts(&names, name);
    }
    if (n) {
        put_plain(b, 1, length, n);
        put_bytes(b, 2, &names);
        put_plain(b, 3, count, n);
    }
    gp_buf_release(&names);
    return n;
}

uint32_t gp_block_put_totals(struct gp_buf *b, const uint64_t rows[GP_GPT_TABLE_COUNT])
{
    uint64_t kind[GP_GPT_TABLE_COUNT], count[GP_GPT_TABLE_COUNT];
    uint32_t n = 0;
    for (unsigned i = 0; i < GP_GPT_TABLE_COUNT; i++) {
        if (!rows[i]) continue;
        kind[n] = GP_GPT_EVENTS + i;
        count[n++] = rows[i];
    }
    put_plain(b, 1, kind, n);
    put_plain(b, 2, count, n);
    return n;
}

/* ---- compression ---- */

struct gp_buf *gp_block_compress(struct gp_buf *from, struct gp_buf *to, enum gp_gpt_codec codec,
                                 uint32_t nrec)
{
    const char *raw = from->data + GP_GPT_BLOCK_HEADER_SIZE;
    size_t n = from->n - GP_GPT_BLOCK_HEADER_SIZE, got = 0;
    if (codec == GP_GPT_PLAIN || !n) return from;
    to->n = 0;
    if (codec == GP_GPT_ZSTD) {
        size_t bound = ZSTD_compressBound(n);
        char *p = gp_buf_reserve(to, GP_GPT_BLOCK_HEADER_SIZE + bound);
        got = ZSTD_compress(p + GP_GPT_BLOCK_HEADER_SIZE, bound, raw, n, 1);
        if (ZSTD_isError(got)) return from;
    } else {
        uLongf bound = compressBound((uLong)n);
        char *p = gp_buf_reserve(to, GP_GPT_BLOCK_HEADER_SIZE + bound);
        if (compress2((Bytef *)p + GP_GPT_BLOCK_HEADER_SIZE, &bound, (const Bytef *)raw, (uLong)n, 6) != Z_OK)
            return from;
        got = bound;
    }
    if (got >= n || nrec > GP_GPT_FREE_ROWS + GP_GPT_ROWS_PER_BYTE * (uint64_t)got) return from;
    if (n > (uint64_t)got * GP_GPT_MAX_RATIO) return from;
    to->n = GP_GPT_BLOCK_HEADER_SIZE + got;
    return to;
}
