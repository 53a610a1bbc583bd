
#include <inttypes.h>
#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rows.h"
#include "analyze/hta/hta_spread.h"
#include "analyze/math/sums.h"
#include "analyze/names/names.h"
#include "formats/base/scale.h"
#include "formats/writer.h"
#include "render/page/page_html.h"
#include "render/page/page_pack.h"
#include "render/report/report.h"
#include "render/timeline/timeline_priv.h"

/* ---- the page ---- */

static const struct gp_page_parts parts = {.css = &gp_asset_timeline_css, .js = &gp_asset_timeline_js};

static void flush(struct gp_buf *b, struct gp_output *out)
{
    gp_output_write(out, b->data, b->n);
    b->n = 0;
}

/* For paper, and where no script runs. */
static void put_still(struct gp_svg *w, const struct gp_timeline *tl)
{
    enum { STILL_RECTS = 1500 };
    struct gp_timeline_svg_opts o = {.still = true, .max_rects = STILL_RECTS};
    const struct gp_timeline_opts *p = &tl->opts;
    const struct gp_timeline_window *shown = p->open.end_ns > p->open.begin_ns ? &p->open : &p->view;
    if (shown->end_ns > shown->begin_ns) {
        o.begin_ns = shown->begin_ns;
        o.end_ns = shown->end_ns;
    }
    gp_page_open(w, "figure", "still");
    gp_svg_text(w, "", 0);
    gp_timeline_svg_write(w->out, tl->l, &o);
    gp_svg_close_line(w);
}

/* Write the page to OUT, piece by piece. TITLE and FACTS, a line below it, are escaped. Same timeline, same
 * bytes. */
static void write_page(const struct gp_timeline *tl, const char *title, const char *facts,
                       struct gp_output *out)
{
    struct gp_svg w;
    struct gp_buf b = {0};
    gp_page_begin(&w, &b, title, &parts);
    gp_page_open(&w, "main", "timeline");
    gp_page_open(&w, "header", NULL);
    gp_page_put(&w, "h1", NULL, title);
    gp_page_put(&w, "p", "facts", facts);
    gp_svg_close(&w);
    put_still(&w, tl);
    gp_svg_close_line(&w);
    gp_page_palette(&w);
    GP_EACH(const struct gp_timeline_section, s, tl->sections) {
        gp_page_packed(&w, s->id, s->bytes.data, s->bytes.n);
        flush(&b, out);
    }
    gp_page_end(&w, &parts);
    flush(&b, out);
    gp_buf_release(&b);
}

/* ---- facts ---- */

static void put_share(struct gp_buf *b, const char *what, int64_t part, const struct gp_activity *a)
{
    gp_buf_printf(b, "%s%s", what, GP_SHARE(part, a->span_ns));
}

/* Snapshots of an allocator have none. */
static bool has_activity(const struct gp_trace *t)
{
    return t->events[GP_GPU].n || t->events[GP_API].n || t->events[GP_OP].n;
}

/* The time that trace-hta reports on: from the first GPU event of a device, or of its steps, to the last
 * one. */
struct scope {
    int64_t begin_ns, end_ns; /* of all devices */
    int64_t span_ns, busy_ns; /* sums over them */
    size_t devices;
};

static struct scope scope_of(const struct gp_hta *h)
{
    struct scope s = {INT64_MAX, INT64_MIN, 0, 0, h->devices.n};
    for (size_t i = 0; i < h->devices.n; i++) {
        const struct gp_breakdown *b = &h->devices.at[i].b;
        if (b->begin_ns < s.begin_ns) s.begin_ns = b->begin_ns;
        if (b->end_ns > s.end_ns) s.end_ns = b->end_ns;
        s.span_ns = gp_add_saturated(s.span_ns, b->span_ns);
        s.busy_ns = gp_add_saturated(s.busy_ns, b->busy_ns);
    }
    return s;
}

/* The number of steps in the step window of the device that has most. */
static uint64_t steps_in(const struct gp_hta *h)
{
    uint64_t most = 0;
    for (size_t i = 0; i < h->parts.n; i++)
        if (h->parts.at[i].kind == GP_PART_STEPS && h->parts.at[i].steps > most) most = h->parts.at[i].steps;
    return most;
}

static void put_whole(struct gp_buf *b, const struct gp_timeline_answer *an)
{
    const struct gp_hta *h = gp_hta_about(an->l->hta, an->open.begin_ns >= an->open.end_ns);
    bool whole = h == an->l->hta && an->l->hta->focus;
    struct scope s = scope_of(h);
    struct gp_activity a = gp_activity_of(an->v, s.begin_ns, s.end_ns);
    int64_t recorded_ns = an->l->end_ns - gp_tracks_origin(an->t);
    uint64_t steps = whole ? 0 : steps_in(an->l->hta);
    /* "6 steps, 621 ms", "621 ms from the first to the last GPU event": the whole of the shares. */
    if (steps) gp_buf_printf(b, "%s step%s, ", GP_COUNTED(steps), steps > 1 ? "s" : "");
    gp_scale_put(b, GP_UNIT_NS, s.span_ns / (int64_t)s.devices);
    if (s.devices > 1) gp_buf_puts(b, " per GPU");
    if (!steps) gp_buf_puts(b, " from the first to the last GPU event");
    if (recorded_ns != s.span_ns)
        gp_buf_printf(b, "%s%s recorded", steps ? " of " : ", of ", GP_NS(recorded_ns));
    gp_buf_printf(b, ": GPU busy %s", GP_SHARE(s.busy_ns, s.span_ns));
    put_share(b, ", CPU active ", a.cpu_ns, &a);
    put_share(b, ", both ", a.both_ns, &a);
}

