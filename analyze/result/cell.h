/* cell.h -- one value of a result with its unit: what a field of a row gives, and what text, pages, CSV and
 * JSON print. Knows nothing of tables or output syntax.
 *
 *     struct gp_cell c = {.type = GP_CELL_NS, .i = 1234567};
 */
#ifndef GP_ANALYZE_CELL_H
#define GP_ANALYZE_CELL_H

#include <stdbool.h>
#include <stdint.h>

/* The content of a cell, which determines how it is shown: "1.23 ms", "1,234", "40.5%". In CSV all numbers
 * are raw. */
enum gp_cell_type {
    GP_CELL_NAME, /* a name from a trace, which is cut to fit; the label is shown, the full name is kept */
    GP_CELL_TEXT, /* our own text, never cut: the text format wraps it in the last column; may have a label */
    GP_CELL_BOOL, /* "yes" and "no", in CSV and JSON true and false */
    GP_CELL_ID,   /* an integer that is not a quantity: a rank, a device, a stream */
    GP_CELL_COUNT,     /* an integer with thousands separators */
    GP_CELL_NS,        /* integer nanoseconds */
    GP_CELL_BYTES,     /* integer bytes */
    GP_CELL_PCT,       /* real, percent */
    GP_CELL_GBPS,      /* real, 10^9 bytes per second */
    GP_CELL_REAL,      /* real, without unit */
    GP_CELL_NS_REAL,   /* real nanoseconds: a mean or a deviation of times, shown as a time */
    GP_CELL_US,        /* integer nanoseconds, exactly in microseconds: "1,234.567" */
    GP_CELL_CHANGE_NS, /* the same three with their sign: "+1.23 ms" */
    GP_CELL_CHANGE_US,
    GP_CELL_CHANGE_PCT,
    GP_CELL_CHANGE_BYTES, /* integer bytes with their sign */
    /* What only JSON has: */
    GP_CELL_ANY,   /* a number or a text: the getter sets the cell's type */
    GP_CELL_DIST,  /* a distribution, an object of its own */
    GP_CELL_LIST,  /* a list of values: of the first field of another record, one by row */
    GP_CELL_ROWS,  /* rows of another record, a list of objects */
    GP_CELL_NAMED, /* rows of another record as members of an object: gp_record_named() in field.h */
    GP_CELL_ROW,   /* one row of another record, an object */
    GP_CELL_PART,  /* no value: the fields of another record stand here, of a struct within the row */
};

/* The member of a cell that has its value. */
enum gp_cell_form {
    GP_FORM_TEXT,
    GP_FORM_BOOL,
    GP_FORM_INTEGER,
    GP_FORM_REAL,
    GP_FORM_OTHER /* no value: what only JSON has */
};
static inline enum gp_cell_form gp_cell_form(unsigned type)
{
    if (type <= GP_CELL_BOOL) return type == GP_CELL_BOOL ? GP_FORM_BOOL : GP_FORM_TEXT;
    if (type >= GP_CELL_ANY) return GP_FORM_OTHER;
    bool real = (type >= GP_CELL_PCT && type <= GP_CELL_NS_REAL) || type == GP_CELL_CHANGE_PCT;
    return real ? GP_FORM_REAL : GP_FORM_INTEGER;
}

struct gp_cell {
    uint8_t type; /* enum gp_cell_type; the column's unless the table mixes (figures) */
    bool none;    /* unknown or meaningless: "-" in text, empty in CSV */
    bool absent;  /* unknown, and JSON does not even say so: of fields that are optional and may be null */
    uint32_t label_len, text_len;
    union {
        int64_t i;        /* ID, COUNT, NS, US, BYTES, CHANGE_BYTES; BOOL: 0 or 1 */
        double d;         /* PCT, GBPS, REAL, NS_REAL */
        const void *at;   /* DIST, ROW, and LIST, ROWS and NAMED, of which there are text_len */
        const char *text; /* NAME: the full name; TEXT. NUL-terminated, but may hold NULs */
    };
    const char *label; /* NAME: the shown text; the text itself when no shorter one was given */
};

/* How a column is shown. */
enum {
    GP_COLUMN_WIDE = 1,                  /* only CSV and HTML: text has no room for it */
    GP_COLUMN_BAR = 2,                   /* a share: text and HTML draw it as a bar as well */
    GP_COLUMN_BELOW = 4,                 /* text puts it on a separate line below the row */
    GP_COLUMN_SPARE = 8,                 /* the first to go where a line gets too long */
    GP_COLUMN_RAW = 16 | GP_COLUMN_WIDE, /* only CSV: the raw form of another column */
    GP_COLUMN_FLAGS = 31,                /* all of these */
};

/* The colour of a row about GPU events of KIND (enum gp_frame_kind), which are of CLASS (enum gp_class): text
 * distinguishes classes, the page kinds. */
enum { GP_ROW_HAS_KIND = 0x80 };
static inline uint8_t gp_row_of_kind(unsigned kind, unsigned class)
{
    return (uint8_t)(GP_ROW_HAS_KIND | (kind & 31) << 2 | (class & 3));
}
/* 1 + the class of such a row; other numbers are unchanged. */
static inline unsigned gp_row_class(unsigned number)
{
    return number & GP_ROW_HAS_KIND ? 1 + (number & 3) : number;
}
/* The kind of such a row. */
static inline unsigned gp_row_kind(unsigned number) { return number >> 2 & 31; }

#endif
