/* chrome_priv.h -- private to the Chrome reader: one chunk of text in, rows of a local trace out.
 *
 * A parser (struct gp_chrome_parser) belongs to one thread and lives for the whole read: its strings, tracks,
 * configs and everything it has learned about the text serve all its chunks. The content of one chunk goes to
 * a struct gp_chrome_chunk, whose rows refer to the parser's own strings, tracks and configs; chrome_merge.h
 * joins them. Knows nothing about files and threads.
 */
#ifndef GP_FORMATS_CHROME_CHROME_PRIV_H
#define GP_FORMATS_CHROME_CHROME_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/buf.h"
#include "formats/base/vec.h"
#include "formats/chrome/chrome_keys.h"
#include "formats/base/json_scan.h"
#include "formats/model/trace.h"
#include "formats/base/declare.h"
#include "formats/chrome/chrome_rows.h"

enum {
    GP_CHROME_OPEN = GP_TABLE_COUNT, /* index of the table of B and E events in struct gp_chrome_chunk */
    GP_CHROME_TABLES = GP_TABLE_COUNT + 1,
    GP_CHROME_EVENT_LIMIT = 16 << 20,   /* maximum bytes of one event or one top-level value */
    GP_CHROME_FRAMES_LIMIT = 256 << 20, /* the same of "stackFrames" */
    GP_CHROME_RESCANS = 4,              /* how often text behind a syntax error is read again */
    GP_CHROME_CATEGORIES = 32,          /* categories that are cached */
    GP_CHROME_TRACK_CACHE = 64,
};

/* Track kinds while reading, beside those of trace.h: the kind of a (pid, tid) pair is known at the end. */
enum { GP_CHROME_PAIR = 100 };

/* Name and order of a process or thread, from an M event. */
struct gp_chrome_label {
    uint32_t what;  /* enum gp_chrome_label_kind */
    uint32_t where; /* process or track */
    gp_sid text;
    int64_t sort_index;
};

/* A member of "stackFrames". An id is a small number with GP_CHROME_NUMBERED set, or a string; 0: none. */
struct gp_chrome_frame {
    uint32_t id, parent;
    gp_sid name, file, module;
    uint32_t line;
    uint64_t offset;
    bool native;
};

enum gp_chrome_label_kind {
    GP_CHROME_PROCESS_NAME,
    GP_CHROME_PROCESS_LABELS,
    GP_CHROME_PROCESS_SORT,
    GP_CHROME_THREAD_NAME,
    GP_CHROME_THREAD_SORT,
};

/* The content of one chunk. The column `stack` is the id of a frame. In the table GP_CHROME_OPEN `phase` is
 * 'B' or 'E', `ret` the table that the span belongs to and `addr` the event's offset. */
struct gp_chrome_chunk {
    struct gp_events events[GP_CHROME_TABLES];
    GP_VEC(struct gp_chrome_label) labels;
    GP_VEC(struct gp_meta) meta;
    GP_VEC(struct gp_chrome_frame) frames;
    struct gp_issue issues[GP_ISSUE_COUNT];
    uint64_t n_events;
    uint64_t n_known; /* of these, the ones with a phase that events have */
    int64_t last_ns;  /* the latest end of a span; INT64_MIN: none */
};

void gp_chrome_chunk_clear(struct gp_chrome_chunk *c);
void gp_chrome_chunk_release(struct gp_chrome_chunk *c);

/* A category and its meaning for spans. */
struct gp_chrome_category {
    char text[32];
    uint32_t n;
    enum gp_table table;
    enum gp_gpu_kind kind;
    gp_sid sid;
};

struct gp_chrome_cached_track {
    int64_t pid, tid, device, context, stream;
    uint32_t kind, track; /* kind 0: free, otherwise 1 + the track's kind */
};

/* The result of gp_json_clean for an `extra` text. */
struct gp_chrome_extra {
    uint32_t state; /* 0 unknown, 1 broken, 2 good */
    uint32_t changes;
    gp_sid sid; /* the repaired text */
};

struct gp_chrome_arg {
    const char *key;
    size_t key_n;
    struct gp_json_value v;
};

struct gp_chrome_parser {
    struct gp_trace local; /* strings, configs, processes, tracks */
    struct gp_keys keys;
    struct gp_chrome_category categories[GP_CHROME_CATEGORIES];
    unsigned n_categories;
    struct gp_chrome_cached_track tracks[GP_CHROME_TRACK_CACHE];
    GP_VEC(struct gp_chrome_extra) extras;          /* by sid */
    GP_VEC(struct gp_chrome_arg) args, config_args; /* of the event at hand */
    struct gp_buf text, repaired;
    uint32_t need;
    const char *end, *fail; /* of the text; the position of the error */
    bool limit;             /* the error is a limit that was exceeded */
    struct gp_chrome_chunk *out;
};

