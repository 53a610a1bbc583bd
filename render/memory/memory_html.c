#include "render/memory/memory_priv.h"

#include <stdio.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/scale.h"
#include "render/draw/chart_svg.h"
#include "render/flame/flame_svg.h"
#include "render/page/page_doc.h"
#include "render/page/page_pack.h"
#include "render/page/page_report.h"

/* Sizes of a page: the first that fits is written. */
static const struct size {
    size_t points, moments, sites, ranges, boxes, devices, rows, json, names;
    uint32_t frames;
} sizes[] = {
    {1500, 600, 200, 600, 3000, 8, 1000, 1000000, 2000, 400},
    {1200, 300, 120, 300, 2000, 8, 300, 400000, 600, 250},
    {600, 150, 60, 150, 1000, 4, 100, 0, 300, 120},
    {200, 60, 30, 60, 400, 2, 40, 0, 160, 60},
};

struct page {
    struct gp_svg w;
    struct gp_buf text; /* scratch */
    struct gp_memory *m;
    const struct gp_memory_answer *o;
    const struct size *size;
    size_t devices; /* that are drawn */
    struct gp_page_doc doc;
};

static size_t share(const struct page *p, size_t of_one)
{
    size_t each = of_one / (p->devices ? p->devices : 1);
    return each < 20 ? 20 : each;
}

/* ---- the top ---- */

static void put_facts(struct gp_buf *b, const struct gp_memory *m)
{
    uint64_t allocations = 0, frees = 0;
    bool sums = false;
    for (size_t i = 0; i < m->devices.n; i++) {
        sums |= m->devices.at[i].history == GP_HISTORY_SUMS;
        if (m->devices.at[i].history == GP_HISTORY_SUMS) continue;
        allocations += m->devices.at[i].allocations;
        frees += m->devices.at[i].frees;
    }
    if (m->devices.n == 1) gp_memory_device_put(b, m, &m->devices.at[0]);
    else gp_buf_printf(b, "%zu devices", m->devices.n);
    if (allocations || frees || !sums)
        gp_buf_printf(b, " \xC2\xB7 %s allocations \xC2\xB7 %s frees", GP_COUNTED(allocations),
                      GP_COUNTED(frees));
}

static void put_links(void *page)
{
    struct page *p = page;
    if (!p->o->flame && !p->o->timeline) return;
    gp_page_open(&p->w, "p", "facts");
    gp_page_text(&p->w, "The same run as a ");
    if (p->o->timeline) gp_page_href(&p->w, p->o->timeline, "timeline");
    if (p->o->flame && p->o->timeline) gp_page_text(&p->w, " and a ");
    if (p->o->flame) gp_page_href(&p->w, p->o->flame, "flame graph");
    gp_svg_close(&p->w);
}

static void put_figure(struct page *p, const char *name, int64_t bytes, const char *of, int64_t whole)
{
    struct gp_page_figure *f = gp_page_figure(&p->doc, name);
    gp_scale_put(&f->value, GP_UNIT_BYTES, bytes > 0 ? bytes : 0);
    if (whole > 0) gp_buf_printf(&f->words, "of %s ", GP_BYTES(whole));
    gp_buf_puts(&f->words, of);
}

static void put_figures(struct page *p)
{
    /* the figures of the device with the highest peak */
    const struct gp_memory_device *d = NULL;
    for (size_t i = 0; i < p->m->devices.n; i++)
        if (!d || p->m->devices.at[i].peak_bytes > d->peak_bytes) d = &p->m->devices.at[i];
    if (!d) return;
    const struct gp_memory_fragmentation *f = &d->fragmentation;
    put_figure(p, "Peak", d->peak_bytes, d->reserved_at_peak > 0 ? "reserved" : "allocated",
               d->reserved_at_peak);
    put_figure(p, "At the end", d->end_bytes, f->known ? "reserved" : "allocated",
               f->known ? f->reserved : 0);
    if (d->growth.n) {
        const struct gp_memory_growth *g = &d->growth.at[0];
        put_figure(p, g->certain ? "Leak per step" : "Growth per step", g->bytes_per_step,
                   gp_memory_str(p->m, d->sites.at[g->site].key), 0);
    }
    if (d->ooms.n)
        put_figure(p, "Could not be allocated", d->ooms.at[d->ooms.n - 1].requested,
                   gp_oom_verdict_text(d->ooms.at[d->ooms.n - 1].verdict), 0);
    if (f->known) {
        put_figure(p, "Cached, free", f->free_whole + f->free_split, "that the allocator keeps", 0);
        put_figure(p, "Largest free block", f->largest_free, "at the end", 0);
    }
}

