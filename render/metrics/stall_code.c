#include "render/metrics/stall_code.h"

#include <stdio.h>
#include <string.h>
#include "formats/base/order.h"
#include "formats/base/scale.h"
#include "render/page/page_html.h"

enum {
    KERNELS = 12,     /* that are shown */
    OPEN = 3,         /* of them, unfolded */
    FILES = 4,        /* of a kernel */
    HOT = 12,         /* lines around which there is code */
    AROUND = 3,       /* lines before and after each */
    WHOLE = 60,       /* as many lines are shown without gaps */
    LINE_BYTES = 400, /* of a line */
    TAB = 4,
};

struct sheet {
    struct gp_svg *w;
    struct gp_buf text; /* scratch */
    const struct gp_stalls *s;
    const struct gp_stalled *k;
    GP_VEC(struct gp_stall_part) parts; /* of one file of the kernel, by place; N: its rank in the kernel */
    double longest;                     /* the share that fills a bar */
};

static uint64_t at_of(const struct gp_stall_part *p) { return p->line ? p->line : p->offset; }

GP_COMPARE(by_place, struct gp_stall_part, GP_KEY(at_of(x), at_of(y)))

/* ---- what the warps did ---- */

/* Reasons that the same change mends have one colour; then come those that nothing mends. */
enum { OTHER = GP_STALL_CAUSE_COUNT, ANOTHER, ISSUED, COLOURS };

static int colour_of(uint32_t reason)
{
    if (reason == GP_STALL_COUNT) return ISSUED;
    return reason == GP_STALL_NOT_SELECTED ? ANOTHER : (int)gp_stall_cause_of((enum gp_stall)reason);
}

static const char *class_of(int colour)
{
    static const char *const more[] = {"other", "not_selected", "issued"};
    return colour < OTHER ? gp_stall_cause_name((enum gp_stall_cause)colour) : more[colour - OTHER];
}

static const char *words_of(int colour)
{
    static const char *const more[] = {"other", "another warp issued", "issued"};
    return colour < OTHER ? gp_stall_cause_text((enum gp_stall_cause)colour) : more[colour - OTHER];
}

static void put_block(struct gp_svg *w, const char *class, double pct)
{
    char name[40], style[40];
    snprintf(name, sizeof name, "s-%s", class);
    snprintf(style, sizeof style, "width:%.2f%%", pct);
    gp_page_open(w, "i", name);
    if (pct > 0) gp_svg_attr(w, "style", style);
    gp_svg_close(w);
}

static void put_bar(struct sheet *h, const struct gp_stall_part *p)
{
    const double whole = (double)p->samples * h->longest / p->pct;
    gp_page_open(h->w, "span", "bar");
    for (int c = 0; c < COLOURS; c++)
        for (uint32_t r = 0; r <= GP_STALL_COUNT; r++)
            if (p->of[r] && colour_of(r) == c) put_block(h->w, class_of(c), 100 * (double)p->of[r] / whole);
    gp_svg_close(h->w);
}

/* "62.10% of the kernel's samples, +-0.40 points; 1,234 samples; long_scoreboard 1,000, 81%; ...". */
static void put_words(struct gp_buf *b, const struct gp_stall_part *p)
{
    gp_buf_printf(b, "%.2f%% of the kernel's samples, +-%.2f points; %s samples", p->pct, p->error_pct,
                  GP_COUNTED(p->samples));
    for (uint32_t r = 0; r <= GP_STALL_COUNT; r++) {
        if (!p->of[r]) continue;
        gp_buf_printf(b, "; %s %s, %s", r < GP_STALL_COUNT ? gp_stall_name((enum gp_stall)r) : "issued",
                      GP_COUNTED(p->of[r]), GP_SHARE(p->of[r], p->samples));
    }
}

/* ---- lines ---- */

static void put_cell(struct sheet *h, const char *class) { gp_page_take(h->w, &h->text, "td", class); }