/* Of the part that was asked for, or where nothing ran on a GPU. */
static void put_part(struct gp_buf *b, const struct gp_timeline_answer *an)
{
    int64_t begin = gp_tracks_origin(an->t), end = an->l->end_ns;
    if (an->view.begin_ns < an->view.end_ns) {
        begin = an->view.begin_ns > begin ? an->view.begin_ns : begin;
        end = an->view.end_ns < end ? an->view.end_ns : end;
    }
    struct gp_activity a = gp_activity_of(an->v, begin, end > begin ? end : begin);
    gp_scale_put(b, GP_UNIT_NS, a.span_ns);
    if (!has_activity(an->t)) return;
    put_share(b, ": GPU busy ", a.gpu_ns, &a);
    put_share(b, ", CPU active ", a.cpu_ns, &a);
    put_share(b, ", both ", a.both_ns, &a);
}

void gp_timeline_put_activity(struct gp_buf *b, const struct gp_timeline_answer *an)
{
    struct gp_step_spread step;
    if (an->l->hta->untimed) {
        gp_buf_puts(b, GP_UNTIMED_TEXT);
        return;
    }
    if (gp_hta_step_time(an->l->hta, &step)) {
        gp_buf_puts(b, "a step takes ");
        gp_step_time_put(b, step.step_ns, step.median_ns, step.used, true);
        gp_buf_putc(b, ')');
        struct gp_recorder_added added = gp_hta_recorder_added(an->l->hta, step.first);
        gp_recorder_added_put(b, &added);
        gp_buf_puts(b, "; ");
    }
    if (an->l->hta->devices.n && an->view.begin_ns >= an->view.end_ns) put_whole(b, an);
    else put_part(b, an);
}

void gp_timeline_put_stats(struct gp_buf *b, const struct gp_tracks *l)
{
    uint64_t crossed = 0, clamped = 0, crowded = 0;
    for (size_t i = 0; i < l->tracks.n; i++) {
        crossed += l->tracks.at[i].crossed;
        clamped += l->tracks.at[i].clamped;
        crowded += l->tracks.at[i].crowded;
    }
    gp_buf_printf(b,
                  "events: %zu, tracks: %zu, lanes: %zu, names: %zu, events that cross others: %" PRIu64
                  ", clamped to their parent (rounding): %" PRIu64 ", without a free lane: %" PRIu64,
                  l->n, l->tracks.n, l->lanes.n, l->names.n, crossed, clamped, crowded);
}

/* ---- writers ---- */

static const char *title_of(const struct gp_timeline_answer *a) { return a->title ? a->title : a->input; }

static void write_html(void *answer, struct gp_output *to)
{
    struct gp_timeline_answer *a = answer;
    struct gp_timeline tl;
    struct gp_buf facts = {0};
    struct gp_timeline_opts o = {.input = a->input,
                                 .max_bytes = a->max_bytes,
                                 .args = a->args,
                                 .threads = a->threads,
                                 .view = a->view,
                                 .open = a->open,
                                 .windows = a->windows->at,
                                 .windows_n = a->windows->n};
    gp_timeline_pack(&tl, a->l, &o);
    gp_buf_printf(&facts, "%s events \xC2\xB7 ", GP_COUNTED(a->l->n));
    gp_timeline_put_activity(&facts, a);
    write_page(&tl, title_of(a), gp_buf_str(&facts), to);
    a->overview = tl.overview;
    a->args_left_out = tl.args_left_out;
    a->shown = tl.n;
    gp_timeline_release(&tl);
    gp_buf_release(&facts);
}

static void put_svg(void *answer, struct gp_buf *b)
{
    const struct gp_timeline_answer *a = answer;
    struct gp_buf facts = {0};
    gp_timeline_put_activity(&facts, a);
    const struct gp_timeline_window *w = a->open.begin_ns < a->open.end_ns ? &a->open : &a->view;
    struct gp_timeline_svg_opts o = {.title = title_of(a),
                                     .note = gp_buf_str(&facts),
                                     .begin_ns = w->begin_ns,
                                     .end_ns = w->end_ns < a->l->end_ns ? w->end_ns : a->l->end_ns,
                                     .width = a->width};
    gp_timeline_svg_write(b, a->l, &o);
    gp_buf_release(&facts);
}

static void write_chrome(void *answer, struct gp_output *to)
{
    struct gp_timeline_answer *a = answer;
    struct gp_write_opts o = {.compression = "none", .plain_name = gp_name_demangle, .threads = a->threads};
    gp_timeline_keep(a->t, &a->view);
    gp_writer_find("chrome")->write(a->t, &o, to);
}

const struct gp_answer_format gp_timeline_formats[] = {
    {"html", 0, GP_TIMELINE_ARGS | GP_TIMELINE_DETAIL, .write = write_html},
    {"svg", 0, 0, .put = put_svg},
    {"chrome", 0, GP_TIMELINE_ALL, .write = write_chrome},
    {0},
};
