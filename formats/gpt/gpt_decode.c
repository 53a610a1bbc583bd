#include "formats/gpt/gpt_decode_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/mem.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/gpt/gpt_predict.h"
#include "formats/model/metric.h"

enum { WIDE = 9, NARROW = 5 };

/* The rows of one table in a block while they are decoded. */
struct side {
    struct gp_events *to; /* NULL: not needed */
    enum gp_table table;
    size_t row;
    struct gp_block_column column[GP_GPT_COLUMN_END];
    uint32_t *track, *key; /* local numbers */
    uint32_t ntracks, nkeys;
    /* API calls of a launch block: local number of the GPU event's config; otherwise NULL */
    const uint32_t *config;
    uint32_t nconfigs;
    uint64_t *start, *dur;
};

struct gp_block_decoder {
    size_t cap;
    uint64_t *wide[WIDE];
    uint32_t *narrow[NARROW];
    struct side side[2];
    /* of the current block */
    const struct gp_block_job *job;
    struct gp_trace *trace;
    size_t n;
    bool define, missing;
    bool far, long_ones;                             /* times that gp_trace_finish() does not let pass */
    uint64_t *values, *extra, *state, *dict, *other; /* = wide[4..] */
    uint32_t *succ, *local;
};

struct gp_block_decoder *gp_block_decoder_new(void) { return gp_zalloc(sizeof(struct gp_block_decoder)); }

void gp_block_decoder_free(struct gp_block_decoder *d)
{
    if (!d) return;
    for (int i = 0; i < WIDE; i++) free(d->wide[i]);
    for (int i = 0; i < NARROW; i++) free(d->narrow[i]);
    GP_RELEASE(free, d->succ, d->local, d);
}

static void make_room(struct gp_block_decoder *d, size_t n)
{
    if (n <= d->cap) return;
    if (!d->cap) d->cap = 256;
    while (d->cap < n) d->cap *= 2;
    for (int i = 0; i < WIDE; i++) {
        free(d->wide[i]);
        d->wide[i] = gp_alloc((d->cap + 1) * sizeof *d->wide[i]);
    }
    for (int i = 0; i < NARROW; i++) {
        free(d->narrow[i]);
        d->narrow[i] = gp_alloc((d->cap + 1) * sizeof *d->narrow[i]);
    }
    free(d->succ);
    free(d->local);
    d->succ = gp_alloc((d->cap + 1) * sizeof *d->succ);
    d->local = gp_alloc((d->cap + 1) * sizeof *d->local);
    for (int i = 0; i < 2; i++) {
        d->side[i].track = d->narrow[2 * i];
        d->side[i].key = d->narrow[2 * i + 1];
    }
    d->values = d->wide[4];
    d->extra = d->wide[5];
    d->state = d->wide[6];
    d->dict = d->wide[7];
    d->other = d->wide[8];
}

/* ---- columns ---- */

/* Split the payload into columns: [side][id]. */
static bool split_columns(const struct gp_block_job *job,
                          struct gp_block_column (*columns)[GP_GPT_COLUMN_END], bool two_sides)
{
    struct gp_cursor c = {job->payload, job->payload + job->header.raw_len, false};
    memset(columns, 0, (two_sides ? 2 : 1) * sizeof *columns);
    while (c.p < c.end) {
        uint8_t id = gp_cursor_u8(&c), pred = gp_cursor_u8(&c);
        uint64_t len = gp_cursor_varint(&c);
        const uint8_t *p = gp_cursor_bytes(&c, len);
        if (c.bad) return false;
        bool api = two_sides && id >= GP_GPT_SIDE;
        if (api) id -= GP_GPT_SIDE;
        if (id && id < GP_GPT_COLUMN_END && !columns[api][id].p)
            columns[api][id] = (struct gp_block_column){p, len, pred};
    }
    return true;
}

