#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "formats/base/json_write.h"
#include "formats/base/scale.h"
#include "render/draw/palette.h"
#include "render/draw/text.h"
#include "render/timeline/timeline_priv.h"

int64_t gp_timeline_scale(const struct gp_tracks_counter *c)
{
    for (size_t i = 0; i < c->samples.n; i++) {
        double v = c->samples.at[i].value;
        if (v != rint(v)) return 1000;
    }
    return 1;
}

/* The head is written for one reader and never stored: members are documented where they are written. Times
 * are ns after the first event, sums and counts those of the whole trace. */

static void put_key(struct gp_buf *b, const char *key)
{
    if (b->data[b->n - 1] != '{') gp_buf_putc(b, ',');
    gp_buf_printf(b, "\"%s\":", key);
}

static void put_string(struct gp_buf *b, const char *key, const char *s, size_t n)
{
    put_key(b, key);
    gp_json_put_string(b, s, n);
}

/* A name fit to be read: invisible characters are shown. */
static void put_words(struct gp_buf *b, const char *key, const struct gp_strings *strings, gp_sid sid)
{
    struct gp_buf clean = {0};
    gp_text_clean(&clean, gp_string(strings, sid), gp_string_len(strings, sid));
    put_string(b, key, clean.data ? clean.data : "", clean.n);
    gp_buf_release(&clean);
}

static void put_i64(struct gp_buf *b, const char *key, int64_t v)
{
    put_key(b, key);
    gp_buf_put_i64(b, v);
}

static void put_time(struct gp_buf *b, const char *key, const struct gp_timeline *tl, int64_t at_ns)
{
    put_i64(b, key, at_ns < tl->l->begin_ns ? -(tl->l->begin_ns - at_ns) : at_ns - tl->l->begin_ns);
}

/* "a":[ item, item ... ] where each item is written by the loop; commas depend on the text before. */
static void open_list(struct gp_buf *b, const char *key)
{
    put_key(b, key);
    gp_buf_putc(b, '[');
}

static void next_item(struct gp_buf *b, const char *open)
{
    if (b->data[b->n - 1] != '[') gp_buf_putc(b, ',');
    gp_buf_puts(b, open);
}

/* ---- names ---- */

static void put_names(struct gp_buf *b, const struct gp_tracks *l)
{
    struct gp_buf full = {0}, label = {0}, clean = {0}, whole = {0}, labels = {0};
    open_list(b, "names");
    for (uint32_t i = 0; i < l->names.n; i++) {
        full.n = label.n = clean.n = whole.n = 0;
        gp_tracks_put_name(l, i, &full);
        gp_tracks_put_label(l, i, &label);
        gp_text_clean(&clean, label.data ? label.data : "", label.n);
        gp_text_clean(&whole, full.data ? full.data : "", full.n);
        next_item(b, "");
        gp_json_put_string(b, whole.data ? whole.data : "", whole.n);
        if (i) gp_buf_putc(&labels, ',');
        if (clean.n == whole.n && (!whole.n || !memcmp(clean.data, whole.data, whole.n)))
            gp_buf_putc(&labels, '0');
        else gp_json_put_string(&labels, clean.data ? clean.data : "", clean.n);
    }
    gp_buf_puts(b, "],\n\"labels\":[");
    if (labels.n) gp_buf_put(b, labels.data, labels.n);
    gp_buf_puts(b, "],\n\"kind_of\":[");
    for (size_t i = 0; i < l->names.n; i++) gp_buf_printf(b, "%s%d", i ? "," : "", l->names.at[i].kind);
    gp_buf_puts(b, "],\n\"cause_of\":[");
    for (size_t i = 0, n = 0; i < l->names.n; i++)
        if (l->names.at[i].kind == GP_FRAME_IDLE)
            gp_buf_printf(b, "%s[%zu,%" PRIu32 "]", n++ ? "," : "", i, l->names.at[i].name);
    gp_buf_putc(b, ']');
    GP_RELEASE(gp_buf_release, &full, &label, &clean, &whole, &labels);
}

