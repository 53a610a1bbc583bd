#include "render/hta/hta_html.h"

#include <string.h>
#include "analyze/names/classify.h"
#include "analyze/names/names.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/hta/hta_charts.h"
#include "render/hta/hta_fleet.h"
#include "render/hta/hta_sums.h"
#include "render/hta/hta_verdict.h"
#include "render/page/page_html.h"
#include "render/draw/palette.h"
#include "render/page/page_report.h"
#include "render/page/table_html.h"

static const char NOTE[] =
    "Times are exact integer nanoseconds, shown to three digits; shares are of the GPUs' "
    "time from first to last event unless a column says otherwise.";

struct page {
    struct gp_svg w;
    struct gp_buf text;         /* scratch */
    const struct gp_hta *h;     /* what the page is about first: the steps where there are any */
    const struct gp_hta *whole; /* everything */
    const struct gp_report *r;
    const struct gp_hta_html_opts *o;
    struct gp_hta_totals all;
};

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- themes: charts and tables that belong together ---- */

enum { MAX_CHARTS = 3, MAX_TABLES = 5 };
struct theme {
    const char *id, *title;
    void (*charts[MAX_CHARTS])(struct gp_svg *w, const struct gp_hta *h);
    const char *tables[MAX_TABLES]; /* ids; the first is unfolded */
    const char *findings;           /* words in the ids of findings that belong here */
    bool steps;                     /* the charts are about the steps */
};

static const struct theme themes[] = {
    {"where",
     "Where the time went",
     {gp_hta_chart_devices},
     {"breakdown", "devices", "streams"},
     "exposed_memory",
     true},
    {"why-idle",
     "Why the GPUs were idle",
     {gp_hta_chart_idle, gp_hta_chart_culprits},
     {"culprits", "idle", "idle_list"},
     "idle",
     true},
    {"gpu-work",
     "What the GPUs did",
     {gp_hta_chart_kernels, gp_hta_chart_durations},
     {"kernels", "operators", "operators_by_shape", "ranges", "modules"},
     "kernel tensor gemm occupancy grid",
     true},
    {"launching",
     "Launches",
     {NULL},
     {"launches", "launch_times", "api", "graphs"},
     "launch short api queue graph",
     true},
    {"over-steps", "Steps", {gp_hta_chart_steps}, {"parts", "steps", "step_list"}, "step", false},
    {"slow-ranks",
     "Who holds up the others",
     {gp_hta_chart_ranks},
     {"slow"},
     "slow_rank slow_node slow_kernel slow_gpu slow_in_turn",
     false},
    {"between-ranks",
     "Communication",
     {gp_hta_chart_stragglers, gp_hta_chart_skew},
     {"collectives", "stragglers", "offsets", "collective_list"},
     "communication straggler collective",
     false},
    {"transfers",
     "Copies and memory",
     {NULL},
     {"copies", "memory", "range_memory"},
     "copy copies pageable memory",
     false},
    {"path",
     "Critical path",
     {gp_hta_chart_path, gp_hta_chart_path_graph},
     {"critical_path", "critical_names", "critical_pieces"},
     "critical path",
     false},
    {"hardware", "Hardware counters", {NULL}, {"sampled"}, "sampled", false},
    {"read", "What was read", {NULL}, {"inputs", "quality"}, "quality", false},
};
enum { THEMES = GP_COUNT(themes) };

/* Does it have any table? Charts show only what tables also have. */
static bool is_there(const struct page *p, const struct theme *t)
{
    for (int i = 0; i < MAX_TABLES && t->tables[i]; i++)
        if (gp_report_find(p->r, t->tables[i])) return true;
    return false;
}

/* Where in ID the first of the blank-separated WORDS begins; SIZE_MAX: none is in it. */
static size_t first_word(const char *id, const char *words)
{
    size_t first = SIZE_MAX;
    while (*words) {
        size_t n = strcspn(words, " ");
        for (const char *at = id; *at; at++)
            if (!strncmp(at, words, n) && (size_t)(at - id) < first) first = (size_t)(at - id);
        words += n + (words[n] == ' ');
    }
    return first;
}

