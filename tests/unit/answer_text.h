/* answer_text.h -- the answer of a tool in one of its formats, as text.
 *
 *     struct gp_buf b = {0};
 *     assert_non_null(strstr(answer_text(&b, gp_memory_formats, "csv", &answer), "cuda:0,"));
 *     gp_buf_release(&b);
 */
#ifndef GP_TESTS_ANSWER_TEXT_H
#define GP_TESTS_ANSWER_TEXT_H

#include <stdlib.h>
#include <unistd.h>
#include "formats/base/answer.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "tests/unit/unit.h"

enum { ANSWER_WIDE = 1 << 20 }; /* columns in which nothing is wrapped or cut */

/* What FORMAT of TABLE writes of ANSWER, in B, whose content it replaces. */
static inline const char *answer_text(struct gp_buf *b, const struct gp_answer_format *table,
                                      const char *format, void *answer)
{
    char path[] = "/tmp/gp_answer_XXXXXX";
    struct gp_err err = {0};
    const struct gp_answer_format *f = gp_answer_format(table, format);
    int fd = mkstemp(path);
    assert_non_null(f);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(gp_answer_write(f, answer, path, &err), 0);
    b->n = 0;
    assert_int_equal(gp_input_all(path, NULL, 1 << 24, b, &err), 0);
    unlink(path);
    return gp_buf_str(b);
}

#endif