/* The N bytes at TEXT; NULL: not known. P NULL: nothing was sampled there. */
static void put_line(struct sheet *h, uint64_t at, bool offset, const char *text, size_t n,
                     const struct gp_stall_part *p)
{
    struct gp_svg *w = h->w;
    gp_page_open(w, "tr", !p ? NULL : p->n ? "sampled" : "sampled hottest");
    if (p) {
        put_words(&h->text, p);
        gp_svg_attr(w, "title", gp_buf_str(&h->text));
        gp_svg_attr(w, "tabindex", "0");
        h->text.n = 0;
        gp_buf_printf(&h->text, p->pct < 0.05 ? "<0.1%%" : "%.1f%%", p->pct);
    }
    put_cell(h, "share");
    if (p && p->pct >= 0.05)
        gp_buf_printf(&h->text, p->error_pct < 1 ? "\xc2\xb1%.2f" : "\xc2\xb1%.1f",
                      p->error_pct < 0.01 ? 0.01 : p->error_pct);
    put_cell(h, "error");
    gp_page_open(w, "td", NULL);
    if (p) put_bar(h, p);
    gp_svg_close(w);
    gp_buf_printf(&h->text, offset ? "%04llx" : "%llu", (unsigned long long)at);
    put_cell(h, "at");
    for (size_t i = 0; i < n && i < LINE_BYTES; i++) {
        if (text[i] != '\t') gp_buf_putc(&h->text, text[i]);
        else do
                gp_buf_putc(&h->text, ' ');
            while (h->text.n % TAB);
    }
    if (!text && p->reason < GP_STALL_COUNT) gp_buf_puts(&h->text, gp_stall_name((enum gp_stall)p->reason));
    put_cell(h, text ? "text" : "text reason");
    gp_page_close(w);
}

/* The rows of CODE around the hottest parts, or all where these are close together. */
static void put_code(struct sheet *h, const struct gp_listing *code)
{
    const struct gp_listing_row *rows = code->rows.at;
    const struct gp_stall_part *next = h->parts.at, *end = next + h->parts.n;
    const size_t span = (size_t)(gp_listing_row(code, at_of(end - 1)) - gp_listing_row(code, at_of(next)));
    const bool whole = span < WHOLE;
    bool *shown = gp_zalloc(code->rows.n * sizeof *shown), first = true;
    for (const struct gp_stall_part *p = next; p < end; p++) {
        const size_t at = (size_t)(gp_listing_row(code, at_of(p)) - rows),
                     to = at + AROUND + (whole ? span : 0);
        for (size_t i = at > AROUND ? at - AROUND : 0; i < code->rows.n && i <= to; i++)
            shown[i] |= whole ? p == next : p->n < HOT;
    }
    for (size_t i = 0; i < code->rows.n; i++) {
        while (next < end && at_of(next) < rows[i].at) next++;
        if (!shown[i]) continue;
        if (!first && !shown[i - 1]) {
            gp_buf_puts(&h->text, "\xe2\x8b\xaf");
            gp_page_open(h->w, "tr", "gap");
            put_cell(h, NULL);
            gp_page_close(h->w);
        }
        put_line(h, rows[i].at, !h->parts.at->line, code->text.data + rows[i].from, rows[i].n,
                 next < end && at_of(next) == rows[i].at ? next : NULL);
        first = false;
    }
    free(shown);
}

/* ---- files ---- */

/* The name of the file, and how far its text can be trusted. */
static void put_caption(struct sheet *h, const struct gp_listing *code, bool shown)
{
    static const char *const states[] = {", which may have changed since the recording",
                                         ", not changed since the recording began",
                                         ", which is newer than the recording, so lines may have moved"};
    const gp_sid file = h->parts.at->file;
    const char *state = code && file ? states[code->changed + 1] : "";
    if (code && !shown) state = ", which lacks lines that were sampled, so it is not the code that ran";
    gp_page_open(h->w, "p", code && (!shown || (file && code->changed)) ? "file warn" : "file");
    gp_page_put(h->w, "code", NULL, file ? gp_string(h->s->strings, file) : "instructions of no known line");
    if (code && code->path != file) {
        gp_page_text(h->w, file ? ": read from " : ", as in ");
        gp_page_put(h->w, "code", NULL, gp_string(h->s->strings, code->path));
    }
    gp_page_text(h->w, state);
    gp_page_close(h->w);
}

/* The parts of the kernel in the file of its line number AT. */
static void put_file(struct sheet *h, size_t at, const struct gp_listing *code, size_t n)
{
    const gp_sid file = h->k->lines.at[at].file;
    const struct gp_listing *found = NULL;
    h->parts.n = 0;
    for (size_t i = at; i < h->k->lines.n; i++) {
        struct gp_stall_part p = h->k->lines.at[i];
        p.n = i;
        if (p.file == file) GP_VEC_PUSH(&h->parts, p);
    }
    qsort(h->parts.at, h->parts.n, sizeof *h->parts.at, by_place);
    for (size_t i = 0; i < n; i++)
        if (code[i].of == (file ? file : h->k->name)) found = &code[i];
    bool shown = found != NULL; /* it has all that was sampled */
    for (size_t i = 0; i < h->parts.n && shown; i++) shown = gp_listing_row(found, at_of(&h->parts.at[i]));
    put_caption(h, found, shown);
    gp_page_open(h->w, "div", "scroll");
    gp_page_open(h->w, "table", NULL);
    gp_page_open(h->w, "tbody", NULL);
    if (shown) put_code(h, found);
    for (size_t i = 0; i < h->parts.n && !shown; i++)
        if (h->parts.at[i].n < HOT) put_line(h, at_of(&h->parts.at[i]), !file, NULL, 0, &h->parts.at[i]);
    gp_svg_close(h->w);
    gp_svg_close(h->w);
    gp_page_close(h->w);
}

