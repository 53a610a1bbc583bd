#include <stdlib.h>
#include <string.h>
#include "formats/base/str.h"
#include "formats/chrome/chrome_priv.h"

void gp_chrome_merge_begin(struct gp_chrome_merge *m, struct gp_trace *t)
{
    memset(m, 0, sizeof *m);
    m->t = t;
    m->last_ns = INT64_MIN;
    gp_trace_init(&m->tracks, 0);
    for (int i = 0; i < GP_TABLE_COUNT; i++) m->first_row[i] = t->events[i].n;
}

/* ---- numbers of a parser to numbers of the trace ---- */

void gp_chrome_map_release(struct gp_chrome_map *map)
{
    GP_RELEASE(gp_vec_free, &map->strings, &map->configs, &map->processes, &map->tracks);
}

#define EXTEND(v, want)                                                                                      \
    do {                                                                                                     \
        GP_VEC_RESERVE((v), (want));                                                                         \
        if ((v)->n < (want)) memset((v)->at + (v)->n, 0xff, ((want) - (v)->n) * sizeof *(v)->at);            \
        (v)->n = (want);                                                                                     \
    } while (0)

struct joining {
    struct gp_chrome_merge *m;
    const struct gp_chrome_parser *c;
    struct gp_chrome_map *map;
};

static gp_sid new_string(const struct joining *j, gp_sid sid)
{
    const struct gp_strings *s = &j->c->local.strings;
    return j->map->strings.at[sid] =
               gp_intern_hashed(&j->m->t->strings, s->at[sid], s->len[sid], s->hash[sid]);
}

static inline gp_sid string_of(const struct joining *j, gp_sid sid)
{
    uint32_t known = j->map->strings.at[sid];
    return GP_LIKELY(known != UINT32_MAX) ? known : new_string(j, sid);
}

static uint32_t frame_of(const struct joining *j, uint32_t id)
{
    return id & GP_CHROME_NUMBERED ? id : string_of(j, id);
}

static uint32_t process_of(const struct joining *j, uint32_t i)
{
    uint32_t *known = &j->map->processes.at[i];
    if (*known == UINT32_MAX) {
        struct gp_process p = j->c->local.processes.at[i];
        p.pid_text = string_of(j, p.pid_text);
        *known = gp_trace_process(j->m->t, &p);
    }
    return *known;
}

static inline uint32_t track_of(const struct joining *j, uint32_t i)
{
    uint32_t *known = &j->map->tracks.at[i];
    if (GP_UNLIKELY(*known == UINT32_MAX)) {
        struct gp_track k = j->c->local.tracks.at[i];
        k.process = process_of(j, k.process);
        k.tid_text = string_of(j, k.tid_text);
        *known = gp_trace_track(&j->m->tracks, &k);
    }
    return *known;
}

static inline uint32_t config_of(const struct joining *j, uint32_t i)
{
    uint32_t *known = &j->map->configs.at[i];
    if (GP_UNLIKELY(*known == UINT32_MAX)) {
        struct gp_config k = j->c->local.configs.at[i];
        k.name = string_of(j, k.name);
        k.cat = string_of(j, k.cat);
        k.extra = string_of(j, k.extra);
        *known = gp_trace_config(j->m->t, &k);
    }
    return *known;
}

/* ---- rows ---- */

enum meaning { AS_IS, STRINGS, TRACKS, WAITERS, CONFIGS, FRAMES };

static enum meaning meaning_of(int col)
{
    switch (col) {
    case GP_COL_NAME:
    case GP_COL_CAT:
    case GP_COL_ID_TEXT:
    case GP_COL_SERIES:
    case GP_COL_EXTRA:
    case GP_COL_CAPTURED: return STRINGS;
    case GP_COL_STACK: return FRAMES;
    case GP_COL_TRACK: return TRACKS;
    case GP_COL_WAITER: return WAITERS;
    case GP_COL_CONFIG: return CONFIGS;
    default: return AS_IS;
    }
}

static void copy_cells(const struct joining *j, int col, void *to, const struct gp_events *rows)
{
    size_t n = rows->n;
    const void *from = gp_events_column(rows, (enum gp_column)col);
    uint32_t *a = to;
    const uint32_t *b = from;
    switch (meaning_of(col)) {
    case STRINGS:
        for (size_t i = 0; i < n; i++) a[i] = string_of(j, b[i]);
        break;
    case TRACKS:
        for (size_t i = 0; i < n; i++) a[i] = track_of(j, b[i]);
        break;
    case WAITERS:
        for (size_t i = 0; i < n; i++) a[i] = b[i] == UINT32_MAX ? b[i] : track_of(j, b[i]);
        break;
    case FRAMES:
        for (size_t i = 0; i < n; i++) a[i] = frame_of(j, b[i]);
        break;
    case CONFIGS:
        /* among B and E events, only those of GPU work have one */
        for (size_t i = 0; i < n; i++) a[i] = gp_get_ret(rows, i) == GP_GPU ? config_of(j, b[i]) : 0;
        break;
    case AS_IS: memcpy(to, from, n * gp_column_infos[col].width); break;
    }
}

