#include "render/hta/hta_priv.h"

#include <string.h>
#include "analyze/hta/hta.h"
#include "analyze/math/sums.h"
#include "analyze/names/classify.h"
#include "analyze/names/names.h"
#include "formats/base/buf.h"
#include "formats/base/scale.h"
#include "formats/base/str.h"
#include "render/draw/palette.h"
#include "render/page/page_doc.h"
#include "render/page/page_report.h"

static const char NOTE[] =
    "Times are exact integer nanoseconds, shown to three digits; shares are of the GPUs' "
    "time from first to last event unless a column says otherwise.";

struct page {
    struct gp_svg w;
    struct gp_buf text;         /* scratch */
    const struct gp_hta *h;     /* the first subject of the page: the steps where there are any */
    const struct gp_hta *whole; /* everything */
    const struct gp_hta_answer *a;
    struct gp_hta_totals all;
    struct gp_page_doc doc;
};

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* ---- sections: charts and tables that belong together ---- */

GP_PAGE_DRAW(put_where_charts, gp_hta_chart_devices(&p->w, p->h))
GP_PAGE_DRAW(put_idle_charts, gp_hta_chart_idle(&p->w, p->h); gp_hta_chart_culprits(&p->w, p->h))
GP_PAGE_DRAW(put_work_charts, gp_hta_chart_kernels(&p->w, p->h); gp_hta_chart_durations(&p->w, p->h))
GP_PAGE_DRAW(put_step_charts, gp_hta_chart_steps(&p->w, p->whole))
GP_PAGE_DRAW(put_rank_charts, gp_hta_chart_ranks(&p->w, p->whole))
GP_PAGE_DRAW(put_communication_charts, gp_hta_chart_stragglers(&p->w, p->whole);
             gp_hta_chart_skew(&p->w, p->whole))

GP_PAGE_DRAW(put_path_charts, gp_hta_chart_path(&p->w, p->whole); gp_hta_chart_path_graph(&p->w, p->whole))

enum { WHERE, IDLE, WORK, LAUNCHING, STEPS, RANKS, COMMUNICATION, TRANSFERS, PATH, HARDWARE, READ, SECTIONS };
static const struct gp_page_section sections[SECTIONS] = {
    [WHERE] = {"where", "Where the time went", .draw = put_where_charts, .box = "charts",
               .tables = {"breakdown", "devices", "streams"}},
    [IDLE] = {"why-idle", "Why the GPUs were idle", .draw = put_idle_charts, .box = "charts",
              .tables = {"culprits", "idle", "idle_list"}},
    [WORK] = {"gpu-work", "What the GPUs did", .draw = put_work_charts, .box = "charts",
              .tables = {"kernels", "operators", "operators_by_shape", "ranges", "modules", "functions"}},
    [LAUNCHING] = {"launching", "Launches", .tables = {"launches", "launch_times", "api", "graphs"}},
    [STEPS] = {"over-steps", "Steps", .draw = put_step_charts, .box = "charts",
               .tables = {"parts", "steps", "step_list"}},
    [RANKS] = {"slow-ranks", "Who holds up the others", .draw = put_rank_charts, .box = "charts",
               .tables = {"slow"}},
    [COMMUNICATION] = {"between-ranks", "Communication", .draw = put_communication_charts, .box = "charts",
                       .tables = {"collectives", "stragglers", "offsets", "collective_list"}},
    [TRANSFERS] = {"transfers", "Copies and memory", .tables = {"copies", "memory", "range_memory"}},
    [PATH] = {"path", "Critical path", .draw = put_path_charts, .box = "charts",
              .tables = {"critical_path", "critical_names", "critical_pieces"}},
    [HARDWARE] = {"hardware", "Hardware counters, clocks and energy",
                  .tables = {"clocks", "energy", "sampled"}},
    [READ] = {"read", "What was read", .tables = {"inputs", "quality"}},
};

