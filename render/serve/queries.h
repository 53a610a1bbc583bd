/* queries.h -- queries about traces, as a table: the tool that answers, its forms, and the arguments of an
 * address that become options. Knows no sockets and no files.
 *
 *     const struct gp_query *q = gp_query_named("flame");
 *     const struct gp_form *form = gp_query_form(q, "html", NULL);
 */
#ifndef GP_RENDER_SERVE_QUERIES_H
#define GP_RENDER_SERVE_QUERIES_H

enum { GP_QUERY_FORMS = 8, GP_QUERY_ARGS = 8 };

struct gp_form {
    const char *name;       /* of ?format= */
    const char *type;       /* of the answer */
    const char *options[3]; /* of the tool; NULL: no more */
};

struct gp_query {
    const char *name;  /* "flame" */
    const char *page;  /* as a page of a trace is called, NULL: it has none */
    const char *title; /* of a link to that page */
    const char *tool;
    int kinds;                            /* of files that it takes, enum gp_catalog_kind */
    struct gp_form forms[GP_QUERY_FORMS]; /* the first is the default; ends with {0} */
    /* Options of the tool that an address may have, such as "range"; those without value have a ! first.
     * NULL: no more. */
    const char *args[GP_QUERY_ARGS];
    const char *options[3]; /* that it always has */
    const char *needs;      /* "trace" or "two", for the description of the API */
};

/* Ends with {0}. */
extern const struct gp_query gp_queries[];

/* NULL if there is none. */
const struct gp_query *gp_query_named(const char *name);
const struct gp_query *gp_query_of_page(const char *page);
/* The form called NAME, or, where that is NULL, the one that ACCEPT, the header, wants most. NULL if there is
 * none. */
const struct gp_form *gp_query_form(const struct gp_query *q, const char *name, const char *accept);

#endif
