/* Dictionaries, metadata and issues; entries in place of those that are not defined. */
#include "formats/gpt/gpt_decode_priv.h"

#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/model/metric.h"

enum { LOST_MOST = 10000, MAX_FIELDS = 32 };

void gp_gpt_names_release(struct gp_gpt_names *names)
{
    GP_RELEASE(free, names->strings.at, names->processes.at, names->tracks.at, names->configs.at,
               names->config_names.at, names->devices.at, names->losses.at, names->clocks.at, names->nodes.at,
               names->metric_sets.at, names->stacks.at, names->symbols.at, names->paces.at);
    GP_VEC_FREE(&names->native);
    memset(names, 0, sizeof *names);
}

static void map_set(struct gp_id_map *m, uint64_t id, uint32_t to)
{
    if (id >= m->n) {
        if (id >= m->cap) {
            m->cap = id + id / 2 + 64;
            m->at = gp_realloc(m->at, m->cap * sizeof *m->at);
        }
        memset(m->at + m->n, 0xff, (id + 1 - m->n) * sizeof *m->at);
        m->n = id + 1;
    }
    m->at[id] = to;
}

/* ---- undefined entries ---- */

/* "[lost name 7]"; after many of them, which damage can cause at no cost, just "[lost name]". */
static gp_sid lost_name(struct gp_trace *t, struct gp_gpt_names *names, const char *what, uint64_t id)
{
    struct gp_buf b = {0};
    if (names->lost++ < LOST_MOST) gp_buf_printf(&b, "[lost %s %llu]", what, (unsigned long long)id);
    else gp_buf_printf(&b, "[lost %s]", what);
    gp_sid sid = gp_trace_intern(t, b.data, b.n);
    gp_buf_release(&b);
    return sid;
}

static uint32_t lost_process(struct gp_trace *t, struct gp_gpt_names *names, uint64_t id)
{
    struct gp_process p = gp_process_unknown();
    p.producer = names->producer;
    p.pid_text = p.name = lost_name(t, names, "process", id);
    return gp_trace_process(t, &p);
}

static uint32_t lost_track(struct gp_trace *t, struct gp_gpt_names *names, uint64_t id)
{
    struct gp_track k = gp_track_unknown();
    k.kind = GP_TRACK_OTHER;
    k.process = lost_process(t, names, 0);
    k.tid_text = k.name = lost_name(t, names, "track", id);
    return gp_trace_track(t, &k);
}

static uint32_t lost_config(struct gp_trace *t, struct gp_gpt_names *names, uint64_t id)
{
    struct gp_config c = {.name = lost_name(t, names, "config", id)};
    return gp_trace_config(t, &c);
}

static uint32_t lost_entry(struct gp_trace *t, struct gp_gpt_names *names, int type, uint64_t id)
{
    switch (type) {
    case GP_GPT_TRACK_REF: return lost_track(t, names, id);
    case GP_GPT_CONFIG_REF: return lost_config(t, names, id);
    case GP_GPT_PROCESS_REF: return lost_process(t, names, id);
    default: return lost_name(t, names, "name", id);
    }
}

static const struct gp_id_map *map_of(const struct gp_gpt_names *names, int type)
{
    switch (type) {
    case GP_GPT_STRING: return &names->strings;
    case GP_GPT_TRACK_REF: return &names->tracks;
    case GP_GPT_CONFIG_REF: return &names->configs;
    case GP_GPT_PROCESS_REF: return &names->processes;
    case GP_GPT_STACK_REF: return &names->stacks;
    default: return NULL;
    }
}

/* Numbers of the file to numbers of the trace, in place. Files need not define the empty string. */
bool gp_gpt_map_values(const struct gp_block_job *job, struct gp_trace *t, bool define, int type, uint64_t *v,
                       size_t n)
{
    struct gp_gpt_names *names = job->names;
    bool missing = false;
    const struct gp_id_map *m = map_of(names, type);
    for (size_t i = 0; m && i < n; i++) {
        uint64_t id = v[i];
        uint32_t to = gp_id_map_get(m, id);
        if (GP_UNLIKELY(to == GP_ID_MISSING)) {
            if (type == GP_GPT_STRING && !id) to = 0;
            else if (type == GP_GPT_PROCESS_REF && id == UINT32_MAX && job->header.kind == GP_GPT_LOSS)
                to = UINT32_MAX;                       /* of no process */
            else if (type == GP_GPT_STACK_REF) to = 0; /* none, or lost: then the sample has no stack */
            else if (define) to = lost_entry(t, names, type, id);
            else missing = true, to = 0;
        }
        v[i] = to;
    }
    return missing;
}