void gp_chrome_parser_init(struct gp_chrome_parser *c, uint32_t need);
void gp_chrome_parser_release(struct gp_chrome_parser *c);

/* Reads the event at P ('{'), which is at OFFSET of the input, adds it to c->out and returns the position
 * after it; NULL with c->fail at the error (at or after c->end: the text is too short), and nothing was
 * added. */
const char *gp_chrome_event(struct gp_chrome_parser *c, const char *p, int64_t offset);

/* An event as written, before it becomes rows; made by gp_chrome_event, used by gp_chrome_add. */
struct gp_chrome_fields {
    int64_t offset;
    struct gp_json_value name, cat, id, frame, pid, tid; /* pid, tid: ABSENT if the numbers below are valid */
    int64_t pid_number, tid_number;
    int64_t ts_ns, dur_ns;
    char phase, scope;
    bool has_ts, bad_ts, has_dur, bad_dur;
    bool bad_value, repaired, duplicate;
    bool old_ext; /* ext is called "external id" */
    /* classified */
    bool classified, needed;
    enum gp_table table;
    const struct gp_chrome_category *category; /* NULL: none */
    /* args */
    uint64_t seen; /* one bit per known key */
    int64_t bytes, total, reserved, device, context, stream, sort_index, ret;
    uint64_t addr;
    struct gp_json_value text_arg; /* "name" or "labels" of an M event */
    struct gp_json_value captured; /* an array of strings */
    /* GP_NO_ID: none */
    uint64_t corr, ext, graph, node, seq, recfn, py_id, py_parent, py_module, event, source, waiter;
    uint32_t has, grid[3], block[3], cluster[3], registers, shared_bytes, shared_static, local;
};

/* Adds the event to c->out. False if its args are not JSON, with c->fail untouched: nothing was added
 * then. */
bool gp_chrome_add(struct gp_chrome_parser *c, struct gp_chrome_fields *f);
/* The category of TEXT; its meaning for phases other than X, B and E is up to the caller. */
const struct gp_chrome_category *gp_chrome_category_of(struct gp_chrome_parser *c,
                                                       const struct gp_json_value *text,
                                                       struct gp_chrome_fields *f);

/* ---- documents ---- */

enum gp_chrome_where {
    GP_CHROME_START,  /* nothing read yet */
    GP_CHROME_TOP,    /* among the members of the outer object */
    GP_CHROME_SEEK,   /* after an error in the outer object: looking for "traceEvents" */
    GP_CHROME_EVENTS, /* between events */
    GP_CHROME_RESYNC, /* after an error among events: looking for the next one */
    GP_CHROME_DONE,
};

/* The state of reading. */
struct gp_chrome_state {
    enum gp_chrome_where where;
    bool bare;       /* an array without an object around it */
    bool saw_events; /* "traceEvents" was there */
    bool saw_member; /* the outer object has any member */
    bool not_json;   /* the text does not begin like JSON */
    bool truncated;
    bool too_long;     /* a value of the outer object exceeded the limit */
    uint64_t pos;      /* offset of the next byte to be read */
    uint64_t furthest; /* how far text was read that turned out to be invalid */
    unsigned rescans;
};

struct gp_chrome_text {
    const char *p; /* N bytes and GP_JSON_PAD zero bytes */
    size_t n;
    uint64_t offset;    /* of P[0] in the input */
    bool last;          /* the input ends after it */
    bool ends_at_event; /* an event seems to begin after it */
};

/* Continues from S->pos, which is in TEXT. Afterwards S->pos is where the next text must begin: the end of
 * this one, or an earlier position where something began that does not end in it. */
void gp_chrome_parse(struct gp_chrome_parser *c, struct gp_chrome_state *s,
                     const struct gp_chrome_text *text);

/* The first place at or after FROM where an event seems to begin: '}', ',', '{' and a key that begins events.
 * NULL: none whose key ends before END. */
const char *gp_chrome_find_event(const char *from, const char *end);

