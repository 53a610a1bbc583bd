/* questions.h -- what can be asked of traces, as a table: which tool answers, in which forms, and which
 * arguments of an address become which options. Knows no sockets and no files.
 *
 *     const struct gp_question *q = gp_question_named("flame");
 *     const struct gp_form *form = gp_question_form(q, "html", NULL);
 */
#ifndef GP_RENDER_SERVE_QUESTIONS_H
#define GP_RENDER_SERVE_QUESTIONS_H

#include <stddef.h>

enum { GP_QUESTION_FORMS = 8, GP_QUESTION_ARGS = 8 };

struct gp_form {
    const char *name;       /* of ?format= */
    const char *type;       /* of the answer */
    const char *options[3]; /* of the tool; NULL: no more */
};

struct gp_question {
    const char *name;  /* "flame" */
    const char *page;  /* as a page of a trace is called, NULL: it has none */
    const char *title; /* of a link to that page */
    const char *tool;
    int kinds;                               /* of files that it can be asked of, enum gp_shelf_kind */
    struct gp_form forms[GP_QUESTION_FORMS]; /* the first is the default; ends with {0} */
    /* Options of the tool that an address may have, such as "range"; those without value have a ! first.
     * NULL: no more. */
    const char *args[GP_QUESTION_ARGS];
    const char *options[3]; /* that it always has */
    const char *needs;      /* what it is asked of, for the description of the API */
};

/* Ends with {0}. */
extern const struct gp_question gp_questions[];

/* NULL if there is none. */
const struct gp_question *gp_question_named(const char *name);
const struct gp_question *gp_question_of_page(const char *page);
/* The form called NAME, or, where that is NULL, the one that ACCEPT, the header, wants most. NULL if there is
 * none. */
const struct gp_form *gp_question_form(const struct gp_question *q, const char *name, const char *accept);

#endif