/* ---- blocks ---- */

/* The columns of a small block as stored: id -> bytes. */
static int small_columns(const struct gp_block_job *job, struct gp_block_column columns[MAX_FIELDS])
{
    struct gp_cursor c = {job->payload, job->payload + job->header.raw_len, false};
    memset(columns, 0, MAX_FIELDS * sizeof *columns);
    while (c.p < c.end) {
        uint8_t id = gp_cursor_u8(&c), pred = gp_cursor_u8(&c);
        uint64_t len = gp_cursor_varint(&c);
        const uint8_t *p = gp_cursor_bytes(&c, len);
        if (c.bad) return -1;
        if (id < MAX_FIELDS && !columns[id].p) columns[id] = (struct gp_block_column){p, len, pred};
    }
    return 0;
}

/* N numbers of column C, DFLT if it is absent. */
static int small_values(const struct gp_block_column *c, uint64_t dflt, uint64_t *v, size_t n)
{
    for (size_t i = 0; !c->p && i < n; i++) v[i] = dflt;
    if (!c->p) return 0;
    if (c->pred > GP_PRED_DELTA || gp_stream_decode(v, n, c->p, c->len)) return -1;
    for (size_t i = 0, last = 0; c->pred == GP_PRED_DELTA && i < n; i++)
        v[i] = last += (uint64_t)gp_unzigzag(v[i]);
    return 0;
}

/* The texts of a block: lengths in column LEN_ID, bytes in column TEXT_ID. Returns the bytes, or NULL. */
static const char *small_texts(const struct gp_block_column *columns, int len_id, int text_id,
                               uint64_t *lengths, size_t n)
{
    const struct gp_block_column *text = &columns[text_id];
    if (!text->p || small_values(&columns[len_id], 0, lengths, n)) return NULL;
    size_t left = text->len;
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] > left) return NULL;
        left -= lengths[i];
    }
    return left ? NULL : (const char *)text->p;
}

static int get_strings(const struct gp_block_job *job, const struct gp_block_column *columns, uint64_t *v,
                       struct gp_trace *t)
{
    size_t n = job->header.nrec;
    const char *p = small_texts(columns, 1, 2, v, n);
    if (!p) return -1;
    for (size_t i = 0; i < n; p += v[i++])
        map_set(&job->names->strings, job->header.base_ns + i, gp_trace_intern(t, p, v[i]));
    return 0;
}

static int get_issues(const struct gp_block_job *job, const struct gp_block_column *columns, uint64_t *v,
                      struct gp_trace *t)
{
    size_t n = job->header.nrec;
    const char *p = small_texts(columns, 1, 2, v, n);
    uint64_t *counts = gp_alloc(n * sizeof *counts);
    int rc = p ? small_values(&columns[3], 0, counts, n) : -1;
    for (size_t i = 0; !rc && i < n; p += v[i++])
        for (int k = 0; k < GP_ISSUE_COUNT; k++) {
            const char *name = gp_issue_name((enum gp_issue_kind)k);
            if (strlen(name) == v[i] && !memcmp(name, p, v[i]))
                gp_trace_issue(t, (enum gp_issue_kind)k, counts[i], -1);
        }
    free(counts);
    return rc;
}

static int get_info(const struct gp_block_column *columns, struct gp_trace *t)
{
    uint64_t rank, world_size;
    if (small_values(&columns[1], 1, &rank, 1) || small_values(&columns[2], 1, &world_size, 1)) return -1;
    if (t->rank < 0) t->rank = (int32_t)gp_unzigzag(rank);
    if (t->world_size < 0) t->world_size = (int32_t)gp_unzigzag(world_size);
    return 0;
}