/* ---- over time ---- */

static bool is_held(const struct gp_memory_moments *at, enum gp_category c)
{
    for (size_t i = 0; i < at->curve.n; i++)
        if (gp_memory_moments_category(at, c, i) > 0) return true;
    return false;
}

static void put_key(struct page *p, const char *class, const char *name)
{
    gp_page_open(&p->w, "span", NULL);
    gp_page_swatch(&p->w, class);
    gp_page_text(&p->w, name);
    gp_svg_close(&p->w);
    gp_page_text(&p->w, " ");
}

static bool is_guessed(const struct gp_memory_device *d)
{
    for (size_t i = 0; i < d->lives.n; i++) {
        bool recorded;
        if (gp_memory_category(d, &d->lives.at[i], &recorded) != GP_CAT_UNKNOWN && !recorded) return true;
    }
    return false;
}

static void put_curve(struct page *p, uint32_t device, const struct gp_memory_moments *at)
{
    const struct gp_memory_device *d = &p->m->devices.at[device];
    gp_page_open(&p->w, "figure", "pan over-time");
    gp_page_open(&p->w, "figcaption", NULL);
    gp_memory_device_put(&p->text, p->m, d);
    gp_page_take(&p->w, &p->text, "strong", NULL);
    gp_page_put(&p->w, "span", NULL,
                is_guessed(d) ? " allocated bytes over time; the categories are guessed from when blocks "
                                "were allocated and freed"
                              : " allocated bytes over time");
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "p", "legend");
    for (int k = 0; k < GP_CATEGORY_COUNT; k++) {
        enum gp_category c = (enum gp_category)gp_memory_stacking[k];
        if (is_held(at, c)) put_key(p, gp_memory_category_color(c), gp_category_text(c));
    }
    if (d->reserved_peak > 0) put_key(p, "idle", "reserved, not allocated");
    gp_page_close(&p->w);
    gp_memory_curve(&p->w, p->m, device, at);
    gp_page_close(&p->w);
}

static void put_flame(struct page *p, uint32_t device)
{
    const struct gp_memory_device *d = &p->m->devices.at[device];
    struct gp_flame flame;
    gp_memory_flame(&flame, p->m, device, d->peak_position);
    gp_page_open(&p->w, "figure", "pan stacks");
    gp_page_open(&p->w, "figcaption", NULL);
    gp_page_put(&p->w, "strong", NULL, "Who held the peak ");
    gp_page_put(&p->w, "span", NULL, "stacks from the outermost call down, as wide as their bytes");
    gp_svg_close(&p->w);
    gp_flame_svg_write(p->w.out, &flame,
                       &(struct gp_flame_svg_opts){.title = "Memory by stack",
                                                   .measure = "memory",
                                                   .unit = GP_UNIT_BYTES,
                                                   .empty = "Nothing was allocated",
                                                   .still = true,
                                                   .width = 1160,
                                                   .max_frames = (uint32_t)share(p, p->size->frames)});
    gp_flame_release(&flame);
    gp_page_close(&p->w);
}

static void put_device(struct page *p, uint32_t device)
{
    struct gp_memory_moments at;
    struct gp_buf packed = {0};
    const struct size *s = p->size;
    gp_memory_moments_init(
        &at, p->m, device,
        &(struct gp_memory_moments_opts){share(p, s->points), share(p, s->moments), share(p, s->sites)});
    if (at.curve.n) {
        char id[32];
        snprintf(id, sizeof id, "memory-%u", (unsigned)device);
        gp_memory_pack(&packed, p->m, device, &at, share(p, s->ranges));
        gp_page_open(&p->w, "div", "device");
        gp_svg_attr(&p->w, "data-memory", id);
        gp_svg_newline(&p->w);
        put_curve(p, device, &at);
        put_flame(p, device);
        gp_page_pack(&p->w, id, packed.data, packed.n);
        gp_page_close(&p->w);
    }
    gp_buf_release(&packed);
    gp_memory_moments_release(&at);
}