/* ---- several inputs ----
 * Private to the Chrome reader: joins the chunks, in order, into one trace.
 *
 * Chunks refer to the strings, tracks and configs of the parser that read them. Merging gives each of those
 * its place in the trace when it first occurs, in the order of the input, so the result does not depend on
 * which parser read which chunk. Knows nothing about text, files and threads.
 *
 *     gp_chrome_merge_begin(&m, &trace);
 *     gp_chrome_merge_chunk(&m, &parser, &map, &chunk);      // repeatedly, in the order of the input
 *     gp_chrome_merge_end(&m);
 */

struct gp_chrome_merge {
    struct gp_trace *t;
    /* only its tracks are used: rows refer to them until the kinds of all tracks are known */
    struct gp_trace tracks;
    struct gp_events open; /* B and E events */
    size_t first_row[GP_TABLE_COUNT];
    GP_VEC(struct gp_chrome_label) labels; /* `where` in t->processes or in tracks.tracks */
    GP_VEC(struct gp_chrome_frame) frames;
    int64_t last_ns;
    uint64_t n_known; /* events with a phase that events have */
};

/* A parser's numbers as numbers of the trace; UINT32_MAX: not seen yet. One per parser, initially zeroed. */
struct gp_chrome_map {
    GP_VEC(uint32_t) strings, configs, processes, tracks;
};

void gp_chrome_merge_begin(struct gp_chrome_merge *m, struct gp_trace *t);
/* Moves everything of CHUNK into the trace; the chunk is cleared. */
void gp_chrome_merge_chunk(struct gp_chrome_merge *m, const struct gp_chrome_parser *c,
                           struct gp_chrome_map *map, struct gp_chrome_chunk *chunk);
/* Determines the kinds of tracks, names them, and makes spans of B and E events. Releases M's own memory. */
void gp_chrome_merge_end(struct gp_chrome_merge *m);

/* Discards the map, because the parser starts over. */
void gp_chrome_map_release(struct gp_chrome_map *map);

/* ---- stacks ---- */

#define GP_CHROME_FRAMES   "stackFrames"
#define GP_CHROME_NUMBERED (UINT32_C(1) << 31)

/* The id of a frame in V, which may be a number or a text: 7 and "7" are the same. */
uint32_t gp_chrome_frame_id(struct gp_chrome_parser *c, const struct gp_json_value *v);
/* Adds the frames in OBJECT, the value of "stackFrames", to C->out. False: it is not valid to its end. */
bool gp_chrome_read_frames(struct gp_chrome_parser *c, const struct gp_json_value *object);
/* Makes stacks of M's frames, and ids of frames in the events' column into their numbers; unknown ones and
 * circles into none. Linear. */
void gp_chrome_take_stacks(struct gp_chrome_merge *m);
/* The member "stackFrames": what events of T refer to, if any do. Their "sf" is the number of the stack. */
void gp_chrome_put_frames(struct gp_buf *b, const struct gp_trace *t);

/* ---- spans ---- */

/* Decisions that need the whole input: spans from B and E
 * events, and the meaning of the members of the outer object.
 */

/* Makes spans of the B and E events in OPEN (see struct gp_chrome_chunk) and adds them to T. On each track,
 * an E without a name ends the span that began last, and one with a name the last one of that name. Spans
 * that never end are ended at LAST_NS. */
void gp_chrome_pair_spans(struct gp_trace *t, const struct gp_events *open, int64_t last_ns);

/* A member of the outer object: devices, rank, or metadata as written. VALUE is valid JSON. */
void gp_chrome_take_meta(struct gp_trace *t, const char *key, const char *value, size_t n);

/* ---- members of our own files ----
 * Private to formats/chrome: which process of a file is of which producer and
 * rank, and which of them has which ids, as two members of the outer object. A Chrome trace has no place for
 * them.
 *
 *     gp_chrome_put_producers(&buf, &trace, &rows);  // "gpuprofProcesses":[[PID,IDS,PRODUCER,RANK],...],
 *     gp_chrome_take_producers(&trace);              // after all events were read: undoes the writer's ids
 */

#define GP_CHROME_PROCESSES "gpuprofProcesses" /* IDS * 2^32 was added to the ids of the process */
#define GP_CHROME_DEVICES   "gpuprofDevices"   /* the producer of each of deviceProperties */

#define GP_CHROME_PACE "gpuprofPace" /* [START_NS,DUR_NS,HOW,PID] for each of the trace's paces */

/* No processes and devices if T has one producer, number 0, and no ranks of processes. */
void gp_chrome_put_producers(struct gp_buf *b, const struct gp_trace *t, const struct gp_chrome_rows *rows);
/* Move these facts from the metadata of T, which is not finished yet, to its processes. */
void gp_chrome_take_producers(struct gp_trace *t);

#endif