static void append_rows(const struct joining *j, struct gp_events *to, const struct gp_events *from)
{
    size_t n = to->n + from->n;
    if (!from->n) return;
    if (n > to->cap) gp_events_reserve(to, n > to->cap * 2 ? n : to->cap * 2);
    for (int col = 0; col < GP_COLUMN_COUNT; col++) {
        const void *src = gp_events_column(from, (enum gp_column)col);
        if (src) gp_events_materialise(to, (enum gp_column)col);
        char *dst = gp_events_column(to, (enum gp_column)col);
        if (!dst) continue;
        dst += to->n * gp_column_infos[col].width;
        if (src) copy_cells(j, col, dst, from);
        else {
            /* All columns have a default of all zeros or all ones. */
            memset(dst, gp_column_infos[col].dflt ? 0xff : 0, from->n * gp_column_infos[col].width);
        }
    }
    to->n = n;
}

void gp_chrome_merge_chunk(struct gp_chrome_merge *m, const struct gp_chrome_parser *c,
                           struct gp_chrome_map *map, struct gp_chrome_chunk *chunk)
{
    const struct joining j = {m, c, map};
    EXTEND(&map->strings, (size_t)c->local.strings.n);
    EXTEND(&map->configs, c->local.configs.n);
    EXTEND(&map->processes, c->local.processes.n);
    EXTEND(&map->tracks, c->local.tracks.n);
    for (int i = 0; i < GP_TABLE_COUNT; i++) append_rows(&j, &m->t->events[i], &chunk->events[i]);
    append_rows(&j, &m->open, &chunk->events[GP_CHROME_OPEN]);
    for (size_t i = 0; i < chunk->labels.n; i++) {
        struct gp_chrome_label label = chunk->labels.at[i];
        bool thread = label.what >= GP_CHROME_THREAD_NAME;
        label.where = thread ? track_of(&j, label.where) : process_of(&j, label.where);
        label.text = string_of(&j, label.text);
        GP_VEC_PUSH(&m->labels, label);
    }
    for (size_t i = 0; i < chunk->frames.n; i++) {
        struct gp_chrome_frame f = chunk->frames.at[i];
        gp_sid *const sids[] = {&f.name, &f.file, &f.module};
        f.id = frame_of(&j, f.id);
        f.parent = frame_of(&j, f.parent);
        for (size_t k = 0; k < GP_COUNT(sids); k++) *sids[k] = string_of(&j, *sids[k]);
        GP_VEC_PUSH(&m->frames, f);
    }
    for (size_t i = 0; i < chunk->meta.n; i++)
        gp_chrome_take_meta(m->t, gp_trace_str(&c->local, chunk->meta.at[i].key),
                            gp_trace_str(&c->local, chunk->meta.at[i].value),
                            gp_string_len(&c->local.strings, chunk->meta.at[i].value));
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        gp_trace_issue(m->t, (enum gp_issue_kind)i, chunk->issues[i].count, chunk->issues[i].first_offset);
    m->t->input.events += chunk->n_events;
    m->n_known += chunk->n_known;
    if (chunk->last_ns > m->last_ns) m->last_ns = chunk->last_ns;
    gp_chrome_chunk_clear(chunk);
}

/* ---- tracks ---- */

/* The (pid, tid) pairs behind the tracks that rows refer to. */
struct pairs {
    struct gp_trace trace; /* its tracks are the pairs */
    uint32_t *of_track;    /* by index of m->tracks */
    uint32_t *stream;      /* by pair: the track that identifies the stream; UINT32_MAX none */
    bool *is_stream;       /* by pair: has GPU events */
    uint32_t *final;       /* by index of m->tracks: index in the trace */
};

static bool is_qualified(const struct gp_track *k)
{
    return k->device != -1 || k->context != -1 || k->stream != -1;
}

static void pairs_find(struct pairs *p, const struct gp_chrome_merge *m)
{
    size_t n = m->tracks.tracks.n + 1;
    gp_trace_init(&p->trace, 0);
    p->of_track = gp_alloc(n * sizeof *p->of_track);
    p->stream = gp_alloc(n * sizeof *p->stream);
    p->is_stream = gp_zalloc(n * sizeof *p->is_stream);
    p->final = gp_alloc(n * sizeof *p->final);
    memset(p->stream, 0xff, n * sizeof *p->stream);
    for (uint32_t i = 0; i < m->tracks.tracks.n; i++) {
        const struct gp_track *k = &m->tracks.tracks.at[i];
        struct gp_track pair = gp_track_unknown();
        pair.process = k->process;
        pair.tid = k->tid;
        pair.tid_text = k->tid_text;
        uint32_t id = p->of_track[i] = gp_trace_track(&p->trace, &pair);
        if (k->kind == GP_TRACK_STREAM) p->is_stream[id] = true;
        if (!is_qualified(k)) continue;
        bool better =
            p->stream[id] != UINT32_MAX && m->tracks.tracks.at[p->stream[id]].stream < 0 && k->stream >= 0;
        if (p->stream[id] == UINT32_MAX || better) p->stream[id] = i;
    }
}

