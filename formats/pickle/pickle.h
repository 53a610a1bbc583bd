/* pickle.h -- a machine for Python pickles that hold data and nothing else. It has no names to call and
 * nothing to call them with: every opcode that would import, call or build an object is refused with its name
 * and byte offset, so that a hostile file can only be wrong. Protocols 2 to 5; one pass over a file of any
 * size. What lists and dicts mean is the business of a sink, which turns them into values of its own kinds as
 * they are filled.
 *
 *     struct gp_pickle_sink sink = {.ctx = &mine, .pairs = pairs, .items = items, .dicts = 1u << MY_RECORD};
 *     struct gp_pickle_end end;
 *     if (gp_pickle_read(in, &strings, &sink, &end, &err)) ...        // refused: err has opcode and offset
 *     if (end.truncated) ...                                          // end.root has the values so far
 */
#ifndef GP_FORMATS_PICKLE_PICKLE_H
#define GP_FORMATS_PICKLE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "formats/base/input.h"
#include "formats/base/intern.h"

enum gp_pickle_kind {
    GP_PICKLE_NONE,
    GP_PICKLE_BOOL,
    GP_PICKLE_INT,   /* i */
    GP_PICKLE_BIG,   /* u: 2^63 to 2^64 - 1; longer ones become the nearest and are counted in `saturated` */
    GP_PICKLE_REAL,  /* d */
    GP_PICKLE_TEXT,  /* u: a gp_sid */
    GP_PICKLE_LIST,  /* an empty list, or one that the sink made nothing of */
    GP_PICKLE_DICT,  /* the same of a dict */
    GP_PICKLE_TUPLE, /* the same of a tuple */
    GP_PICKLE_OTHER, /* bytes, sets, and values beyond the memo */
    GP_PICKLE_OWN,   /* kinds of the sink: from here to 31 */
};

enum {
    GP_PICKLE_DEPTH = 64,          /* containers inside each other */
    GP_PICKLE_VALUES = 1 << 22,    /* values that wait for their container */
    GP_PICKLE_TEXT_MOST = 1 << 16, /* bytes of a string that are kept */
};

struct gp_pickle_value {
    uint32_t kind;
    uint32_t memo; /* private: 1 + where it is remembered */
    union {
        int64_t i;
        uint64_t u; /* kinds of a sink: below 2^27 */
        double d;
    };
};

/* Each may change SELF's kind and payload: all references to the container see the change. */
struct gp_pickle_sink {
    void *ctx;
    uint32_t dicts; /* bit 1u << kind: this kind of the sink's own is a dict, otherwise it is a list */
    /* N items go to the end of list SELF; OFFSET is that of the opcode. */
    void (*items)(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n,
                  uint64_t offset);
    /* N pairs of key and value go into dict SELF. */
    void (*pairs)(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *pairs, size_t n,
                  uint64_t offset);
    /* N items make the tuple SELF. */
    void (*tuple)(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *items, size_t n);
    void (*progress)(void *ctx, uint64_t bytes); /* now and then; may be NULL */
};

/* How it ended. */
struct gp_pickle_end {
    /* of a damaged pickle: the outermost container as far as the damage */
    struct gp_pickle_value root;
    bool truncated;     /* the input ended first */
    const char *damage; /* the fault there, static; NULL: none */
    int64_t damage_offset;
    uint64_t saturated; /* integers of more than 64 bits */
    int64_t saturated_offset;
    uint64_t cut; /* strings longer than GP_PICKLE_TEXT_MOST */
    int64_t cut_offset;
    uint64_t bytes; /* read */
};

/* Is this the beginning of a pickle of protocol 2 to 5? */
bool gp_pickle_sniff(const uint8_t *head, size_t n);

/* Run the pickle that IN holds; texts are interned in STRINGS. -1 with the offset of the opcode when it asks
 * for anything but data. Damage ends the run and is not a failure: END reports it. O(bytes); memory for the
 * strings that differ and 4 bytes per remembered object. */
GP_MUST_CHECK int gp_pickle_read(struct gp_input *in, struct gp_strings *strings,
                                 const struct gp_pickle_sink *sink, struct gp_pickle_end *end,
                                 struct gp_err *err);

/* The name of an opcode that is refused: "REDUCE"; NULL for others. */
const char *gp_pickle_refused(uint8_t opcode);

#endif