static void put_kinds(struct gp_buf *b)
{
    open_list(b, "kinds");
    for (int k = 0; k < GP_FRAME_KIND_COUNT; k++) {
        const char *label = k == GP_FRAME_OTHER  ? "other events"
                            : k == GP_FRAME_IDLE ? "idle time"
                                                 : gp_palette_label((enum gp_frame_kind)k);
        next_item(b, "{");
        put_string(b, "id", gp_palette_class((enum gp_frame_kind)k),
                   strlen(gp_palette_class((enum gp_frame_kind)k)));
        put_string(b, "label", label, strlen(label));
        put_key(b, "gpu");
        gp_buf_puts(b, k >= GP_FRAME_COMPUTE && k <= GP_FRAME_MEMSET ? "true}" : "false}");
    }
    gp_buf_putc(b, ']');
    open_list(b, "reasons"); /* of a clock: value 1 and up of a counter in this unit */
    for (unsigned r = 0; r <= GP_CLOCK_REASON_COUNT; r++) {
        next_item(b, "");
        gp_json_put_string(b, gp_clock_reason_text(r), strlen(gp_clock_reason_text(r)));
    }
    gp_buf_putc(b, ']');
    open_list(b, "causes");
    for (int c = 0; c < GP_IDLE_CAUSE_COUNT; c++) {
        next_item(b, "{");
        put_string(b, "name", gp_idle_cause_name((enum gp_idle_cause)c),
                   strlen(gp_idle_cause_name((enum gp_idle_cause)c)));
        put_string(b, "text", gp_idle_cause_text((enum gp_idle_cause)c),
                   strlen(gp_idle_cause_text((enum gp_idle_cause)c)));
        gp_buf_putc(b, '}');
    }
    gp_buf_putc(b, ']');
}

/* ---- tracks ---- */

static void put_track(struct gp_buf *b, const struct gp_timeline *tl, const struct gp_tracks_track *k)
{
    static const char *const sorts[] = {[GP_TRACKS_SLICES] = "slices",
                                        [GP_TRACKS_MARKS] = "marks",
                                        [GP_TRACKS_STEPS] = "steps",
                                        [GP_TRACKS_GAPS] = "idle",
                                        [GP_TRACKS_COUNTER] = "counter"};
    const struct gp_tracks *l = tl->l;
    next_item(b, "\n{");
    put_words(b, "id", &l->strings, k->id);
    put_words(b, "name", &l->strings, k->name);
    put_i64(b, "group", k->group);
    put_string(b, "sort", sorts[k->sort], strlen(sorts[k->sort]));
    put_i64(b, "count", (int64_t)k->count);
    put_i64(b, "total", k->total_ns);
    put_i64(b, "crossed", (int64_t)k->crossed);
    put_i64(b, "clamped", (int64_t)k->clamped);
    put_i64(b, "crowded", (int64_t)k->crowded);
    if (k->sort == GP_TRACKS_COUNTER) {
        static const char *const units[] = {
            [GP_TRACKS_COUNT] = "count",     [GP_TRACKS_BYTES] = "bytes",  [GP_TRACKS_PERCENT] = "percent",
            [GP_TRACKS_GBPS] = "gbps",       [GP_TRACKS_MHZ] = "MHz",      [GP_TRACKS_WATT] = "W",
            [GP_TRACKS_CELSIUS] = "\u00b0C", [GP_TRACKS_REASON] = "reason"};
        put_i64(b, "n", (int64_t)l->counters.at[k->counter].samples.n);
        put_i64(b, "scale", gp_timeline_scale(&l->counters.at[k->counter]));
        put_string(b, "unit", units[l->counters.at[k->counter].unit],
                   strlen(units[l->counters.at[k->counter].unit]));
        put_key(b, "joined");
        gp_buf_puts(b, l->counters.at[k->counter].joined ? "true" : "false");
    } else {
        open_list(b, "lanes");
        for (size_t i = k->first_lane; i < k->first_lane + k->lanes; i++) {
            next_item(b, "[");
            gp_buf_printf(b, "%zu,%d,%" PRId64 "]", tl->first[i + 1] - tl->first[i],
                          l->lanes.at[i].longest_ns > UINT32_MAX, tl->units[i]);
        }
        gp_buf_putc(b, ']');
    }
    gp_buf_putc(b, '}');
}

static void put_tracks(struct gp_buf *b, const struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    uint32_t devices = 0;
    open_list(b, "groups");
    GP_EACH(const struct gp_tracks_group, g, l->groups) {
        next_item(b, "{");
        put_words(b, "id", &l->strings, g->id);
        put_words(b, "name", &l->strings, g->name);
        put_i64(b, "device", g->device == UINT32_MAX ? -1 : (int64_t)devices++);
        gp_buf_putc(b, '}');
    }
    gp_buf_putc(b, ']');
    open_list(b, "tracks");
    for (size_t i = 0; i < l->tracks.n; i++) put_track(b, tl, &l->tracks.at[i]);
    gp_buf_putc(b, ']');
}

