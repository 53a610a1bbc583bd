/* page_doc.h -- a page that is read from top to bottom, as a model: facts, figures, sections of charts and
 * tables. Each tool fills one in; the order, the list of contents and the end are the same on all pages.
 * Knows nothing about the content.
 *
 *     struct gp_page_doc doc = {.tool = "trace-hta", .parts = &gp_page_report, .report = &r,
 *                               .input = "a.json",
 *                               GP_PAGE_SECTIONS(sections), .page = &p};
 *     struct gp_page_figure *f = gp_page_figure(&doc, "GPU busy");
 *     gp_page_figure_share(f, busy_ns, span_ns); gp_buf_puts(&f->words, "of the step");
 *     gp_page_write(&p.w, &buf, &doc);
 */
#ifndef GP_RENDER_PAGE_DOC_H
#define GP_RENDER_PAGE_DOC_H

#include "formats/base/buf.h"
#include "formats/base/declare.h"
#include "render/page/page_html.h"
#include "render/report/report.h"

/* One of the figures at the top. */
struct gp_page_figure {
    const char *name, *help;    /* HELP: its definition; NULL: none */
    struct gp_buf value, words; /* the number, and its meaning */
    double pct;                 /* length of a bar below the number; NAN: none */
};

/* Charts and tables that belong together. It is on the page if it has a table with rows, or no tables at
 * all. */
enum { GP_PAGE_TABLES = 6, GP_PAGE_FOLDED = -1 };
struct gp_page_section {
    const char *id, *title;             /* its anchor and its heading */
    const char *entry;                  /* in the contents; NULL: the title */
    void (*draw)(void *page);           /* its charts; NULL: none */
    const char *box;                    /* class of an element around the charts; NULL: none */
    const char *tables[GP_PAGE_TABLES]; /* ids in the report */
    bool all;                           /* all tables of the report instead */
    int open; /* so many of these places are unfolded; 0: the first that is there, GP_PAGE_FOLDED: none */
    bool (*there)(const void *page); /* for a section without tables; NULL: always */
};

/* All sections of the array LIST, as members of a struct gp_page_doc. */
#define GP_PAGE_SECTIONS(list) .sections = (list), .sections_n = GP_COUNT(list)

/* Functions of a page of one statement, in which P is the page, a struct page: what draws, and whether
 * something is there. */
#define GP_PAGE_DRAW(name, ...)                                                                              \
    static void name(void *page)                                                                             \
    {                                                                                                        \
        struct page *p = page;                                                                               \
        __VA_ARGS__;                                                                                         \
    }
#define GP_PAGE_HAS(name, is)                                                                                \
    static bool name(const void *page)                                                                       \
    {                                                                                                        \
        const struct page *p = page;                                                                         \
        return is;                                                                                           \
    }

/* A zeroed struct is the default. Strings are borrowed. */
struct gp_page_doc {
    const char *tool; /* "trace-hta" */
    const struct gp_page_parts *parts;
    const struct gp_report *report; /* the quality of the input, the verdict, all tables */
    const char *input;              /* the name of the input; NULL: standard input */
    struct gp_buf facts;            /* a line on the input */
    GP_VEC(struct gp_page_figure) figures;
    void (*links)(void *page);    /* more of the header; NULL */
    void (*findings)(void *page); /* the largest costs and links to them, before the sections; NULL */
    const struct gp_page_section *sections;
    size_t sections_n;
    void *page;                /* for draw and the others, which write to the writer that gp_page_write has */
    const char *options;       /* as typed; NULL or empty: none */
    const char *note;          /* how to read the page; NULL */
    const struct gp_buf *json; /* the same answer for programs; NULL or empty: none */
    size_t max_rows;           /* of a table; 0: GP_TABLE_HTML_ROWS */
    bool only_json;            /* as in gp_table_html_opts */
    const char *(*swatch)(int class); /* as in gp_table_html_opts */
};

/* A new figure after the others, valid until the next. */
struct gp_page_figure *gp_page_figure(struct gp_page_doc *d, const char *name);
/* The value of F is PART as a share of WHOLE, with a bar. */
void gp_page_figure_share(struct gp_page_figure *f, int64_t part, int64_t whole);
/* Is S on the page? */
bool gp_page_has(const struct gp_page_doc *d, const struct gp_page_section *s);
/* Set up W and append the whole page to OUT; then release D's buffers. */
void gp_page_write(struct gp_svg *w, struct gp_buf *out, struct gp_page_doc *d);

#endif
