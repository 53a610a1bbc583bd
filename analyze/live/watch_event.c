/* Events as their record describes them. */
#include "analyze/live/watch.h"

static const char *const kinds[] = {"slow", "recovered", "changed", "silent", "back", "all_slower", NULL};

#define AT(member) offsetof(struct gp_watch_event, member)

/* AT in the struct of the slow rank. */
GP_GET_IF(get_what, struct gp_watch_event, r->slow, gp_member_word(c, f, r->slow, x))

GP_GET_IF(get_slow_ns, struct gp_watch_event, r->slow, gp_member_i64(c, f, r->slow, x))

static const char *const whats[] = {"rank", "kernel", "node", "gpu", NULL};
static const char *const causes[] = {"compute", "copies", "host",          "data_loading",
                                     "gaps",    "link",   "communication", NULL};

static const struct gp_field event_fields[] = {
    {"event", "Event", GP_CELL_TEXT, gp_member_word, AT(kind),
     .help =
         "slow: compared with the other ranks; changed: a kernel of few ranks, compared with its own past; "
         "silent, back: sends nothing, sends again; all_slower: the job, compared with its last hour",
     .words = kinds},
    {"time_ns", "At", GP_CELL_NS, gp_member_i64, AT(time_ns), .help = "since the first digest"},
    {"rank", "Rank", GP_CELL_ID, gp_member_rank, AT(rank), .help = "the first of them; null: all",
     .flags = GP_FIELD_NULL},
    {"ranks", "Ranks", GP_CELL_COUNT, gp_member_u32, AT(ranks), .help = "how many this is about"},
    {"what", "What", GP_CELL_TEXT, get_what, offsetof(struct gp_slow, what), .help = "what is slow",
     .flags = GP_FIELD_NULL, .words = whats},
    {"cause", "Cause", GP_CELL_TEXT, gp_member_text, AT(cause),
     .help = "where the longer time is spent; link: the rank communicates for longer though nobody is late",
     .flags = GP_FIELD_NULL, .words = causes},
    {"own_ns", "Own time", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, ns),
     .help = "own time per step, or the kernel's, or of a link the communication",
     .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"usual_ns", "Usual", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, median_ns),
     .help = "the same of the median rank; of changed before", .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"cause_ns", "By the cause", GP_CELL_NS, get_slow_ns, offsetof(struct gp_slow, cause_ns),
     .help = "how much longer the cause takes", .flags = GP_FIELD_NULL | GP_FIELD_SIGNED},
    {"kernel", "Kernel", GP_CELL_NAME, gp_member_text, AT(kernel), .help = "that it is about",
     .flags = GP_FIELD_NULL},
    {"text", "Text", GP_CELL_TEXT, gp_member_text, AT(text), .help = "the same in a sentence"},
};
#undef AT

const struct gp_record gp_watch_events = {"events", "Events", GP_FIELDS(event_fields),
                                          sizeof(struct gp_watch_event), .note = "one event per line"};