/* Words in the ids of findings that belong to a section. */
static const char *const findings_of[SECTIONS] = {
    [WHERE] = "exposed_memory",
    [IDLE] = "idle",
    [WORK] = "kernel tensor gemm occupancy grid",
    [LAUNCHING] = "launch short api queue graph",
    [STEPS] = "step",
    [RANKS] = "slow_rank slow_node slow_kernel slow_gpu slow_in_turn",
    [COMMUNICATION] = "communication straggler collective",
    [TRANSFERS] = "copy copies pageable memory",
    [PATH] = "critical path",
    [HARDWARE] = "sampled clock energy",
    [READ] = "quality",
};

/* The place in ID of the first of the blank-separated WORDS; SIZE_MAX: none is in it. */
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

/* The section of a finding, from the first known word in its id; NULL. */
static const struct gp_page_section *section_of(const struct page *p, const char *id)
{
    const struct gp_page_section *best = NULL;
    size_t best_at = SIZE_MAX;
    for (int i = 0; i < SECTIONS; i++) {
        size_t at = gp_page_has(&p->doc, &sections[i]) ? first_word(id, findings_of[i]) : SIZE_MAX;
        if (at >= best_at) continue;
        best = &sections[i];
        best_at = at;
    }
    return best;
}

/* ---- the top of the page ---- */

static void put_facts(struct page *p)
{
    struct gp_buf *b = &p->doc.facts;
    const struct gp_hta *h = p->whole;
    struct gp_hta_totals all = gp_hta_totals(h);
    if (p->all.ranks > 1) gp_buf_printf(b, "%zu ranks \xC2\xB7 ", p->all.ranks);
    if (gp_hta_only_processes(h)) gp_buf_printf(b, "%zu processes", p->all.devices);
    else gp_buf_printf(b, "%zu GPU%s", p->all.devices, plural(p->all.devices));
    gp_sid name = h->devices.n ? h->devices.at[0].name : 0;
    for (size_t i = 1; i < h->devices.n; i++)
        if (h->devices.at[i].name != name) name = 0;
    if (name) gp_buf_printf(b, " (%s)", gp_hta_str(h, name));
    gp_buf_printf(b, " \xC2\xB7 %s GPU event%s \xC2\xB7 %s of GPU work", GP_COUNTED(all.b.gpu_events),
                  plural(all.b.gpu_events), GP_NS(all.b.gpu_ns));
}

/* ---- figures that matter ---- */

static struct gp_page_figure *figure(struct page *p, const char *name, const char *help)
{
    struct gp_page_figure *f = gp_page_figure(&p->doc, name);
    f->help = help;
    return f;
}

/* PART of WHOLE as the number, with a bar below; its words, which follow. */
static struct gp_buf *share(struct page *p, const char *name, const char *help, int64_t part, int64_t whole)
{
    struct gp_page_figure *f = figure(p, name, help);
    gp_page_figure_share(f, part, whole);
    return &f->words;
}

static void put_busy(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    struct gp_buf *words =
        share(p, "GPU busy",
              "union of all GPU events / time from the first to the last event, summed over the GPUs",
              b->busy_ns, b->span_ns);
    gp_buf_printf(words, "%s of %s", GP_NS(b->busy_ns), GP_NS(b->span_ns));
    if (p->all.devices > 1)
        gp_buf_printf(words, gp_hta_only_processes(p->h) ? " in %zu processes" : " on %zu GPUs",
                      p->all.devices);
}

static void put_idle(struct page *p)
{
    int most = 0;
    for (int c = 1; c < GP_IDLE_CAUSE_COUNT; c++)
        if (p->all.idle_cause_ns[c] > p->all.idle_cause_ns[most]) most = c;
    struct gp_buf *words = share(p, "Idle", "no GPU event was running; every idle nanosecond has one cause",
                                 p->all.b.idle_ns, p->all.b.span_ns);
    if (p->all.idle_cause_ns[most] > 0)
        gp_buf_printf(words, "%s: %s", GP_SHARE(p->all.idle_cause_ns[most], p->all.b.span_ns),
                      gp_idle_cause_text((enum gp_idle_cause)most));
    else gp_scale_put(words, GP_UNIT_NS, p->all.b.idle_ns);
}