bool gp_block_columns(const struct gp_block_job *job, uint64_t mask[2])
{
    bool launch = job->header.kind == GP_GPT_LAUNCH;
    struct gp_block_column columns[2][GP_GPT_COLUMN_END];
    mask[0] = mask[1] = 0;
    if (!split_columns(job, columns, launch)) return false;
    for (int side = 0; side <= launch; side++)
        for (int id = 1; id < GP_GPT_COLUMN_END; id++)
            if (columns[side][id].p) mask[side] |= GP_COLUMN(gp_gpt_model_column[id]);
    return true;
}

static int inner_stream(struct gp_cursor *c, uint64_t *v, size_t n)
{
    uint64_t len = gp_cursor_varint(c);
    const uint8_t *p = gp_cursor_bytes(c, len);
    return p ? gp_stream_decode(v, n, p, len) : -1;
}

/* The two streams of a quantized column to differences in V. */
static int get_split(struct gp_block_decoder *d, struct gp_cursor *c, bool is_signed, uint64_t *v)
{
    uint64_t quantum = gp_cursor_varint(c);
    if (inner_stream(c, v, d->n)) return -1;
    if (gp_stream_decode(d->extra, d->n, c->p, (size_t)(c->end - c->p))) return -1;
    for (size_t i = 0; i < d->n; i++) {
        uint64_t whole = is_signed ? (uint64_t)gp_unzigzag(v[i]) : v[i];
        v[i] = whole * quantum + (uint64_t)gp_unzigzag(d->extra[i]);
    }
    return 0;
}

/* Decode a dictionary column: local numbers and their count; the values of the file go to d->dict. */
static int get_dict(struct gp_block_decoder *d, const struct side *s, const struct gp_block_column *col,
                    uint32_t *local, uint32_t *ndict)
{
    const uint32_t *context = NULL;
    if (col->pred != GP_PRED_DICT) {
        context = col->pred == GP_PRED_DICT_KEYED ? s->key : s->config;
        if (!context || context == local) return -1;
    }
    struct gp_cursor c = {col->p, col->p + col->len, false};
    uint64_t n = gp_cursor_varint(&c), last = 0;
    if (c.bad || !n || n > d->n || inner_stream(&c, d->dict, (size_t)n)) return -1;
    for (uint64_t i = 0; i < n; i++) d->dict[i] = last += (uint64_t)gp_unzigzag(d->dict[i]);
    *ndict = (uint32_t)n;
    if (n == 1) {
        memset(local, 0, d->n * sizeof *local);
        return 0;
    }
    if (gp_stream_decode(d->extra, d->n, c.p, (size_t)(c.end - c.p))) return -1;
    return gp_dict_inverse(d->extra, d->n, *ndict, context, local, d->succ, d->n + 1);
}

static bool is_dict(unsigned pred)
{
    return pred == GP_PRED_DICT || pred == GP_PRED_DICT_KEYED || pred == GP_PRED_DICT_CONFIG;
}

/* Does the block have the columns that the predictor refers to? Sets the key that the predictor uses. */
static bool predictor_fits(const struct side *s, enum gp_gpt_predictor pred, struct gp_pred_rows *r)
{
    switch (pred) {
    case GP_PRED_KEYED:
    case GP_PRED_FLOAT:
        r->key = s->key;
        r->nstate = s->nkeys;
        return true;
    case GP_PRED_KEYED_CONFIG:
        r->key = s->config;
        r->nstate = s->nconfigs;
        return s->config;
    case GP_PRED_OTHER:
    case GP_PRED_CONFIG_NAME: return r->other;
    case GP_PRED_TRACK_END:
    case GP_PRED_TRACK_START: return r->track && r->dur;
    case GP_PRED_LAUNCH: return r->track && r->dur && r->launch;
    default: return pred < GP_PRED_COUNT;
    }
}

/* Decode any column of side S into V, as numbers of the file. R: other columns that the predictors may
 * need. */
