/* quality.h -- facts about an input: its origin, its size and its problems. Knows nothing of figures or
 * texts.
 *
 *     struct gp_input_quality in;
 *     gp_input_quality_read(&in, &strings, &trace);
 *     gp_repair(&trace, GP_REPAIR_NONE);
 *     gp_view_init(&view, &trace, NULL);
 *     gp_input_quality_judge(&in, &strings, &trace, &view);
 */
#ifndef GP_ANALYZE_QUALITY_H
#define GP_ANALYZE_QUALITY_H

#include <stdbool.h>
#include "analyze/result/field.h"
#include "analyze/view/view.h"
#include "formats/base/declare.h"
#include "formats/model/trace.h"

struct gp_input_quality {
    gp_sid path, format, compression;
    int32_t rank; /* -1 unknown */
    uint64_t events, gpu_events;
    bool truncated;
    uint64_t skipped;
    struct gp_issue issues[GP_ISSUE_COUNT];
    gp_sid verdict; /* "clean", "repaired", "unusable" */
};

/* Copy the quality of T's input. Strings go to STRINGS. */
void gp_input_quality_read(struct gp_input_quality *in, struct gp_strings *strings, const struct gp_trace *t);
/* Then, after repair and with the view V of T, judge its problems. Adds to T's issues. */
void gp_input_quality_judge(struct gp_input_quality *in, struct gp_strings *strings, struct gp_trace *t,
                            const struct gp_view *v);
/* The same without a view: only its damage. */
void gp_input_quality_damage(struct gp_input_quality *in, struct gp_strings *strings,
                             const struct gp_trace *t);
/* Count GP_Q_NO_CORRELATION and GP_Q_BEFORE_LAUNCH in T's issues, of what is left after repair. */
void gp_input_quality_count_launches(struct gp_trace *t, const struct gp_view *v);
/* The same as IN, with its strings moved from FROM to TO. */
struct gp_input_quality gp_input_quality_copy(const struct gp_input_quality *in, struct gp_strings *to,
                                              const struct gp_strings *from);
/* The GPU events of N inputs. */
static inline uint64_t gp_input_quality_gpu_events(const struct gp_input_quality *in, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += in[i].gpu_events;
    return sum;
}
/* Does one of N inputs end early? */
static inline bool gp_input_quality_cut(const struct gp_input_quality *in, size_t n)
{
    bool cut = false;
    for (size_t i = 0; i < n; i++) cut |= in[i].truncated;
    return cut;
}
/* Was one of N inputs measured kernel by kernel, so that no time between launches means anything? */
static inline bool gp_input_quality_untimed(const struct gp_input_quality *in, size_t n)
{
    bool untimed = false;
    for (size_t i = 0; i < n; i++) untimed |= in[i].issues[GP_Q_COUNTERS].count != 0;
    return untimed;
}

/* One of its problems. */
struct gp_input_issue {
    gp_sid path;
    uint32_t kind; /* enum gp_issue_kind */
    struct gp_issue issue;
};
/* Those that there are of the input PATH; how many. */
size_t gp_input_issues_of(struct gp_input_issue to[GP_ISSUE_COUNT], gp_sid path,
                          const struct gp_issue issues[GP_ISSUE_COUNT]);

extern const struct gp_record gp_inputs;       /* rows: struct gp_input_quality */
extern const struct gp_record gp_input_issues; /* rows: struct gp_input_issue */

/* ---- lines ---- */

/* What is wrong with an input, in one line: the only wording of it, for messages and reports alike. */

/* Append the kinds of ISSUES that occur, each with its count and first place. False if there are none. */
bool gp_quality_line(struct gp_buf *b, const struct gp_issue issues[GP_ISSUE_COUNT]);

/* Call SAY with a line for each of the N inputs that is not clean, at most eight of them, and then one for
 * the rest. The sids of IN are of S. With DAMAGE_ONLY, inputs that could be read as they are have no line,
 * even where something was never recorded, such as launches. */
void gp_quality_lines(const struct gp_strings *s, const struct gp_input_quality *in, size_t n,
                      bool damage_only, void (*say)(void *ctx, const char *line, bool usable), void *ctx);

#endif