/* A pair without args that identify the stream: Kineto's rows are (device, stream). */
static struct gp_track guess_track(const struct gp_chrome_merge *m, const struct pairs *p, uint32_t i)
{
    struct gp_track k = m->tracks.tracks.at[i];
    const struct gp_process *process = &m->t->processes.at[k.process];
    if (p->is_stream[p->of_track[i]] || gp_starts(gp_trace_str(m->t, process->labels), "GPU")) {
        k.kind = GP_TRACK_STREAM;
        if (!process->pid_text && process->pid >= 0) k.device = process->pid;
        if (!k.tid_text && k.tid >= 0) k.stream = k.tid;
    } else {
        k.kind = process->pid_text || k.tid_text ? GP_TRACK_OTHER : GP_TRACK_THREAD;
    }
    return k;
}

static void resolve_tracks(struct gp_chrome_merge *m, struct pairs *p)
{
    for (uint32_t i = 0; i < m->tracks.tracks.n; i++) {
        uint32_t stream = p->stream[p->of_track[i]];
        const struct gp_track *k = &m->tracks.tracks.at[i];
        struct gp_track final = is_qualified(k)        ? *k
                                : stream != UINT32_MAX ? m->tracks.tracks.at[stream]
                                                       : guess_track(m, p, i);
        p->final[i] = gp_trace_track(m->t, &final);
    }
}

static void remap_tracks(struct gp_events *e, size_t from, const uint32_t *final)
{
    for (size_t i = from; i < e->n; i++) e->track[i] = final[e->track[i]];
    for (size_t i = from; e->waiter && i < e->n; i++)
        if (e->waiter[i] != UINT32_MAX) e->waiter[i] = final[e->waiter[i]];
}

/* ---- labels ---- */

static void label_process(struct gp_process *p, const struct gp_chrome_label *label)
{
    if (label->what == GP_CHROME_PROCESS_NAME) p->name = label->text;
    if (label->what == GP_CHROME_PROCESS_LABELS) p->labels = label->text;
    if (label->what == GP_CHROME_PROCESS_SORT) {
        p->sort_index = label->sort_index;
        p->has_sort_index = true;
    }
}

/* Names of threads are collected with the pairs, because several tracks can share one. */
static void label_tracks(struct gp_chrome_merge *m, struct pairs *p)
{
    GP_EACH(const struct gp_chrome_label, label, m->labels) {
        if (label->what < GP_CHROME_THREAD_NAME) continue;
        struct gp_track *pair = &p->trace.tracks.at[p->of_track[label->where]];
        if (label->what == GP_CHROME_THREAD_NAME) {
            pair->name = label->text;
        } else {
            pair->sort_index = label->sort_index;
            pair->has_sort_index = true;
        }
    }
    for (size_t i = 0; i < m->tracks.tracks.n; i++) {
        const struct gp_track *pair = &p->trace.tracks.at[p->of_track[i]];
        struct gp_track *k = &m->t->tracks.at[p->final[i]];
        k->name = pair->name;
        k->sort_index = pair->sort_index;
        k->has_sort_index = pair->has_sort_index;
    }
}

void gp_chrome_merge_end(struct gp_chrome_merge *m)
{
    struct pairs p;
    pairs_find(&p, m);
    GP_EACH(const struct gp_chrome_label, label, m->labels)
        if (label->what < GP_CHROME_THREAD_NAME) label_process(&m->t->processes.at[label->where], label);
    resolve_tracks(m, &p);
    label_tracks(m, &p);
    for (int i = 0; i < GP_TABLE_COUNT; i++) remap_tracks(&m->t->events[i], m->first_row[i], p.final);
    remap_tracks(&m->open, 0, p.final);
    gp_chrome_pair_spans(m->t, &m->open, m->last_ns);
    gp_chrome_take_stacks(m);
    if (m->t->need & GP_NEED_FEW_ARROWS && gp_trace_knows_calls(m->t)) {
        /* What identifies a launch if correlation ids do not. */
        gp_events_release(&m->t->events[GP_FLOW]);
        for (int i = 0; i < GP_TABLE_COUNT; i++) gp_events_drop(&m->t->events[i], GP_COL_EXT);
    }
    gp_trace_release(&p.trace);
    GP_RELEASE(free, p.of_track, p.stream, p.is_stream, p.final);
    gp_events_release(&m->open);
    gp_trace_release(&m->tracks);
    GP_VEC_FREE(&m->labels);
    GP_VEC_FREE(&m->frames);
}
