/* trace_same.h -- are two traces equal? Two readings of the same input must be, whatever the number of
 * threads. */
#ifndef GP_TESTS_TRACE_SAME_H
#define GP_TESTS_TRACE_SAME_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "formats/model/trace.h"

static inline bool same_column(const struct gp_events *a, const struct gp_events *b, int col)
{
    size_t w = gp_column_infos[col].width;
    const char *x = gp_events_column(a, (enum gp_column)col), *y = gp_events_column(b, (enum gp_column)col);
    uint64_t dflt =
        gp_column_infos[col].dflt; /* all zeros or all ones, so its first bytes will do for 4 wide cells */
    for (size_t i = 0; i < a->n; i++)
        if (memcmp(x ? x + i * w : (const char *)&dflt, y ? y + i * w : (const char *)&dflt, w)) return false;
    return true;
}

#define SAME_OR(what, ...)                                                                                   \
    do {                                                                                                     \
        if (__VA_ARGS__) break;                                                                              \
        fprintf(stderr, "# differs: %s\n", what);                                                            \
        return false;                                                                                        \
    } while (0)

/* Equal in every number, string and index. */
static inline bool trace_same(const struct gp_trace *a, const struct gp_trace *b)
{
    for (int t = 0; t < GP_TABLE_COUNT; t++) {
        SAME_OR(gp_table_name((enum gp_table)t), a->events[t].n == b->events[t].n);
        for (int col = 0; col < GP_COLUMN_COUNT; col++)
            SAME_OR(gp_column_infos[col].name, same_column(&a->events[t], &b->events[t], col));
    }
    SAME_OR("strings", a->strings.n == b->strings.n);
    for (gp_sid i = 0; i < a->strings.n; i++)
        SAME_OR("string", a->strings.len[i] == b->strings.len[i] &&
                              !memcmp(a->strings.at[i], b->strings.at[i], a->strings.len[i]));
    SAME_OR("configs", a->configs.n == b->configs.n &&
                           (!a->configs.n ||
                            !memcmp(a->configs.at, b->configs.at, a->configs.n * sizeof *a->configs.at)));
    SAME_OR("tracks", a->tracks.n == b->tracks.n && a->processes.n == b->processes.n);
    for (size_t i = 0; i < a->tracks.n; i++) {
        const struct gp_track *x = &a->tracks.at[i], *y = &b->tracks.at[i];
        SAME_OR("track", x->kind == y->kind && x->process == y->process && x->tid == y->tid &&
                             x->tid_text == y->tid_text && x->device == y->device &&
                             x->context == y->context && x->stream == y->stream && x->name == y->name &&
                             x->sort_index == y->sort_index);
    }
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        SAME_OR(gp_issue_name((enum gp_issue_kind)i),
                a->issues[i].count == b->issues[i].count &&
                    a->issues[i].first_offset == b->issues[i].first_offset);
    SAME_OR("metadata", a->meta.n == b->meta.n && a->devices.n == b->devices.n && a->rank == b->rank);
    SAME_OR("input", a->input.events == b->input.events && a->input.bytes == b->input.bytes);
    return true;
}

#endif
