/* Events as their record describes them. */
#include "analyze/live/watch.h"

static const char *const kinds[] = {"slow", "recovered", "changed", "silent", "back", "all_slower", NULL};

#define AT(member) offsetof(struct gp_watch_event, member)

static const struct gp_slow *slow_of(const void *row) { return ((const struct gp_watch_event *)row)->slow; }

static void put_text(struct gp_cell *c, const char *text)
{
    c->none = !text;
    if (text) gp_cell_text(c, text);
}

GP_GETTER(get_kind) { gp_cell_text(c, kinds[((const struct gp_watch_event *)row)->kind]); }

GP_GETTER(get_text) { put_text(c, *(const char *const *)gp_member_at(row, f)); }

GP_GETTER(get_what) { put_text(c, slow_of(row) ? gp_slow_what_name(slow_of(row)->what) : NULL); }

/* A time of a slow rank, AT in its struct. */
GP_GETTER(get_slow_ns)
{
    c->none = !slow_of(row);
    if (!c->none) c->i = *(const int64_t *)gp_member_at(slow_of(row), f);
}

static const char *const whats[] = {"rank", "kernel", "node", "gpu", NULL};
static const char *const causes[] = {"compute", "copies", "host",          "data_loading",
                                     "gaps",    "link",   "communication", NULL};

static const struct gp_field event_fields[] = {
    {"event", "Event", GP_CELL_TEXT, get_kind, 0,
     .help =
         "slow: compared with the other ranks; changed: a kernel of few ranks, compared with its own past; "
         "silent, back: sends nothing, sends again; all_slower: the job, compared with its last hour",
     .words = kinds},
    {"time_ns", "At", GP_CELL_NS, gp_member_i64, AT(time_ns), .help = "since the first digest"},
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .help = "the first of them; null: all",
     .flags = GP_FIELD_NULL},
    {"ranks", "Ranks", GP_CELL_COUNT, gp_member_u32, AT(ranks), .help = "how many this is about"},
    {"what", "What", GP_CELL_TEXT, get_what, 0, .help = "what is slow", .flags = GP_FIELD_NULL,
     .words = whats},
    {"cause", "Cause", GP_CELL_TEXT, get_text, AT(cause),
     .help = "where the longer time is spent; link: the rank communicates for longer though nobody is late",
     .flags = GP_FIELD_NULL, .words = causes},
    {"own_ns", "Own time", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, ns),
     .help = "own time per step, or the kernel's, or of a link the communication",
     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"usual_ns", "Usual", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, median_ns),
     .help = "the same of the median rank; of changed before", .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"cause_ns", "By the cause", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, cause_ns),
     .help = "how much longer the cause takes", .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"kernel", "Kernel", GP_CELL_NAME, get_text, AT(kernel), .help = "that it is about",
     .flags = GP_FIELD_NULL},
    {"text", "Text", GP_CELL_TEXT, get_text, AT(text), .help = "the same in a sentence"},
};
#undef AT

const struct gp_record gp_watch_events = {
    .id = "events",
    .title = "Events",
    GP_FIELDS(event_fields),
    .size = sizeof(struct gp_watch_event),
    .note = "one event per line",
};