static int get_column(struct gp_block_decoder *d, const struct side *s, const struct gp_block_column *col,
                      struct gp_pred_rows *r, uint64_t *v)
{
    struct gp_cursor c = {col->p, col->p + col->len, false};
    enum gp_gpt_predictor pred = col->pred & ~GP_PRED_QUANTUM;
    r->n = d->n;
    r->state = d->state;
    if (is_dict(col->pred)) {
        uint32_t ndict;
        if (get_dict(d, s, col, d->local, &ndict)) return -1;
        for (size_t i = 0; i < d->n; i++) v[i] = d->dict[d->local[i]];
        return 0;
    }
    if (!predictor_fits(s, pred, r)) return -1;
    if (pred == GP_PRED_LAUNCH) {
        r->gap = gp_unzigzag(gp_cursor_varint(&c));
        r->latency = gp_unzigzag(gp_cursor_varint(&c));
    }
    bool zigzag = gp_pred_is_signed(pred), split = col->pred & GP_PRED_QUANTUM;
    if (c.bad || (split && pred == GP_PRED_LAST)) return -1;
    if (split ? get_split(d, &c, zigzag, v) : gp_stream_decode(v, d->n, c.p, (size_t)(c.end - c.p)))
        return -1;
    gp_pred_inverse(pred, r, v, v, zigzag && !split);
    return 0;
}

/* ---- rows ---- */

static void store(const struct side *s, enum gp_column col, const uint64_t *v, size_t n)
{
    void *cells = s->to ? gp_events_column(s->to, col) : NULL;
    if (!cells) return;
    if (gp_column_infos[col].width == 8) {
        memcpy((uint64_t *)cells + s->row, v, n * sizeof *v);
    } else {
        uint32_t *to = (uint32_t *)cells + s->row;
        for (size_t i = 0; i < n; i++) to[i] = (uint32_t)v[i];
    }
}

/* Set all rows of a column to one value. */
static void store_same(const struct side *s, enum gp_column col, uint64_t v, size_t n)
{
    void *cells = s->to ? gp_events_column(s->to, col) : NULL;
    if (!cells) return;
    if (gp_column_infos[col].width == 8)
        for (size_t i = 0; i < n; i++) ((uint64_t *)cells)[s->row + i] = v;
    else
        for (size_t i = 0; i < n; i++) ((uint32_t *)cells)[s->row + i] = (uint32_t)v;
}

/* The numbers V of the file become numbers of the trace. Of the references only waiter can be none. */
static void map_cells(struct gp_block_decoder *d, enum gp_column col, uint64_t *v, size_t n)
{
    int type = gp_gpt_column_type[col];
    if (col != GP_COL_WAITER) d->missing |= gp_gpt_map_values(d->job, d->trace, d->define, type, v, n);
    else
        for (size_t i = 0; i < n; i++)
            if (v[i] != gp_gpt_default(col))
                d->missing |= gp_gpt_map_values(d->job, d->trace, d->define, type, &v[i], 1);
}

/* A reference column as dictionary: local numbers to LOCAL, mapped values to the table. */
static int get_reference(struct gp_block_decoder *d, struct side *s, enum gp_column col, uint32_t *local,
                         uint32_t *nlocal)
{
    const struct gp_block_column *c = &s->column[gp_gpt_column_id[col]];
    *nlocal = 1;
    if (!c->p) {
        uint64_t none = gp_gpt_default(col);
        if (local) memset(local, 0, d->n * sizeof *local);
        map_cells(d, col, &none, 1);
        store_same(s, col, none, d->n);
        return 0;
    }
    if (!is_dict(c->pred)) {
        struct gp_pred_rows r = {.dflt = gp_gpt_default(col)};
        if (local || get_column(d, s, c, &r, d->values)) return -1;
        map_cells(d, col, d->values, d->n);
        store(s, col, d->values, d->n);
        return 0;
    }
    if (!local) local = d->local;
    if (get_dict(d, s, c, local, nlocal)) return -1;
    map_cells(d, col, d->dict, *nlocal);
    if (*nlocal == 1) {
        store_same(s, col, d->dict[0], d->n);
        return 0;
    }
    void *cells = s->to ? gp_events_column(s->to, col) : NULL;
    if (!cells) return 0;
    uint32_t *to = (uint32_t *)cells + s->row;
    for (size_t i = 0; i < d->n; i++) to[i] = (uint32_t)d->dict[local[i]];
    return 0;
}