/* ---- kernels ---- */

/* Each colour with its share of the kernel's samples. */
static void put_legend(struct sheet *h)
{
    gp_page_open(h->w, "ul", "legend");
    for (int c = 0; c < COLOURS; c++) {
        int64_t samples = 0;
        for (size_t i = 0; i < h->k->reasons.n; i++) {
            const struct gp_stall_part *p = &h->k->reasons.at[i];
            if (colour_of(p->reason) == c) samples += p->samples;
        }
        if (!samples) continue;
        gp_page_open(h->w, "li", NULL);
        put_block(h->w, class_of(c), 0);
        gp_page_text(h->w, words_of(c));
        gp_buf_printf(&h->text, " %s", GP_SHARE(samples, h->k->samples));
        gp_page_take(h->w, &h->text, "b", NULL);
        gp_svg_close(h->w);
    }
    gp_page_close(h->w);
}

void gp_stall_put_saving(struct gp_buf *b, const struct gp_strings *strings, const struct gp_stalled *k)
{
    struct gp_buf place = {0};
    gp_stall_put_place(&place, strings, k->lines.at);
    const char *slash = strrchr(gp_buf_str(&place), '/');
    gp_buf_printf(b, "without the stalls for %s at %s, %s would be %.0f to %.0f%% shorter",
                  gp_stall_cause_text((enum gp_stall_cause)k->cause), slash ? slash + 1 : gp_buf_str(&place),
                  gp_string(strings, k->brief), 100 * k->saved_low, 100 * k->saved_high);
    gp_buf_release(&place);
}

static void put_kernel(struct sheet *h, bool open, const struct gp_listing *code, size_t n)
{
    const struct gp_stalled *k = h->k;
    gp_page_open(h->w, "details", "code");
    if (open) gp_svg_attr(h->w, "open", "");
    gp_page_open(h->w, "summary", NULL);
    gp_page_open(h->w, "h3", NULL);
    gp_svg_attr(h->w, "title", gp_string(h->s->strings, k->label));
    gp_page_text(h->w, gp_string(h->s->strings, k->brief));
    gp_svg_close(h->w);
    gp_buf_printf(&h->text, "%s samples", GP_COUNTED(k->samples));
    gp_page_take(h->w, &h->text, "span", "count");
    gp_svg_close(h->w);
    if (gp_stalled_is_sure(k) && gp_stalled_is_theirs(h->s->strings, k)) {
        gp_stall_put_saving(&h->text, h->s->strings, k);
        h->text.data[0] = 'W';
        gp_buf_printf(&h->text, ": %s.", gp_stall_cause_fix((enum gp_stall_cause)k->cause));
        gp_page_take(h->w, &h->text, "p", "note");
    }
    put_legend(h);
    h->longest = 0;
    for (size_t i = 0; i < k->lines.n; i++)
        if (k->lines.at[i].pct > h->longest) h->longest = k->lines.at[i].pct;
    for (size_t i = 0, files = 0; i < k->lines.n && i < HOT && files < FILES; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++) seen = k->lines.at[j].file == k->lines.at[i].file;
        if (seen) continue;
        put_file(h, i, code, n);
        files++;
    }
    gp_page_close(h->w);
}

void gp_stall_code(struct gp_svg *w, const struct gp_stalls *s, const struct gp_listing *code, size_t n)
{
    struct sheet h = {.w = w, .s = s};
    gp_page_put(
        w, "p", "note",
        "A bar is the part of the kernel's samples that were taken at a line. Its colours are what the "
        "warps did there: those of the list above it.");
    gp_page_put(w, "p", "note pointing",
                "Point at a line, or go to it with Tab, for its samples and reasons.");
    if (!n)
        gp_page_put(
            w, "p", "note",
            "There is no code here: it is shown of files below the folder that --source names, and of "
            "kernels without lines in the file that --sass names.");
    for (size_t i = 0; i < s->kernels.n && i < KERNELS; i++) {
        h.k = &s->kernels.at[i];
        put_kernel(&h, i < OPEN, code, n);
    }
    if (s->kernels.n > KERNELS) {
        gp_buf_printf(&h.text, "The %d kernels with most samples, of %zu.", KERNELS, s->kernels.n);
        gp_page_take(w, &h.text, "p", "note");
    }
    GP_VEC_FREE(&h.parts);
    gp_buf_release(&h.text);
}