/* Entry ID of a producer goes where it was, or to the end. */
#define PUT_ENTRY(vec, map, id, ...)                                                                         \
    do {                                                                                                     \
        uint32_t gp_at_ = gp_id_map_get((map), (id));                                                        \
        if (gp_at_ == GP_ID_MISSING) {                                                                       \
            map_set((map), (id), (uint32_t)(vec)->n);                                                        \
            GP_VEC_PUSH((vec), __VA_ARGS__);                                                                 \
        } else {                                                                                             \
            (vec)->at[gp_at_] = (__VA_ARGS__);                                                               \
        }                                                                                                    \
    } while (0)

/* A kind that is unknown to this version, or invalid. */
static void bound_kind(const struct gp_block_job *job, uint32_t *kind, uint32_t most, uint32_t instead,
                       struct gp_trace *t)
{
    if (*kind <= most) return;
    *kind = instead;
    gp_trace_issue(t, GP_Q_BAD_VALUE, 1, job->offset);
}

/* Parents come first, in the file and in the trace. Entry 0 is none. An entry that is written again stays
 * what it was: others build on it. */
static void add_stack(struct gp_gpt_names *names, uint64_t id, const struct gp_stack *s, struct gp_trace *t)
{
    struct gp_stack own = *s;
    if (!id || gp_id_map_get(&names->stacks, id) != GP_ID_MISSING) return;
    if (!t->stacks.n) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    own.parent = id > s->parent ? gp_id_map_get(&names->stacks, s->parent) : 0;
    if (own.parent == GP_ID_MISSING) own.parent = 0;
    map_set(&names->stacks, id, (uint32_t)t->stacks.n);
    if (own.symbol) GP_VEC_PUSH(&names->native, (uint32_t)t->stacks.n);
    GP_VEC_PUSH(&t->stacks, own);
}

static void add_symbol(struct gp_gpt_names *names, uint64_t id, const struct gp_symbol *s, struct gp_trace *t)
{
    if (!t->symbols.n) GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
    if (id) PUT_ENTRY(&t->symbols, &names->symbols, id, *s);
}

static void add_pace(const struct gp_block_job *job, uint64_t id, const struct gp_pace *p, struct gp_trace *t)
{
    bool sound = gp_time_fits(p->start_ns) && p->dur_ns >= 0 && p->dur_ns <= GP_DURATION_MOST;
    if (!sound || p->how > GP_PACE_PAUSE) gp_trace_issue(t, GP_Q_BAD_VALUE, 1, job->offset);
    else PUT_ENTRY(&t->paces, &job->names->paces, id, *p);
}

/* Put one decoded struct into the trace and remember its number. */
static void add_entry(const struct gp_block_job *job, uint64_t id, void *entry, struct gp_trace *t)
{
    struct gp_gpt_names *names = job->names;
    uint32_t at;
    switch (job->header.kind) {
    case GP_GPT_PROCESS: {
        struct gp_process *p = entry;
        p->producer += names->producer;
        at = gp_trace_process(t, p);
        t->processes.at[at] = *p;
        map_set(&names->processes, id, at);
        break;
    }
    case GP_GPT_TRACK:
        bound_kind(job, &((struct gp_track *)entry)->kind, GP_TRACK_OTHER, GP_TRACK_OTHER, t);
        at = gp_trace_track(t, entry);
        t->tracks.at[at] = *(struct gp_track *)entry;
        map_set(&names->tracks, id, at);
        break;
    case GP_GPT_CONFIG:
        bound_kind(job, &((struct gp_config *)entry)->kind, GP_MEMSET, GP_KERNEL, t);
        map_set(&names->configs, id, gp_trace_config(t, entry));
        break;
    case GP_GPT_DEVICE: {
        struct gp_device *v = entry;
        v->producer += names->producer;
        PUT_ENTRY(&t->devices, &names->devices, id, *v);
        break;
    }
    case GP_GPT_META: {
        struct gp_meta *m = entry;
        gp_trace_set_meta(t, gp_trace_str(t, m->key), gp_trace_str(t, m->value),
                          gp_string_len(&t->strings, m->value));
        break;
    }
    case GP_GPT_LOSS: PUT_ENTRY(&t->losses, &names->losses, id, *(struct gp_loss *)entry); break;
    case GP_GPT_CLOCK: {
        struct gp_clock *c = entry;
        c->producer += names->producer;
        PUT_ENTRY(&t->clocks, &names->clocks, id, *c);
        break;
    }
    case GP_GPT_NODES: {
        struct gp_node_run *r = entry;
        r->producer += names->producer;
        PUT_ENTRY(&t->node_runs, &names->nodes, id, *r);
        break;
    }
    case GP_GPT_STACKS: add_stack(names, id, entry, t); break;
    case GP_GPT_SYMBOLS: add_symbol(names, id, entry, t); break;
    case GP_GPT_PACE: add_pace(job, id, entry, t); break;
    default: break;
    }
}