/* Where the cells of an 8-byte column go, so that they are decoded in place: the table, or SCRATCH. */
static uint64_t *place(const struct side *s, enum gp_column col, uint64_t *scratch)
{
    uint64_t *cells = s->to ? gp_events_column(s->to, col) : NULL;
    return cells ? cells + s->row : scratch;
}

static int get_times(struct gp_block_decoder *d, struct side *s, const uint64_t *launch)
{
    struct gp_pred_rows r = {0};
    const struct gp_block_column *c = &s->column[2];
    int i = (int)(s - d->side);
    s->start = place(s, GP_COL_START, d->wide[2 * i]);
    s->dur = place(s, GP_COL_DUR, d->wide[2 * i + 1]);
    if (!c->p) memset(s->dur, 0, d->n * sizeof *s->dur);
    else if (get_column(d, s, c, &r, s->dur)) return -1;
    uint64_t signs = 0;
    for (size_t k = 0; k < d->n; k++) signs |= s->dur[k];
    if (signs >> 63) return -1;
    uint64_t base = d->job->header.base_ns;
    r = (struct gp_pred_rows){
        .first = base, .track = s->track, .nstate = s->ntracks, .dur = s->dur, .launch = launch};
    c = &s->column[1];
    int rc = c->p ? get_column(d, s, c, &r, s->start) : 0;
    for (size_t k = 0; !c->p && k < d->n; k++) s->start[k] = base;
    for (size_t k = 0; !rc && s->to && k < d->n; k++) {
        d->far |= !gp_time_fits((int64_t)s->start[k]);
        d->long_ones |= s->dur[k] > GP_DURATION_MOST;
    }
    return rc;
}

/* While entries are missing, a config may be a number without meaning. */
static gp_sid config_name(const struct gp_trace *t, uint32_t config)
{
    return config < t->configs.n ? t->configs.at[config].name : 0;
}

/* Names of GPU events: those of their configs, unless the block has others. Needs the local config
 * numbers. */
static int get_gpu_names(struct gp_block_decoder *d, struct side *s)
{
    const struct gp_events *e = s->to;
    const struct gp_block_column *c = &s->column[4];
    if (!e) return 0;
    const uint32_t *config = e->config + s->row;
    if (!c->p) {
        for (size_t i = 0; i < d->n; i++) e->name[s->row + i] = config_name(d->trace, config[i]);
        return 0;
    }
    /* the names of the configs as numbers of the file */
    const struct gp_block_column *cc = &s->column[5];
    uint32_t ndict;
    if (cc->p) {
        if (get_dict(d, s, cc, d->local, &ndict)) return -1;
        for (size_t i = 0; i < d->n; i++) d->values[i] = d->dict[d->local[i]];
    } else {
        memset(d->values, 0, d->n * sizeof *d->values);
    }
    uint64_t *other = d->other;
    uint32_t *lost = d->narrow[4]; /* 1: the name is unknown */
    for (size_t i = 0; i < d->n; i++) {
        uint32_t name = gp_id_map_get(&d->job->names->config_names, d->values[i]);
        lost[i] = name == GP_ID_MISSING;
        other[i] = lost[i] ? 0 : name;
    }
    struct gp_pred_rows r = {.other = other};
    if (get_column(d, s, c, &r, d->values)) return -1;
    d->missing |= gp_gpt_map_values(d->job, d->trace, d->define, GP_GPT_STRING, d->values, d->n);
    store(s, GP_COL_NAME, d->values, d->n);
    bool from_config = (c->pred & ~GP_PRED_QUANTUM) == GP_PRED_CONFIG_NAME;
    for (size_t i = 0; from_config && i < d->n; i++)
        if (lost[i]) e->name[s->row + i] = config_name(d->trace, config[i]);
    return 0;
}