static void put_time(void *page)
{
    struct page *p = page;
    for (size_t i = 0; i < p->devices; i++) put_device(p, (uint32_t)i);
    if (p->devices == p->m->devices.n) return;
    gp_buf_printf(&p->text, "%zu more devices are in the tables only.", p->m->devices.n - p->devices);
    gp_page_take(&p->w, &p->text, "p", "note");
}

/* ---- growth ---- */

enum { MOST_COLUMNS = 60 };

static gp_sid growing(const struct gp_memory_device *d) { return d->sites.at[d->growth.at[0].site].key; }

/* Bytes of the site that grows most at the end of each step. */
static void put_growth_of(struct page *p, const struct gp_memory_device *d)
{
    size_t n = d->steps.n, each = n / MOST_COLUMNS + 1, columns = (n + each - 1) / each;
    int64_t *values = gp_zalloc((columns + 1) * sizeof *values);
    struct gp_chart_row *rows = gp_zalloc((columns + 1) * sizeof *rows);
    const char **ticks = gp_zalloc((columns + 1) * sizeof *ticks);
    for (size_t i = 0; i < columns; i++) {
        size_t step = (i + 1) * each - 1 < n ? (i + 1) * each - 1 : n - 1;
        GP_EACH(const struct gp_memory_life, l, d->lives)
            if (d->sites.at[l->site].key == growing(d) && l->begin <= d->steps.at[step].end &&
                d->steps.at[step].end < l->end)
                values[i] += l->bytes;
        rows[i] =
            (struct gp_chart_row){.label = gp_memory_str(p->m, d->steps.at[step].name), .values = &values[i]};
        if (i == 0 || i + 1 == columns) ticks[i] = rows[i].label;
    }
    gp_page_open(&p->w, "figure", NULL);
    gp_page_open(&p->w, "figcaption", NULL);
    gp_memory_device_put(&p->text, p->m, d);
    gp_page_take(&p->w, &p->text, "strong", NULL);
    gp_buf_printf(&p->text, " bytes of %s at the end of each step", gp_memory_str(p->m, growing(d)));
    gp_page_take(&p->w, &p->text, "span", NULL);
    gp_svg_close(&p->w);
    struct gp_chart_series series = {NULL, "communication"};
    gp_chart_columns(&p->w, &(struct gp_chart){.label = "Bytes held at the end of each step",
                                               .unit = GP_UNIT_BYTES,
                                               .series = &series,
                                               .series_n = 1,
                                               .rows = rows,
                                               .rows_n = columns,
                                               .ticks = ticks});
    gp_page_close(&p->w);
    GP_RELEASE(free, values, rows, ticks);
}

static void put_growth(void *page)
{
    struct page *p = page;
    for (size_t i = 0; i < p->devices; i++)
        if (p->m->devices.at[i].growth.n && p->m->devices.at[i].steps.n)
            put_growth_of(p, &p->m->devices.at[i]);
}

/* ---- out of memory ---- */

static void put_oom_of(struct page *p, const struct gp_memory_device *d)
{
    const struct gp_memory_oom *o = &d->ooms.at[d->ooms.n - 1];
    const struct gp_chart_series series[] = {{"allocated", "gemm"},
                                             {"freed, still used by a stream", "communication"},
                                             {"cached, free", "idle"},
                                             {"free on the device", "api"},
                                             {"requested", "memcpy"}};
    int64_t cached = o->reserved - o->active;
    int64_t has[] = {o->allocated, o->active - o->allocated, cached > 0 ? cached : 0, o->device_free, 0};
    int64_t wants[] = {0, 0, 0, 0, o->requested};
    for (int i = 0; i < 5; i++)
        if (has[i] < 0) has[i] = 0;
    const struct gp_chart_row rows[] = {{.label = "reachable", .values = has},
                                        {.label = "requested", .values = wants}};
    gp_page_open(&p->w, "figure", NULL);
    gp_page_open(&p->w, "figcaption", NULL);
    gp_memory_device_put(&p->text, p->m, d);
    gp_page_take(&p->w, &p->text, "strong", NULL);
    gp_buf_printf(&p->text, " when memory ran out: %s", gp_oom_verdict_text(o->verdict));
    gp_page_take(&p->w, &p->text, "span", NULL);
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "p", "legend");
    for (int i = 0; i < 5; i++)
        if (has[i] || wants[i]) put_key(p, series[i].k, series[i].name);
    gp_page_close(&p->w);
    gp_chart_rows(&p->w, &(struct gp_chart){.label = "What was reachable, and what was requested",
                                            .unit = GP_UNIT_BYTES,
                                            .series = series,
                                            .series_n = 5,
                                            .rows = rows,
                                            .rows_n = 2});
    gp_page_close(&p->w);
}