/* A set is one block; enumerators that a reader does not know are made harmless. */
static void add_metric_set(const struct gp_block_job *job, struct gp_metric *metrics, struct gp_trace *t)
{
    size_t n = job->header.nrec < GP_METRICS_MOST ? job->header.nrec : GP_METRICS_MOST;
    for (size_t i = 0; i < n; i++) {
        bound_kind(job, &metrics[i].type, GP_METRIC_THROUGHPUT, GP_METRIC_COUNTER, t);
        bound_kind(job, &metrics[i].reduce, GP_REDUCE_MIN, GP_REDUCE_MEAN, t);
    }
    map_set(&job->names->metric_sets, job->header.base_ns, gp_trace_metric_set(t, metrics, n));
}

static int get_dictionary(const struct gp_block_job *job, const struct gp_gpt_dict *dict,
                          const struct gp_block_column *columns, uint64_t *v, struct gp_trace *t)
{
    size_t n = job->header.nrec;
    char *entries = gp_zalloc(n * dict->size);
    int rc = 0;
    for (size_t f = 0; !rc && f < dict->nfields; f++) {
        const struct gp_gpt_field *field = &dict->fields[f];
        rc = small_values(&columns[field->id], field->dflt, v, n);
        if (rc) break;
        if (job->header.kind == GP_GPT_CONFIG && field->id == 1)
            for (size_t i = 0; i < n; i++)
                map_set(&job->names->config_names, job->header.base_ns + i, (uint32_t)v[i]);
        /* An absent column means the producer's process 0, which need not be process 0 of the trace. */
        bool process = field->type == GP_GPT_PROCESS_REF;
        /* which may be in this block: mapped entry by entry */
        bool parent = field->type == GP_GPT_STACK_REF && dict == &gp_gpt_stacks_dict;
        if ((columns[field->id].p || process) && !parent) gp_gpt_map_values(job, t, true, field->type, v, n);
        for (size_t i = 0; i < n; i++) gp_gpt_field_set(field, entries + i * dict->size, v[i]);
    }
    bool set = dict == &gp_gpt_metric_dict;
    if (!rc && set) add_metric_set(job, (struct gp_metric *)(void *)entries, t);
    for (size_t i = 0; !rc && !set && i < n; i++)
        add_entry(job, job->header.base_ns + i, entries + i * dict->size, t);
    free(entries);
    return rc;
}

int gp_block_get_small(const struct gp_block_job *job, uint64_t limit, struct gp_trace *t)
{
    struct gp_block_column columns[MAX_FIELDS];
    uint64_t n = job->header.nrec;
    int rc = 0;
    if (!n) return 0;
    if (job->header.base_ns > limit || n > limit - job->header.base_ns || small_columns(job, columns))
        return -1;
    uint64_t *v = gp_alloc(n * sizeof *v);
    switch (job->header.kind) {
    case GP_GPT_INFO: rc = get_info(columns, t); break;
    case GP_GPT_STRINGS: rc = get_strings(job, columns, v, t); break;
    case GP_GPT_ISSUE: rc = get_issues(job, columns, v, t); break;
    default:
        for (size_t i = 0; i < GP_GPT_DICTS; i++)
            if (gp_gpt_dicts[i]->kind == job->header.kind)
                rc = get_dictionary(job, gp_gpt_dicts[i], columns, v, t);
    }
    free(v);
    return rc;
}