/* Do all rows of a column have one value, as far as is known without decoding it? */
static bool is_uniform(const struct gp_block_column *c, uint64_t dflt, uint64_t *value)
{
    bool zero = c->len == 1 && c->p[0] == GP_STREAM_ZERO;
    struct gp_cursor cursor = {c->p + 1, c->p + c->len, false};
    *value = c->pred == GP_PRED_LAST ? dflt : 0;
    if (zero) return c->pred == GP_PRED_PLAIN || c->pred == GP_PRED_LAST || c->pred == GP_PRED_KEYED;
    if (c->pred != GP_PRED_PLAIN || c->len < 2 || c->p[0] != GP_STREAM_CONST) return false;
    *value = gp_cursor_varint(&cursor);
    return !cursor.bad && cursor.p == cursor.end;
}

/* A column of numbers that no other column depends on. On the GPU side of a launch block, correlation and
 * external ids are those of the call unless the block has others. */
static int get_number(struct gp_block_decoder *d, struct side *s, const struct side *api, enum gp_column col)
{
    const struct gp_block_column *c = &s->column[gp_gpt_column_id[col]];
    struct gp_pred_rows r = {.dflt = gp_gpt_default(col)};
    bool shared = api && (col == GP_COL_CORR || col == GP_COL_EXT);
    if (shared || (api && (c->pred & ~GP_PRED_QUANTUM) == GP_PRED_OTHER)) {
        const struct gp_block_column *other = &api->column[gp_gpt_column_id[col]];
        if (other->p && get_column(d, api, other, &r, d->other)) return -1;
        for (size_t i = 0; !other->p && i < d->n; i++) d->other[i] = gp_gpt_default(col);
        r.other = d->other;
    }
    if (!c->p && shared) store(s, col, d->other, d->n);
    else if (!c->p) store_same(s, col, gp_gpt_default(col), d->n);
    if (!c->p) return 0;
    uint64_t same;
    if (is_uniform(c, r.dflt, &same)) {
        store_same(s, col, same, d->n);
        return 0;
    }
    uint64_t *to = gp_column_infos[col].width == 8 ? place(s, col, d->values) : d->values;
    if (get_column(d, s, c, &r, to)) return -1;
    if (to == d->values) store(s, col, to, d->n);
    return 0;
}

static int get_key(struct gp_block_decoder *d, struct side *s)
{
    return get_reference(d, s, s->table == GP_GPU ? GP_COL_CONFIG : GP_COL_NAME, s->key, &s->nkeys);
}

static int get_side(struct gp_block_decoder *d, struct side *s, const struct side *api)
{
    if (!api && get_key(d, s)) return -1;
    if (get_reference(d, s, GP_COL_TRACK, s->track, &s->ntracks)) return -1;
    if (get_times(d, s, api ? api->start : NULL)) return -1;
    if (!s->to) return 0;
    if (s->table == GP_GPU && get_gpu_names(d, s)) return -1;
    for (int id = 6; id < GP_GPT_COLUMN_END; id++) {
        enum gp_column col = (enum gp_column)gp_gpt_model_column[id];
        uint32_t nlocal;
        if (!gp_events_column(s->to, col)) continue;
        int type = gp_gpt_column_type[col];
        bool reference = type == GP_GPT_STRING || type == GP_GPT_STACK_REF || type == GP_GPT_TRACK_REF;
        if (reference ? get_reference(d, s, col, NULL, &nlocal) : get_number(d, s, api, col)) return -1;
        if (col == GP_COL_ID && s->table == GP_SAMPLE)
            d->missing |=
                gp_gpt_map_values(d->job, d->trace, d->define, GP_GPT_STACK_REF, s->to->id + s->row, d->n);
    }
    return 0;
}

/* ---- values of metrics ---- */

bool gp_block_metric_set(const struct gp_block_job *job, const struct gp_trace *t, uint32_t *set)
{
    struct gp_block_column columns[2][GP_GPT_COLUMN_END];
    uint64_t number = 0;
    if (!split_columns(job, columns, false)) return false;
    const struct gp_block_column *c = &columns[0][gp_gpt_column_id[GP_COL_SET]];
    if (c->p && !is_uniform(c, 0, &number)) return false;
    *set = gp_id_map_get(&job->names->metric_sets, number);
    return *set < t->metric_sets.n;
}