/* The theme of a finding, from the first known word in its id; NULL. */
static const struct theme *theme_of(const struct page *p, const char *id)
{
    const struct theme *best = NULL;
    size_t best_at = SIZE_MAX;
    for (int i = 0; i < THEMES; i++) {
        size_t at = is_there(p, &themes[i]) ? first_word(id, themes[i].findings) : SIZE_MAX;
        if (at >= best_at) continue;
        best = &themes[i];
        best_at = at;
    }
    return best;
}

/* ---- the top of the page ---- */

static void put_facts(struct page *p)
{
    const struct gp_hta *h = p->whole;
    struct gp_hta_totals all = gp_hta_totals(h);
    if (p->all.ranks > 1) gp_buf_printf(&p->text, "%zu ranks \xC2\xB7 ", p->all.ranks);
    if (gp_hta_only_processes(h)) gp_buf_printf(&p->text, "%zu processes", p->all.devices);
    else gp_buf_printf(&p->text, "%zu GPU%s", p->all.devices, plural(p->all.devices));
    gp_sid name = h->devices.n ? h->devices.at[0].name : 0;
    for (size_t i = 1; i < h->devices.n; i++)
        if (h->devices.at[i].name != name) name = 0;
    if (name) gp_buf_printf(&p->text, " (%s)", gp_hta_str(h, name));
    gp_buf_puts(&p->text, " \xC2\xB7 ");
    gp_scale_put_count(&p->text, all.b.gpu_events);
    gp_buf_printf(&p->text, " GPU event%s \xC2\xB7 ", plural(all.b.gpu_events));
    gp_scale_put(&p->text, GP_UNIT_NS, all.b.gpu_ns);
    gp_buf_puts(&p->text, " of GPU work");
    gp_page_take(&p->w, &p->text, "p", "facts");
}

/* What the page is about: "a.trace, b.trace", without the folders. */
static void put_inputs(struct gp_buf *b, const struct gp_hta *h)
{
    for (size_t i = 0; i < h->inputs.n && i < 3; i++) {
        const char *path = gp_hta_str(h, h->inputs.at[i].path), *slash = strrchr(path, '/');
        if (i) gp_buf_puts(b, ", ");
        if (!strcmp(path, "-")) gp_buf_puts(b, "standard input");
        else gp_buf_puts(b, slash && slash[1] ? slash + 1 : path);
    }
    if (h->inputs.n > 3) gp_buf_printf(b, " and %zu more", h->inputs.n - 3);
}

