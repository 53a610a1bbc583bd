/* The rows of an answer as they are described once: what is said of both sides, and their steps. */
#include "analyze/diff/diff.h"

static const char *const side_words[] = {"baseline", "current", NULL};

/* ---- reasons and notes ---- */

#define AT(member) offsetof(struct gp_diff_reason, member)

static const char *const class_words[] = {"kernel", "wall", "exact", NULL};

GP_GETTER_OF(get_classes, struct gp_diff_reason, r)
{
    const char **words = gp_arena_alloc(x->mem, sizeof class_words);
    size_t n = 0;
    for (unsigned class = 0; class_words[class]; class ++)
        if (r->classes & 1u << class) words[n++] = class_words[class];
    gp_cell_list(c, words, n);
}

static const struct gp_field reason_fields[] = {
    {"id", NULL, GP_CELL_TEXT, gp_member_sid, AT(id), .help = "stable word: gpu_model, work, ..."},
    {"fatal", NULL, GP_CELL_BOOL, gp_member_bool, AT(fatal), .help = "nothing can be compared"},
    {"classes", NULL, GP_CELL_LIST, get_classes, AT(classes),
     .help = "classes of figures that are not compared because of it", .rows = &gp_each_word,
     .words = class_words},
    {"text", NULL, GP_CELL_TEXT, gp_member_sid, AT(text), .help = "one sentence with both values"},
};
#undef AT

const struct gp_record gp_diff_reason_rows = {"reasons", NULL, GP_FIELDS(reason_fields),
                                              sizeof(struct gp_diff_reason),
                                              .note = "what cannot be compared, and why"};

#define AT(member) offsetof(struct gp_diff_note, member)

static const struct gp_field note_fields[] = {
    {"id", NULL, GP_CELL_TEXT, gp_member_sid, AT(id), .help = "stable word: unsteady, one_run, ..."},
    {"text", NULL, GP_CELL_TEXT, gp_member_sid, AT(text), .flags = 0},
};
#undef AT

const struct gp_record gp_diff_note_rows = {"notes", NULL, GP_FIELDS(note_fields),
                                            sizeof(struct gp_diff_note),
                                            .note = "what else a reader must know"};

/* ---- steps ---- */

#define AT(member) offsetof(struct gp_diff_step, member)

GP_GET(get_side, struct gp_diff_step, gp_cell_text(c, side_words[r->side == GP_DIFF_BASE ? 0 : 1]))

GP_GET_UNLESS(get_wall, struct gp_diff_step, gp_member_i64, !r->has_window)

static const struct gp_field step_fields[] = {
    {"side", "side", GP_CELL_TEXT, get_side, AT(side), .words = side_words},
    {"run", "recording", GP_CELL_ID, gp_member_u32, AT(run), .after = "name"},
    {"device", "device", GP_CELL_ID, gp_member_u32, AT(lane), .after = "run"},
    {"name", "step", GP_CELL_NAME, gp_member_name, AT(name), .flags = GP_FIELD_NULL},
    {"wall_ns", "time", GP_CELL_NS, get_wall, AT(wall_ns),
     .help = "from its first GPU event to the first one of the next step", .flags = GP_FIELD_NULL},
    {"busy_ns", "busy", GP_CELL_NS, gp_member_i64, AT(busy_ns), .help = "union of GPU events in that time",
     .flags = GP_FIELD_TIMED},
    {"gpu_ns", "GPU time", GP_CELL_NS, gp_member_i64, AT(gpu_ns),
     .help = "sum of durations of the GPU events that it launched"},
    {"gpu_events", "GPU events", GP_CELL_COUNT, gp_member_u64, AT(events), .help = "that it launched"},
    {"used", "used", GP_CELL_BOOL, gp_member_bool, AT(used), .help = "for GPU time"},
    {"why", "why not", GP_CELL_TEXT, gp_member_name, AT(why), .help = "reason why it is not used",
     .flags = GP_FIELD_NULL},
};
#undef AT

const struct gp_record gp_diff_step_rows = {"step_list", "Steps", GP_FIELDS(step_fields),
                                            sizeof(struct gp_diff_step), .note = "every step that was found"};