static void put_communication(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    if (!b->communication_ns) return;
    struct gp_buf *words = share(p, "Exposed communication",
                                 "communication not overlapped by computing kernels / time of the GPUs",
                                 b->exposed_communication_ns, b->span_ns);
    gp_buf_printf(words, "%s of %s communication is hidden by compute",
                  GP_SHARE(b->overlap_ns, b->communication_ns), GP_NS(b->communication_ns));
}

static void put_memory_time(struct page *p)
{
    const struct gp_breakdown *b = &p->all.b;
    if (gp_pct(b->exposed_memory_ns, b->span_ns) < 1) return;
    struct gp_buf *words =
        share(p, "Exposed copies", "copies and sets not overlapped by kernels / time of the GPUs",
              b->exposed_memory_ns, b->span_ns);
    gp_buf_printf(words, "%s of %s copies and sets", GP_NS(b->exposed_memory_ns), GP_NS(b->memory_ns));
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
    struct gp_buf *words =
        share(p, "Tensor cores", "kernels that use them, by name / all kernel time", tensor, kernels);
    gp_buf_printf(words, "of %s kernel time; ", GP_NS(kernels));
    if (gemm > tensor) gp_buf_printf(words, "%s more could use them", GP_NS(gemm - tensor));
    else gp_buf_puts(words, "by name");
}

static void put_steps(struct page *p)
{
    gp_step_spreads spreads = {0};
    gp_hta_step_spreads(p->whole, false, &spreads);
    const struct gp_step_spread *slow = NULL;
    for (size_t i = 0; i < spreads.n; i++)
        if (!slow || spreads.at[i].step_ns > slow->step_ns) slow = &spreads.at[i];
    if (slow && slow->slowest && slow->used) {
        struct gp_page_figure *f =
            figure(p, "Step time",
                   "mean time from a step's first GPU event to that of the next step, on the slowest device");
        gp_scale_put(&f->value, GP_UNIT_NS, slow->step_ns);
        gp_buf_printf(&f->words, slow->used > 1 ? "mean of %zu step%s" : "of %zu step%s", slow->used,
                      plural(slow->used));
        if (slow->used > 1)
            gp_buf_printf(&f->words, "; median %s, slowest %s", GP_NS(slow->median_ns),
                          GP_NS(slow->slowest->b.span_ns));
    }
    GP_VEC_FREE(&spreads);
}

static void put_peak(struct page *p)
{
    const struct gp_memory_stat *most = NULL;
    GP_EACH(const struct gp_memory_stat, m, p->whole->memory)
        if (m->device >= 0 && (!most || m->peak_bytes > most->peak_bytes)) most = m;
    if (!most || most->peak_bytes <= 0) return;
    struct gp_page_figure *f =
        figure(p, "Peak memory", "most bytes allocated at once on one GPU, as recorded by the allocator");
    gp_scale_put(&f->value, GP_UNIT_BYTES, most->peak_bytes);
    gp_buf_puts(&f->words, "on ");
    if (most->rank >= 0) gp_buf_printf(&f->words, "rank %d, ", most->rank);
    gp_buf_printf(&f->words, "GPU %lld", (long long)most->device);
    if (most->peak_op) gp_buf_printf(&f->words, ", in %s", gp_hta_str(p->whole, most->peak_op));
}

