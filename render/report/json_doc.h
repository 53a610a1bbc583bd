/* json_doc.h -- writes a JSON document member by member: commas, line breaks and escapes, and the common part
 * of all documents: the head with inputs and their quality. The outer levels have one line per member; inner
 * ones stay on one line.
 *
 *     struct gp_doc d = {.b = &buf, .strings = &h->strings};
 *     gp_doc_begin(&d, '{');
 *     gp_doc_i64(&d, "span_ns", 100);
 *     gp_doc_end(&d, '}');
 */
#ifndef GP_RENDER_JSON_DOC_H
#define GP_RENDER_JSON_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/view/quality.h"
#include "formats/base/declare.h"
#include "formats/base/intern.h"
#include "formats/base/output.h"
#include "render/report/report.h"

/* Set .b and .strings, zero the rest. Keys are literals and need no escapes. */
struct gp_doc {
    struct gp_buf *b;
    const struct gp_strings *strings; /* where sids are from */
    int depth;
    bool comma;           /* something stands before the next member */
    struct gp_output *to; /* takes the text from time to time; NULL: it stays */
    size_t most;          /* bytes, if it stays; 0: any number */
};

/* ---- syntax ---- */

void gp_doc_begin(struct gp_doc *d, char bracket);
void gp_doc_end(struct gp_doc *d, char bracket);
/* Is there room for another element of a list? Where d->to is set, much that is written goes there. */
bool gp_doc_room(struct gp_doc *d);
/* Call before each element of a list that is not an object. */
void gp_doc_next(struct gp_doc *d);
void gp_doc_key(struct gp_doc *d, const char *k);
/* `"k": [`, `"k": {`, and `{` as an element of a list. */
void gp_doc_list(struct gp_doc *d, const char *k);
void gp_doc_object(struct gp_doc *d, const char *k);
void gp_doc_element(struct gp_doc *d);

/* ---- members ---- */

void gp_doc_i64(struct gp_doc *d, const char *k, int64_t v);
void gp_doc_u64(struct gp_doc *d, const char *k, uint64_t v);
/* null if V is not finite. */
void gp_doc_null(struct gp_doc *d, const char *k);
void gp_doc_bool(struct gp_doc *d, const char *k, bool v);
void gp_doc_cstr(struct gp_doc *d, const char *k, const char *s);
/* A string that is always present; and one that is null if it is empty. */
void gp_doc_sid(struct gp_doc *d, const char *k, gp_sid sid);
/* A list of N strings. */
void gp_doc_sids(struct gp_doc *d, const char *k, const gp_sid *at, size_t n);
/* A number that is null where it is negative. */
void gp_doc_known(struct gp_doc *d, const char *k, int64_t v);
/* An element of a list of issues: COUNT of that KIND, the first one at byte OFFSET, negative if unknown.
 * Nothing if COUNT is 0. */
void gp_doc_issue(struct gp_doc *d, const char *kind, uint64_t count, int64_t offset);

/* ---- the head of all documents ---- */

/* schema, tool, version, inputs, quality; the object is begun by the caller. */
void gp_doc_head(struct gp_doc *d, const char *tool, const char *version,
                 const struct gp_input_quality *inputs, size_t n);
/* The kind of the document, and its writer. */
struct gp_doc_tool {
    const char *document, *name, *version;
};
/* The same where only N of the JUDGED inputs are listed, and the quality is that of all. */
void gp_doc_head_of(struct gp_doc *d, const struct gp_doc_tool *tool, const struct gp_input_quality *inputs,
                    size_t n, size_t judged);

/* An element of "inputs". */
void gp_doc_input(struct gp_doc *d, const struct gp_input_quality *in);

/* "summary": the verdict of R in one string, as a person reads it first; null if there is none. */
void gp_doc_summary(struct gp_doc *d, const struct gp_report *r);

#endif