/* First and last event of a device, which has tracks FROM to TO, as far as they exist. */
static void put_extent(struct gp_buf *b, const struct gp_timeline *tl, size_t from, size_t to)
{
    const struct gp_tracks *l = tl->l;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct gp_tracks_track *k = &l->tracks.at[i];
        if (!k->gpu && k->sort != GP_TRACKS_GAPS) continue;
        for (size_t j = k->first_lane; j < k->first_lane + k->lanes; j++) {
            const struct gp_lane *lane = &l->lanes.at[j];
            for (size_t e = lane->first; e < lane->first + lane->n; e++) {
                int64_t start = gp_tracks_start(l, e), stop = start + gp_tracks_dur(l, e);
                if (start < begin) begin = start;
                if (stop > end) end = stop;
            }
        }
    }
    if (begin > end) begin = end = l->begin_ns;
    put_time(b, "t0", tl, begin);
    put_time(b, "t1", tl, end);
}

/* The tracks of a device's work stand together: from FROM on. Returns where those of the next one begin. */
static size_t put_device(struct gp_buf *b, const struct gp_timeline *tl, uint32_t g, size_t from)
{
    const struct gp_tracks *l = tl->l;
    size_t to = from, idle = SIZE_MAX;
    while (to < l->tracks.n && l->tracks.at[to].group == g) to++;
    for (size_t i = from; i < to; i++)
        if (l->tracks.at[i].sort == GP_TRACKS_GAPS) idle = i;
    next_item(b, "{");
    put_words(b, "name", &l->strings, l->groups.at[g].name);
    put_i64(b, "group", g);
    put_key(b, "idle");
    if (idle < SIZE_MAX) gp_buf_printf(b, "%zu", idle);
    else gp_buf_puts(b, "null");
    open_list(b, "streams");
    for (size_t i = from; i < to; i++) {
        if (!l->tracks.at[i].gpu) continue;
        next_item(b, "");
        gp_buf_printf(b, "%zu", i);
    }
    gp_buf_putc(b, ']');
    put_extent(b, tl, from, to);
    gp_buf_putc(b, '}');
    return to;
}

/* ---- events worth a look ---- */

static void put_steps(struct gp_buf *b, const struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    int64_t device = -1;
    uint32_t group = 0; /* groups below it have been counted in DEVICE */
    open_list(b, "steps");
    GP_EACH(const struct gp_tracks_track, k, l->tracks) {
        if (k->sort != GP_TRACKS_STEPS) continue;
        for (; group <= k->group; group++) device += l->groups.at[group].device != UINT32_MAX;
        for (size_t j = k->first_lane; j < k->first_lane + k->lanes; j++)
            for (size_t e = l->lanes.at[j].first; e < l->lanes.at[j].first + l->lanes.at[j].n; e++) {
                const struct gp_hta_step *s = &l->hta->steps.at[l->row[e]];
                next_item(b, "{");
                put_words(b, "name", &l->hta->strings, s->name);
                put_time(b, "t0", tl, gp_tracks_start(l, e));
                put_time(b, "t1", tl, gp_tracks_start(l, e) + gp_tracks_dur(l, e));
                put_i64(b, "device", device);
                put_key(b, "partial");
                gp_buf_puts(b, s->partial ? "true" : "false");
                put_key(b, "warm_up");
                gp_buf_puts(b, s->warm_up ? "true}" : "false}");
            }
    }
    gp_buf_putc(b, ']');
}

static void put_findings(struct gp_buf *b, const struct gp_timeline *tl)
{
    bool steps = tl->opts.open.end_ns > tl->opts.open.begin_ns; /* the page opens on them */
    const struct gp_hta *h = gp_hta_about(tl->l->hta, !steps);
    open_list(b, "findings");
    GP_EACH(const struct gp_finding, f, h->findings) {
        struct gp_buf part = {0};
        next_item(b, "{");
        put_words(b, "id", &h->strings, f->id);
        if (f->part_of) {
            gp_finding_put_part(&part, h, f);
            put_string(b, "text", part.data, part.n);
        } else {
            put_words(b, "text", &h->strings, f->text);
        }
        put_key(b, "part");
        gp_buf_puts(b, f->part_of ? "true" : "false");
        put_words(b, "where", &h->strings, f->where);
        if (f->end_ns > f->begin_ns) {
            put_time(b, "t0", tl, f->begin_ns);
            put_time(b, "t1", tl, f->end_ns);
        } else {
            gp_buf_puts(b, ",\"t0\":null,\"t1\":null");
        }
        gp_buf_release(&part);
        gp_buf_putc(b, '}');
    }
    gp_buf_putc(b, ']');
}

static void put_note(struct gp_buf *b, const char *before, uint64_t n, const char *after)
{
    struct gp_buf text = {0};
    gp_buf_puts(&text, before);
    if (after) gp_scale_put_count(&text, n);
    if (after) gp_buf_puts(&text, after);
    next_item(b, "");
    gp_json_put_string(b, text.data, text.n);
    gp_buf_release(&text);
}