static void put_shares(struct page *p)
{
    put_busy(p);
    put_idle(p);
    int64_t bound = p->all.idle_cause_ns[GP_IDLE_HOST] + p->all.idle_cause_ns[GP_IDLE_LAUNCH];
    struct gp_buf *words = share(
        p, "Launch-bound", "idle because the next kernel was not launched yet or was on its way to the GPU",
        bound, p->all.b.span_ns);
    gp_buf_printf(words, "%s idle, next kernel not launched in time", GP_NS(bound));
    put_communication(p);
    put_memory_time(p);
}

/* ---- findings ---- */

static bool has_part(const char *s, size_t n, const char *part, size_t part_n)
{
    for (size_t i = 0; part_n && i + part_n <= n; i++)
        if (!memcmp(s + i, part, part_n)) return true;
    return false;
}

/* Has a row of the table NAME in it, so that the filter would keep that row? */
static bool has_name(const struct gp_report_table *t, const char *name, size_t n)
{
    for (size_t i = 0; t && i < t->cells.n; i++) {
        const struct gp_cell *c = &t->cells.at[i];
        if (c->type != GP_CELL_NAME || c->none) continue;
        if (has_part(c->text, c->text_len, name, n) || has_part(c->label, c->label_len, name, n)) return true;
    }
    return false;
}

/* The name in a finding; where a table of its section has rows with it, a link that filters for these. */
static void put_where(struct page *p, const struct gp_page_section *t, const char *name, size_t n)
{
    const char *table = NULL;
    for (int i = 0; t && !table && i < GP_PAGE_TABLES && t->tables[i]; i++)
        if (has_name(gp_report_find(p->doc.report, t->tables[i]), name, n)) table = t->tables[i];
    if (table) {
        gp_buf_printf(&p->text, "#%s=", table);
        gp_page_address_put(&p->text, name, n, "-._~");
        gp_page_open(&p->w, "a", NULL);
        gp_svg_attr_n(&p->w, "href", p->text.data, p->text.n);
        p->text.n = 0;
    }
    /* The name of a kernel is its label; others are theirs already. */
    struct gp_buf plain = {0}, label = {0};
    gp_sid sid = gp_intern_find(&p->h->strings, name, n);
    bool kernel = false;
    for (size_t i = 0; i < p->h->kernels.n && !kernel; i++) kernel = p->h->kernels.at[i].name == sid;
    if (kernel) gp_name_demangle(&plain, name, n);
    if (kernel) gp_name_kernel_label(&label, plain.data, plain.n);
    gp_page_element(&p->w, "code", NULL, label.n ? label.data : name, label.n ? label.n : n);
    gp_buf_release(&plain);
    gp_buf_release(&label);
    if (table) gp_svg_close(&p->w);
    gp_svg_text(&p->w, GP_TEXT(" "));
}

/* A link to another PAGE, with the N bytes at S behind HEAD. */
static void put_link(struct page *p, const char *page, const char *head, const char *s, size_t n,
                     const char *words)
{
    gp_page_text(&p->w, " \xC2\xB7 ");
    gp_page_open(&p->w, "a", NULL);
    gp_page_file_put(&p->text, page);
    gp_buf_puts(&p->text, head);
    gp_page_address_put(&p->text, s, n, "-._~");
    gp_svg_attr_n(&p->w, "href", p->text.data, p->text.n);
    p->text.n = 0;
    gp_page_text(&p->w, words);
    gp_svg_close(&p->w);
}

/* A link to the flame graph with a search for the name that a finding is about, up to the " in " that
 * introduces its context. */
static void put_evidence(struct page *p, const char *head, const char *name)
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
    put_link(p, p->a->flame, head, pattern.data, pattern.n, "flame graph");
    gp_buf_release(&pattern);
}