static void put_header(struct page *p)
{
    gp_page_open(&p->w, "header", NULL);
    gp_page_element(&p->w, "p", "brand", GP_TEXT("gpuprof trace-hta"));
    gp_page_open(&p->w, "h1", NULL);
    put_inputs(&p->text, p->whole);
    gp_svg_text(&p->w, p->text.n ? p->text.data : "", p->text.n);
    p->text.n = 0;
    gp_svg_close(&p->w);
    put_facts(p);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* ---- figures that matter ---- */

static void open_figure(struct page *p, const char *name, const char *help)
{
    gp_page_open(&p->w, "div", "kpi");
    gp_page_element(&p->w, "dt", NULL, name, strlen(name));
    gp_page_open(&p->w, "dd", NULL);
    gp_svg_attr(&p->w, "title", help);
}

/* What it is a share of, or a note: the scratch text. */
static void close_figure(struct page *p)
{
    gp_svg_close(&p->w);
    gp_page_take(&p->w, &p->text, "dd", "of");
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* PART of WHOLE as the big number, with a bar below. */
static void put_share(struct page *p, int64_t part, int64_t whole)
{
    gp_scale_put_share(&p->text, part, whole);
    gp_page_element(&p->w, "b", NULL, p->text.data, p->text.n);
    p->text.n = 0;
    double pct = gp_pct(part, whole);
    gp_page_open(&p->w, "i", "meter");
    gp_buf_printf(&p->text, "--p:%.1f%%", pct < 0 ? 0 : pct > 100 ? 100 : pct);
    gp_svg_attr_n(&p->w, "style", p->text.data, p->text.n);
    p->text.n = 0;
    gp_svg_close(&p->w);
}

static void put_time(struct page *p, int64_t ns)
{
    gp_scale_put(&p->text, GP_UNIT_NS, ns);
}

static void put_busy(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    open_figure(p, "GPU busy",
                "union of all GPU events / time from the first to the last event, summed over the GPUs");
    put_share(p, b->busy_ns, b->span_ns);
    put_time(p, b->busy_ns);
    gp_buf_puts(&p->text, " of ");
    put_time(p, b->span_ns);
    if (p->all.devices > 1)
        gp_buf_printf(&p->text, gp_hta_only_processes(p->h) ? " in %zu processes" : " on %zu GPUs",
                      p->all.devices);
    close_figure(p);
}

static void put_idle(struct page *p)
{
    int most = 0;
    for (int c = 1; c < GP_IDLE_CAUSE_COUNT; c++)
        if (p->all.idle_cause_ns[c] > p->all.idle_cause_ns[most]) most = c;
    open_figure(p, "Idle", "no GPU event was running; every idle nanosecond has one cause");
    put_share(p, p->all.b.idle_ns, p->all.b.span_ns);
    if (p->all.idle_cause_ns[most] > 0) {
        gp_scale_put_share(&p->text, p->all.idle_cause_ns[most], p->all.b.span_ns);
        gp_buf_puts(&p->text, ": ");
        gp_buf_puts(&p->text, gp_idle_cause_brief((enum gp_idle_cause)most));
    } else {
        put_time(p, p->all.b.idle_ns);
    }
    close_figure(p);
}

static void put_launch_bound(struct page *p)
{
    int64_t bound = p->all.idle_cause_ns[GP_IDLE_HOST] + p->all.idle_cause_ns[GP_IDLE_LAUNCH];
    open_figure(p, "Launch-bound",
                "idle because the next kernel was not launched yet or was on its way to the GPU");
    put_share(p, bound, p->all.b.span_ns);
    put_time(p, bound);
    gp_buf_puts(&p->text, " idle, next kernel not launched in time");
    close_figure(p);
}

static void put_communication(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    if (!b->communication_ns) return;
    open_figure(p, "Exposed communication",
                "communication not overlapped by computing kernels / time of the GPUs");
    put_share(p, b->exposed_communication_ns, b->span_ns);
    gp_scale_put_share(&p->text, b->overlap_ns, b->communication_ns);
    gp_buf_puts(&p->text, " of ");
    put_time(p, b->communication_ns);
    gp_buf_puts(&p->text, " communication is hidden by compute");
    close_figure(p);
}

static void put_memory_time(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    if (gp_pct(b->exposed_memory_ns, b->span_ns) < 1) return;
    open_figure(p, "Exposed copies", "copies and sets not overlapped by kernels / time of the GPUs");
    put_share(p, b->exposed_memory_ns, b->span_ns);
    put_time(p, b->exposed_memory_ns);
    gp_buf_puts(&p->text, " of ");
    put_time(p, b->memory_ns);
    gp_buf_puts(&p->text, " copies and sets");
    close_figure(p);
}

static void put_tensor_cores(struct page *p)
{
    int64_t tensor = 0, gemm = 0, kernels = 0;
    for (size_t i = 0; i < p->h->devices.n; i++) {
        tensor += p->h->devices.at[i].tensor_core_ns;
        gemm += p->h->devices.at[i].gemm_ns;
        kernels += p->h->devices.at[i].kernel_ns;
    }
    if (!gemm && !tensor) return;
    open_figure(p, "Tensor cores", "kernels that use them, by name / all kernel time");
    put_share(p, tensor, kernels);
    gp_buf_puts(&p->text, "of ");
    put_time(p, kernels);
    gp_buf_puts(&p->text, " kernel time; ");
    if (gemm > tensor) put_time(p, gemm - tensor);
    gp_buf_puts(&p->text, gemm > tensor ? " more could use them" : "by name");
    close_figure(p);
}

static void put_steps(struct page *p)
{
    gp_step_spreads spreads = {0};
    gp_hta_step_spreads(p->whole, false, &spreads);
    const struct gp_step_spread *slow = NULL;
    for (size_t i = 0; i < spreads.n; i++)
        if (!slow || spreads.at[i].step_ns > slow->step_ns) slow = &spreads.at[i];
    if (slow && slow->slowest && slow->used) {
        open_figure(
            p, "Step time",
            "mean time from a step's first GPU event to that of the next step, on the slowest device");
        put_time(p, slow->step_ns);
        gp_page_take(&p->w, &p->text, "b", NULL);
        gp_buf_printf(&p->text, slow->used > 1 ? "mean of %zu step%s" : "of %zu step%s", slow->used,
                      plural(slow->used));
        if (slow->used > 1) {
            gp_buf_puts(&p->text, "; median ");
            put_time(p, slow->median_ns);
            gp_buf_puts(&p->text, ", slowest ");
            put_time(p, slow->slowest->b.span_ns);
        }
        close_figure(p);
    }
    GP_VEC_FREE(&spreads);
}

static void put_peak(struct page *p)
{
    const struct gp_memory_stat *most = NULL;
    for (size_t i = 0; i < p->whole->memory.n; i++) {
        const struct gp_memory_stat *m = &p->whole->memory.at[i];
        if (m->device >= 0 && (!most || m->peak_bytes > most->peak_bytes)) most = m;
    }
    if (!most || most->peak_bytes <= 0) return;
    open_figure(p, "Peak memory", "most bytes allocated at once on one GPU, as recorded by the allocator");
    gp_scale_put(&p->text, GP_UNIT_BYTES, most->peak_bytes);
    gp_page_take(&p->w, &p->text, "b", NULL);
    gp_buf_puts(&p->text, "on ");
    if (most->rank >= 0) gp_buf_printf(&p->text, "rank %d, ", most->rank);
    gp_buf_printf(&p->text, "GPU %lld", (long long)most->device);
    if (most->peak_op) gp_buf_printf(&p->text, ", in %s", gp_hta_str(p->whole, most->peak_op));
    close_figure(p);
}

static void put_shares(struct page *p)
{
    put_busy(p);
    put_idle(p);
    put_launch_bound(p);
    put_communication(p);
    put_memory_time(p);
}

static void put_figures(struct page *p)
{
    if (!p->h->devices.n) return;
    gp_page_open(&p->w, "dl", "kpis");
    if (!p->h->untimed) put_shares(p);
    put_tensor_cores(p);
    put_steps(p);
    put_peak(p);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* ---- findings ---- */

static bool has_part(const char *s, size_t n, const char *part, size_t part_n)
{
    for (size_t i = 0; part_n && i + part_n <= n; i++)
        if (!memcmp(s + i, part, part_n)) return true;
    return false;
}

/* Has a row of the table NAME in it, so that its filter would leave that row? */
static bool tells(const struct gp_report_table *t, const char *name, size_t n)
{
    for (size_t i = 0; t && i < t->cells.n; i++) {
        const struct gp_cell *c = &t->cells.at[i];
        if (c->type != GP_CELL_NAME || c->none) continue;
        if (has_part(c->text, c->text_len, name, n) || has_part(c->label, c->label_len, name, n)) return true;
    }
    return false;
}

/* The name of a kernel is its label; others are theirs already. */
static void put_label(struct page *p, const char *name, size_t n)
{
    struct gp_buf plain = {0}, label = {0};
    gp_sid sid = gp_intern_find(&p->h->strings, name, n);
    bool kernel = false;
    for (size_t i = 0; i < p->h->kernels.n && !kernel; i++) kernel = p->h->kernels.at[i].name == sid;
    if (kernel) gp_name_demangle(&plain, name, n);
    if (kernel) gp_name_kernel_label(&label, plain.data, plain.n);
    gp_page_element(&p->w, "code", NULL, label.n ? label.data : name, label.n ? label.n : n);
    gp_buf_release(&plain);
    gp_buf_release(&label);
}

/* The name that a finding is about; where a table of its theme has rows with it, a link that leaves these. */
static void put_where(struct page *p, const struct theme *t, const char *name, size_t n)
{
    const char *table = NULL;
    for (int i = 0; t && !table && i < MAX_TABLES && t->tables[i]; i++)
        if (tells(gp_report_find(p->r, t->tables[i]), name, n)) table = t->tables[i];
    if (table) {
        gp_buf_printf(&p->text, "#%s=", table);
        gp_page_address_put(&p->text, name, n, "-._~");
        gp_page_open(&p->w, "a", NULL);
        gp_svg_attr_n(&p->w, "href", p->text.data, p->text.n);
        p->text.n = 0;
    }
    put_label(p, name, n);
    if (table) gp_svg_close(&p->w);
    gp_svg_text(&p->w, GP_TEXT(" "));
}

/* A link to PAGE with a search for the name that a finding is about, up to the " in " that introduces its
 * context. */
static void put_evidence(struct page *p, const char *page, const char *text, const char *view,
                         const char *name)
{
    static const char special[] = "\\^$.|?*+()[]{}";
    const char *in = strstr(name, " in "), *below = strstr(name, " > ");
    size_t n = in ? (size_t)(in - name) : strlen(name);
    if (below && (size_t)(below - name) < n) n = (size_t)(below - name);
    struct gp_buf pattern = {0};
    for (size_t i = 0; i < n; i++) {
        if (strchr(special, name[i])) gp_buf_putc(&pattern, '\\');
        gp_buf_putc(&pattern, name[i]);
    }
    gp_page_text(&p->w, " \xC2\xB7 ");
    gp_page_open(&p->w, "a", NULL);
    gp_page_file_put(&p->text, page);
    gp_buf_printf(&p->text, "#%ss=", view);
    gp_page_address_put(&p->text, pattern.data, pattern.n, "-._~");
    gp_svg_attr_n(&p->w, "href", p->text.data, p->text.n);
    p->text.n = 0;
    gp_page_text(&p->w, text);
    gp_svg_close(&p->w);
    gp_buf_release(&pattern);
}

/* A link to the place of the finding ID in the timeline: the longest gap of its cause. */
static void put_place(struct page *p, const char *page, const char *id)
{
    gp_page_text(&p->w, " \xC2\xB7 ");
    gp_page_open(&p->w, "a", NULL);
    gp_page_file_put(&p->text, page);
    gp_buf_puts(&p->text, "#find=");
    gp_page_address_put(&p->text, id, strlen(id), "-._~");
    gp_svg_attr_n(&p->w, "href", p->text.data, p->text.n);
    p->text.n = 0;
    gp_page_text(&p->w, "timeline");
    gp_svg_close(&p->w);
}

static void put_finding(struct page *p, const struct gp_finding *f)
{
    const struct gp_hta *h = p->h;
    gp_page_open(&p->w, "li", NULL);
    gp_page_open(&p->w, "span", "cost");
    gp_buf_printf(&p->text, f->share_pct < 9.95 ? "%.1f%%" : "%.0f%%", f->share_pct);
    gp_page_take(&p->w, &p->text, "b", NULL);
    put_time(p, f->time_ns);
    gp_page_take(&p->w, &p->text, "span", NULL);
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "div", NULL);
    gp_page_element(&p->w, "p", NULL, gp_hta_str(h, f->text), gp_string_len(&h->strings, f->text));
    const struct theme *t = theme_of(p, gp_hta_str(h, f->id));
    gp_page_open(&p->w, "p", "at");
    if (f->rank >= 0) {
        gp_buf_printf(&p->text, "rank %d ", f->rank);
        gp_page_take(&p->w, &p->text, "span", NULL);
    }
    if (f->where) {
        gp_page_text(&p->w, f->rank >= 0 ? "\xC2\xB7 see " : "see ");
        put_where(p, t, gp_hta_str(h, f->where), gp_string_len(&h->strings, f->where));
    }
    if (t) {
        if (f->where || f->rank >= 0) gp_page_text(&p->w, "\xC2\xB7 ");
        gp_page_link(&p->w, t->id, t->title);
    }
    bool idle = t && !strcmp(t->id, "why-idle");
    if (f->where && p->o->flame)
        put_evidence(p, p->o->flame, "flame graph", idle ? "v=idle&" : "", gp_hta_str(h, f->where));
    if (idle && p->o->timeline) put_place(p, p->o->timeline, gp_hta_str(h, f->id));
    else if (f->where && p->o->timeline)
        put_evidence(p, p->o->timeline, "timeline", "", gp_hta_str(h, f->where));
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

static void put_findings(struct page *p)
{
    if (!p->h->findings.n) return;
    gp_page_open(&p->w, "section", "findings");
    gp_svg_attr(&p->w, "id", "findings");
    gp_page_element(&p->w, "h2", NULL, GP_TEXT("What costs the most"));
    gp_page_open(&p->w, "ol", NULL);
    for (size_t i = 0; i < p->h->findings.n; i++) put_finding(p, &p->h->findings.at[i]);
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

/* ---- themes ---- */

static void put_contents(struct page *p)
{
    gp_page_contents(&p->w);
    for (int i = 0; i < THEMES; i++)
        if (is_there(p, &themes[i])) gp_page_entry(&p->w, themes[i].id, themes[i].title);
    gp_page_close(&p->w);
}

static const char *class_swatch(int class)
{
    if (class & GP_ROW_HAS_KIND) return gp_palette_class((enum gp_frame_kind)gp_row_kind((unsigned)class));
    static const char *const k[] = {[GP_CLASS_COMPUTE] = "gemm",
                                    [GP_CLASS_COMMUNICATION] = "communication",
                                    [GP_CLASS_MEMORY] = "memcpy"};
    return class > 0 && class <= GP_CLASS_COUNT ? k[class - 1] : NULL;
}

static void put_theme(struct page *p, const struct theme *t)
{
    if (!is_there(p, t)) return;
    gp_page_open(&p->w, "section", "theme");
    gp_svg_attr(&p->w, "id", t->id);
    gp_page_element(&p->w, "h2", NULL, t->title, strlen(t->title));
    gp_page_open(&p->w, "div", "charts");
    for (int i = 0; i < MAX_CHARTS && t->charts[i]; i++) t->charts[i](&p->w, t->steps ? p->h : p->whole);
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
    bool open = true;
    for (int i = 0; i < MAX_TABLES && t->tables[i]; i++) {
        const struct gp_report_table *table = gp_report_find(p->r, t->tables[i]);
        if (!table) continue;
        gp_table_html_write(&p->w, table,
                            &(struct gp_table_html_opts){.open = open && !table->detail,
                                                         .max_rows = p->o->max_rows,
                                                         .swatch = class_swatch});
        open = false;
    }
    gp_svg_close(&p->w);
    gp_svg_newline(&p->w);
}

void gp_hta_html_write(struct gp_buf *out, const struct gp_hta *h, const struct gp_report *r,
                       const struct gp_hta_html_opts *o)
{
    const struct gp_hta *about = gp_hta_about(h, o->whole);
    struct page p = {.h = about, .whole = h, .r = r, .o = o, .all = gp_hta_totals(about)};
    gp_buf_puts(&p.text, "trace-hta: ");
    put_inputs(&p.text, h);
    gp_page_begin(&p.w, out, gp_buf_str(&p.text), &gp_page_report);
    p.text.n = 0;
    gp_page_open(&p.w, "main", NULL);
    put_header(&p);
    gp_page_quality(&p.w, r);
    gp_page_verdict(&p.w, r);
    put_figures(&p);
    put_findings(&p);
    put_contents(&p);
    for (int i = 0; i < THEMES; i++) put_theme(&p, &themes[i]);
    gp_page_foot(&p.w, "trace-hta", o->options, NOTE, o->json != NULL);
    gp_svg_close(&p.w);
    if (o->json) gp_page_json(&p.w, "gpuprof-answer", o->json, o->json_n);
    gp_page_end(&p.w, &gp_page_report);
    gp_buf_release(&p.text);
}
