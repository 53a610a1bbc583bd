#include "analyze/view/quality.h"

#include <string.h>

static gp_sid take_text(struct gp_strings *strings, const char *s)
{
    return gp_intern_cstr(strings, s ? s : "");
}

void gp_input_quality_read(struct gp_input_quality *in, struct gp_strings *strings, const struct gp_trace *t)
{
    memset(in, 0, sizeof *in);
    in->path = take_text(strings, t->input.path);
    in->format = take_text(strings, t->input.format);
    in->compression = take_text(strings, t->input.compression);
    in->rank = t->rank;
    in->events = t->input.events;
    in->gpu_events = t->events[GP_GPU].n;
}

void gp_input_quality_count_launches(struct gp_trace *t, const struct gp_view *v)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    uint64_t none = 0, before = 0;
    for (uint32_t i = 0; i < gpu->n; i++) {
        uint32_t call = gp_view_launch(v, i);
        if (call == UINT32_MAX) none += !gp_view_migrates(t, i);
        else before += gpu->start_ns[i] < api->start_ns[call];
    }
    gp_trace_issue(t, GP_Q_NO_CORRELATION, none, -1);
    gp_trace_issue(t, GP_Q_BEFORE_LAUNCH, before, -1);
}

/* A trace without a rank has the rank that all its devices share. */
static int32_t rank_of_devices(const struct gp_view *v)
{
    int32_t rank = -1;
    for (size_t i = 0; i < v->devices.n; i++) {
        if (rank >= 0 && v->devices.at[i].rank != rank) return -1;
        rank = v->devices.at[i].rank;
    }
    return rank;
}

/* Launches that are missing, or later than their kernels, are not damage: they count as issues but do not
 * affect the verdict. */
void gp_input_quality_judge(struct gp_input_quality *in, struct gp_strings *strings, struct gp_trace *t,
                            const struct gp_view *v)
{
    in->verdict = take_text(strings, in->gpu_events ? gp_trace_verdict(t) : "unusable");
    gp_input_quality_count_launches(t, v);
    memcpy(in->issues, t->issues, sizeof in->issues);
    in->truncated = gp_trace_truncated(t);
    in->skipped = gp_trace_skipped(t);
    if (in->rank < 0) in->rank = rank_of_devices(v);
}

struct gp_input_quality gp_input_quality_copy(const struct gp_input_quality *in, struct gp_strings *to,
                                              const struct gp_strings *from)
{
    struct gp_input_quality out = *in;
    out.path = gp_intern_from(to, from, in->path);
    out.format = gp_intern_from(to, from, in->format);
    out.compression = gp_intern_from(to, from, in->compression);
    out.verdict = gp_intern_from(to, from, in->verdict);
    return out;
}

static void xfer_issue(struct gp_xfer *x, struct gp_issue *issue)
{
    gp_xfer_u64(x, &issue->count);
    gp_xfer_i64(x, &issue->first_offset);
}

void gp_input_quality_xfer(struct gp_xfer *x, struct gp_input_quality *in)
{
    gp_xfer_str(x, &in->path);
    gp_xfer_str(x, &in->format);
    gp_xfer_str(x, &in->compression);
    gp_xfer_i32(x, &in->rank);
    gp_xfer_u64(x, &in->events);
    gp_xfer_u64(x, &in->gpu_events);
    gp_xfer_bool(x, &in->truncated);
    gp_xfer_u64(x, &in->skipped);
    for (int i = 0; i < GP_ISSUE_COUNT; i++) xfer_issue(x, &in->issues[i]);
    gp_xfer_str(x, &in->verdict);
}
