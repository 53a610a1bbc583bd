/* trace_rows.h -- rows of a trace as a line of text, to be compared with one that was written by hand.
 *
 *     assert_string_equal(rows_of(&t, GP_GPU), "1000+600 gemm; 1700+40 add");
 */
#ifndef GP_TESTS_TRACE_ROWS_H
#define GP_TESTS_TRACE_ROWS_H

#include <inttypes.h>
#include <stdio.h>
#include "formats/model/trace.h"

/* Start, duration and name of each row of TABLE. Valid until the next call. */
static inline const char *rows_of(const struct gp_trace *t, enum gp_table table)
{
    static char text[4000];
    const struct gp_events *e = &t->events[table];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < e->n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRId64 "+%" PRId64 " %s", i ? "; " : "",
                              e->start_ns[i], e->dur_ns[i], gp_trace_str(t, e->name[i]));
    return text;
}

static inline const struct gp_track *track_of(const struct gp_trace *t, enum gp_table table, size_t row)
{
    return &t->tracks.at[t->events[table].track[row]];
}

#endif