static void split_values(const struct gp_block_job *job, struct gp_block_column columns[GP_METRICS_MOST])
{
    struct gp_cursor c = {job->payload, job->payload + job->header.raw_len, false};
    memset(columns, 0, GP_METRICS_MOST * sizeof *columns);
    while (c.p < c.end) {
        unsigned id = gp_cursor_u8(&c);
        uint8_t pred = gp_cursor_u8(&c);
        uint64_t len = gp_cursor_varint(&c);
        const uint8_t *p = gp_cursor_bytes(&c, len);
        if (c.bad) return; /* split_columns() has accepted it */
        unsigned m = id - GP_GPT_VALUES;
        if (id >= GP_GPT_VALUES && m < GP_METRICS_MOST && !columns[m].p)
            columns[m] = (struct gp_block_column){p, len, pred};
    }
}

/* The values of the block's rows, a row's side by side; those without a column are not numbers. */
static int get_values(struct gp_block_decoder *d, struct side *s)
{
    struct gp_block_column columns[GP_METRICS_MOST];
    uint32_t set, nlocal;
    if (!s->to) return 0;
    if (get_reference(d, s, GP_COL_CONFIG, NULL, &nlocal)) return -1;
    if (!gp_block_metric_set(d->job, d->trace, &set)) return -1;
    split_values(d->job, columns);
    uint32_t n = d->trace->metric_sets.at[set].n;
    double *to = GP_VEC_FROM(&d->trace->metric_values, d->job->value);
    for (uint32_t m = 0; m < n; m++) {
        struct gp_pred_rows r = {.dflt = 0};
        if (columns[m].p && get_column(d, s, &columns[m], &r, d->values)) return -1;
        for (size_t i = 0; columns[m].p && i < d->n; i++) memcpy(&to[i * n + m], &d->values[i], sizeof *to);
        for (size_t i = 0; !columns[m].p && i < d->n; i++) to[i * n + m] = NAN;
    }
    for (size_t i = 0; i < d->n; i++) {
        s->to->set[s->row + i] = set;
        s->to->values[s->row + i] = d->job->value + i * n;
    }
    return 0;
}

static void side_init(struct gp_block_decoder *d, int i, enum gp_table table)
{
    struct side *s = &d->side[i];
    bool needed = d->trace->need & GP_NEED(table);
    s->to = needed ? &d->trace->events[table] : NULL;
    s->table = table;
    s->row = d->job->row[i];
    s->config = NULL;
}

enum gp_block_result gp_block_get_events(struct gp_block_decoder *d, const struct gp_block_job *job,
                                         struct gp_trace *t, bool define)
{
    struct gp_block_column columns[2][GP_GPT_COLUMN_END];
    bool launch = job->header.kind == GP_GPT_LAUNCH;
    d->job = job;
    d->trace = t;
    d->n = job->header.nrec;
    d->define = define;
    d->missing = d->far = d->long_ones = false;
    make_room(d, d->n);
    if (!split_columns(job, columns, launch)) return GP_BLOCK_BAD;
    side_init(d, 0, launch ? GP_GPU : (enum gp_table)gp_gpt_model_table[job->header.kind - GP_GPT_EVENTS]);
    memcpy(d->side[0].column, columns[0], sizeof columns[0]);
    if (launch) {
        side_init(d, 1, GP_API);
        memcpy(d->side[1].column, columns[1], sizeof columns[1]);
        if (get_key(d, &d->side[0])) return GP_BLOCK_BAD;
        d->side[1].config = d->side[0].key;
        d->side[1].nconfigs = d->side[0].nkeys;
        if (get_side(d, &d->side[1], NULL)) return GP_BLOCK_BAD;
    }
    if (get_side(d, &d->side[0], launch ? &d->side[1] : NULL)) return GP_BLOCK_BAD;
    if (d->side[0].table == GP_METRIC && get_values(d, &d->side[0])) return GP_BLOCK_BAD;
    return d->missing ? GP_BLOCK_NAMES : GP_BLOCK_OK;
}

bool gp_block_bad_times(const struct gp_block_decoder *d, enum gp_issue_kind kind)
{
    return kind == GP_Q_BAD_TIME ? d->far : kind == GP_Q_BAD_DURATION && d->long_ones;
}