static void put_finding(struct page *p, const struct gp_finding *f)
{
    const struct gp_hta *h = p->h;
    gp_page_open(&p->w, "li", f->part_of ? "part" : NULL);
    gp_page_open(&p->w, "span", "cost");
    gp_buf_printf(&p->text, f->share_pct < 9.95 ? "%.1f%%" : "%.0f%%", f->share_pct);
    gp_page_take(&p->w, &p->text, "b", NULL);
    gp_scale_put(&p->text, GP_UNIT_NS, f->time_ns);
    gp_page_take(&p->w, &p->text, "span", NULL);
    gp_svg_close(&p->w);
    gp_page_open(&p->w, "div", NULL);
    if (f->part_of) gp_finding_put_part(&p->text, h, f);
    else gp_buf_puts(&p->text, gp_hta_str(h, f->text));
    gp_page_take(&p->w, &p->text, "p", NULL);
    const struct gp_page_section *t = section_of(p, gp_hta_str(h, f->id));
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
    if (f->where && p->a->flame) put_evidence(p, idle ? "#v=idle&s=" : "#s=", gp_hta_str(h, f->where));
    if (p->a->timeline) /* which knows the place of the finding */
        put_link(p, p->a->timeline, "#find=", gp_hta_str(h, f->id), strlen(gp_hta_str(h, f->id)), "timeline");
    gp_svg_close(&p->w);
    gp_svg_close(&p->w);
    gp_svg_close_line(&p->w);
}

static void put_findings(void *page)
{
    struct page *p = page;
    if (!p->h->findings.n) return;
    gp_page_open(&p->w, "section", "findings");
    gp_svg_attr(&p->w, "id", "findings");
    gp_page_put(&p->w, "h2", NULL, gp_hta_findings.title);
    gp_page_open(&p->w, "ol", NULL);
    for (size_t i = 0; i < p->h->findings.n; i++) put_finding(p, &p->h->findings.at[i]);
    gp_svg_close(&p->w);
    gp_svg_close_line(&p->w);
}

/* ---- all of it ---- */

static const char *class_swatch(int class)
{
    if (class & GP_ROW_HAS_KIND) return gp_palette_class((enum gp_frame_kind)gp_row_kind((unsigned)class));
    static const char *const k[] = {[GP_CLASS_COMPUTE] = "gemm",
                                    [GP_CLASS_COMMUNICATION] = "communication",
                                    [GP_CLASS_MEMORY] = "memcpy"};
    return class > 0 && class <= GP_CLASS_COUNT ? k[class - 1] : NULL;
}

void gp_hta_html_write(struct gp_buf *out, const struct gp_hta_answer *a, const struct gp_report *r,
                       const struct gp_buf *json)
{
    const struct gp_hta *h = a->h, *about = gp_hta_about(h, a->whole);
    struct gp_buf inputs = {0};
    /* The names of the inputs: "a.trace, b.trace", without the folders. */
    for (size_t i = 0; i < h->inputs.n && i < 3; i++) {
        const char *path = gp_hta_str(h, h->inputs.at[i].path), *slash = strrchr(path, '/');
        if (i) gp_buf_puts(&inputs, ", ");
        if (!strcmp(path, "-")) gp_buf_puts(&inputs, "standard input");
        else gp_buf_puts(&inputs, slash && slash[1] ? slash + 1 : path);
    }
    if (h->inputs.n > 3) gp_buf_printf(&inputs, " and %zu more", h->inputs.n - 3);
    struct page p = {.h = about,
                     .whole = h,
                     .a = a,
                     .all = gp_hta_totals(about),
                     .doc = {.tool = "trace-hta",
                             .parts = &gp_page_report,
                             .report = r,
                             .input = gp_buf_str(&inputs),
                             .findings = put_findings,
                             .sections = sections,
                             .sections_n = SECTIONS,
                             .page = &p,
                             .options = a->options,
                             .note = NOTE,
                             .json = json,
                             .swatch = class_swatch}};
    put_facts(&p);
    if (p.h->devices.n) {
        if (!p.h->untimed) put_shares(&p);
        put_tensor_cores(&p);
        put_steps(&p);
        put_peak(&p);
    }
    gp_page_write(&p.w, out, &p.doc);
    gp_buf_release(&inputs);
    gp_buf_release(&p.text);
}