static void put_notes(struct gp_buf *b, const struct gp_timeline *tl)
{
    const struct gp_tracks *l = tl->l;
    uint64_t crossed = 0, crowded = 0;
    for (size_t i = 0; i < l->tracks.n; i++) {
        crossed += l->tracks.at[i].gpu ? 0 : l->tracks.at[i].crossed;
        crowded += l->tracks.at[i].crowded;
    }
    open_list(b, "notes");
    if (tl->overview)
        put_note(b, "Only the marked windows have every event, ", tl->n, " in all; the rest is an overview.");
    if (tl->args_left_out)
        put_note(b, "Recorded arguments are left out: they would exceed the size limit of this page.", 0,
                 NULL);
    if (crossed)
        put_note(b, "Events that end after the event they began in, drawn on an extra lane: ", crossed, ".");
    if (crowded) put_note(b, "Events drawn over others because the lanes ran out: ", crowded, ".");
    gp_buf_putc(b, ']');
    open_list(b, "quality");
    for (int kind = 0; kind < GP_ISSUE_COUNT; kind++) {
        const struct gp_issue *q = &l->v->t->issues[kind];
        if (!q->count) continue;
        next_item(b, "{");
        put_string(b, "text", gp_issue_text((enum gp_issue_kind)kind),
                   strlen(gp_issue_text((enum gp_issue_kind)kind)));
        put_i64(b, "count", (int64_t)q->count);
        gp_buf_putc(b, '}');
    }
    gp_buf_putc(b, ']');
}

/* ---- all ---- */

static void put_numbers(struct gp_buf *b, const char *key, const uint32_t *numbers, size_t n)
{
    open_list(b, key);
    for (size_t i = 0; i < n; i++) gp_buf_printf(b, "%s%" PRIu32, i ? "," : "", numbers[i]);
    gp_buf_putc(b, ']');
}

static void put_window(struct gp_buf *b, const struct gp_timeline *tl, const struct gp_timeline_window *w)
{
    int64_t begin = w->begin_ns < tl->l->begin_ns ? tl->l->begin_ns : w->begin_ns;
    int64_t end = w->end_ns > tl->l->end_ns ? tl->l->end_ns : w->end_ns;
    if (end < begin) end = begin;
    gp_buf_printf(b, "[%" PRId64 ",%" PRId64 "]", begin - tl->l->begin_ns, end - tl->l->begin_ns);
}

void gp_timeline_put_head(const struct gp_timeline *tl, struct gp_buf *b)
{
    const struct gp_tracks *l = tl->l;
    uint64_t events = 0;
    for (size_t i = 0; i < l->tracks.n; i++) events += l->tracks.at[i].count;
    gp_buf_putc(b, '{');
    put_i64(b, "version", 1);
    put_key(b, "begin_ns");
    gp_buf_printf(b, "\"%" PRId64 "\"", l->begin_ns);
    put_i64(b, "span", l->end_ns - l->begin_ns);
    if (tl->opts.view.end_ns > tl->opts.view.begin_ns) {
        put_key(b, "view");
        put_window(b, tl, &tl->opts.view);
    }
    if (tl->opts.open.end_ns > tl->opts.open.begin_ns) {
        put_key(b, "open");
        put_window(b, tl, &tl->opts.open);
    }
    put_i64(b, "events", (int64_t)events);
    put_i64(b, "shown", (int64_t)tl->n);
    put_i64(b, "segment", GP_TIMELINE_SEGMENT);
    put_i64(b, "block", GP_TIMELINE_BLOCK);
    put_i64(b, "buckets", (int64_t)tl->buckets);
    put_i64(b, "pairs", (int64_t)tl->pairs);
    put_string(b, "input", tl->opts.input, strlen(tl->opts.input));
    put_numbers(b, "refs", tl->refs.at, tl->refs.n);
    put_numbers(b, "args", tl->blocks.at, tl->blocks.n);
    gp_buf_putc(b, ',');
    gp_timeline_put_fields(b);
    gp_buf_putc(b, ',');
    gp_timeline_put_captured(tl, b);
    if (tl->overview) {
        open_list(b, "windows");
        for (size_t i = 0; i < tl->windows.n; i++) {
            next_item(b, "");
            put_window(b, tl, &tl->windows.at[i]);
        }
        gp_buf_putc(b, ']');
    } else {
        gp_buf_puts(b, ",\"windows\":null");
    }
    put_kinds(b);
    put_names(b, l);
    put_tracks(b, tl);
    size_t from = 0;
    open_list(b, "devices");
    for (uint32_t g = 0; g < tl->l->groups.n; g++)
        if (tl->l->groups.at[g].device != UINT32_MAX) from = put_device(b, tl, g, from);
    gp_buf_putc(b, ']');
    put_steps(b, tl);
    put_findings(b, tl);
    put_notes(b, tl);
    gp_buf_putc(b, '}');
}