static void put_ooms(void *page)
{
    struct page *p = page;
    for (size_t i = 0; i < p->devices; i++)
        if (p->m->devices.at[i].ooms.n) put_oom_of(p, &p->m->devices.at[i]);
}

/* ---- segments ---- */

static void put_maps(void *page)
{
    struct page *p = page;
    for (size_t i = 0; i < p->devices; i++) {
        const struct gp_memory_device *d = &p->m->devices.at[i];
        if (!d->fragmentation.known) continue;
        if (p->devices > 1) {
            gp_memory_device_put(&p->text, p->m, d);
            gp_page_take(&p->w, &p->text, "h3", NULL);
        }
        gp_page_open(&p->w, "div", "maps");
        gp_memory_map(&p->w, p->m, (uint32_t)i, share(p, p->size->boxes));
        gp_page_close(&p->w);
    }
}

/* ---- sections ---- */

static const struct gp_page_section sections[] = {
    {"out-of-memory", "Out of memory", .draw = put_ooms, .box = "charts", .tables = {"ooms"}},
    {"over-time", "Over time", .draw = put_time, .tables = {"devices"}},
    {"held-by", "Held by", .tables = {"holders", "comparison"}},
    {"from-step-to-step", "Growth", .draw = put_growth, .box = "charts", .tables = {"growth"}},
    {"segments", "Segments and fragmentation", .draw = put_maps,
     .tables = {"fragmentation", "pools", "outside"}},
    {"allocations-frees", "Allocations and frees", .tables = {"ranges", "operators", "churn", "lifetimes"}},
};

static void write_page(struct gp_buf *b, const struct gp_memory_answer *o, const struct size *size,
                       const struct gp_buf *json)
{
    struct gp_memory *m = o->m;
    struct gp_report r = {0};
    struct page p = {.m = m,
                     .o = o,
                     .size = size,
                     .devices = m->devices.n < size->devices ? m->devices.n : size->devices,
                     .doc = {.tool = "trace-memory",
                             .parts = &gp_page_memory,
                             .report = &r,
                             .input = o->input,
                             .links = put_links,
                             GP_PAGE_SECTIONS(sections),
                             .page = &p,
                             .options = o->options,
                             .json = json->n <= size->json ? json : NULL,
                             .max_rows = size->rows}};
    gp_memory_report(
        &r, m,
        &(struct gp_memory_report_opts){.top = o->top && o->top < size->rows ? o->top : size->rows,
                                        .names = size->names,
                                        .verbose = true});
    put_facts(&p.doc.facts, m);
    put_figures(&p);
    gp_page_write(&p.w, b, &p.doc);
    gp_report_release(&r);
    gp_buf_release(&p.text);
}

void gp_memory_html_write(struct gp_buf *b, const struct gp_memory_answer *a)
{
    struct gp_buf json = {0};
    size_t before = b->n;
    bool fits = gp_memory_json_short(&json, a->m, GP_VERSION, sizes[0].json);
    for (int i = 0; i < (int)GP_COUNT(sizes); i++) {
        b->n = before;
        write_page(b, a, &sizes[i], fits ? &json : &(struct gp_buf){0});
        if (b->n - before <= GP_MEMORY_PAGE_BYTES) break;
    }
    gp_buf_release(&json);
}
