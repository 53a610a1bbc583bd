/* The document around the events: the outer object or array, and recovery after an error. */
#include <string.h>
#include "formats/base/str.h"
#include "formats/chrome/chrome_priv.h"

enum {
    STRADDLE = 4096,     /* white space that a pattern across two texts may contain */
    META_LIMIT = 1 << 20 /* maximum bytes of a top-level value that is kept */
};

struct doc {
    struct gp_chrome_parser *c;
    struct gp_chrome_state *s;
    const struct gp_chrome_text *text;
    const char *p, *end;
};

static uint64_t offset_of(const struct doc *d, const char *p)
{
    return d->text->offset + (uint64_t)(p - d->text->p);
}

static void issue(struct doc *d, enum gp_issue_kind kind, const char *p)
{
    struct gp_issue *q = &d->c->out->issues[kind];
    int64_t offset = (int64_t)offset_of(d, p);
    if (q->first_offset < 0 || offset < q->first_offset) q->first_offset = offset;
    q->count++;
}

/* ---- patterns ---- */

static const char *space_before(const char *p, const char *low)
{
    while (p > low && (p[-1] == ' ' || p[-1] == '\n' || p[-1] == '\r' || p[-1] == '\t')) p--;
    return p;
}

/* The first '{' from FROM on that follows '}' and ',' (not before LOW) and precedes a '"'. */
static const char *find_boundary(const char *low, const char *from, const char *end)
{
    for (const char *p = from; p < end && (p = memchr(p, '{', (size_t)(end - p))); p++) {
        const char *next = gp_json_space(p + 1);
        if (next >= end || *next != '"') continue;
        const char *q = space_before(p, low);
        if (q == low || *--q != ',') continue;
        q = space_before(q, low);
        if (q > low && q[-1] == '}') return p;
    }
    return NULL;
}

/* Is the brace at P followed by a key that begins events? */
static bool begins_event(const char *p, const char *end)
{
    static const char *const keys[] = {"ph",  "name", "cat", "pid", "tid", "ts",
                                       "dur", "args", "id",  "s",   "bp",  "tts"};
    p = gp_json_space(p + 1) + 1;
    for (size_t i = 0; i < GP_COUNT(keys); i++) {
        size_t n = strlen(keys[i]);
        if ((size_t)(end - p) > n && !memcmp(p, keys[i], n) && p[n] == '"') return true;
    }
    return false;
}

const char *gp_chrome_find_event(const char *from, const char *end)
{
    const char *p = from;
    while ((p = find_boundary(from, p, end)) && !begins_event(p, end)) p++;
    return p;
}

/* "traceEvents" : [ -- returns the bracket. */
static const char *find_trace_events(const char *from, const char *end)
{
    static const char key[] = "\"traceEvents\"";
    for (const char *p = from; p < end && (p = memchr(p, '"', (size_t)(end - p))); p++) {
        if ((size_t)(end - p) < sizeof key || memcmp(p, key, sizeof key - 1)) continue;
        const char *q = gp_json_space(p + sizeof key - 1);
        if (*q != ':') continue;
        q = gp_json_space(q + 1);
        if (*q == '[') return q;
    }
    return NULL;
}

/* The ']' after a '}' that can be the end of the array of events: it is followed by the end of the input, the
 * end of the outer object, or its next member. */
static const char *find_array_end(const char *from, const char *end)
{
    for (const char *p = from; p < end && (p = memchr(p, ']', (size_t)(end - p))); p++) {
        const char *q = space_before(p, from);
        if (q == from || q[-1] != '}') continue;
        q = gp_json_space(p + 1);
        if (q >= end || *q == '}') return p;
        if (*q == ',' && *gp_json_space(q + 1) == '"') return p;
    }
    return NULL;
}

/* ---- between events ---- */

/* The event (or other text) at BEGIN could not be read; c->fail is the position of the error. Moves to where
 * the next event seems to begin. Text is read again only a few times, so the work stays linear. */
static void recover(struct doc *d, const char *begin)
{
    struct gp_chrome_state *s = d->s;
    const char *fail = d->c->fail < d->end ? d->c->fail : d->end;
    bool again = offset_of(d, begin) < s->furthest;
    s->rescans = again ? s->rescans + 1 : 0;
    if (offset_of(d, fail) > s->furthest) s->furthest = offset_of(d, fail);
    const char *from = begin + 1;
    if (s->rescans > GP_CHROME_RESCANS) {
        uint64_t skip = s->furthest - offset_of(d, begin);
        if (skip > 1) from = skip < (uint64_t)(d->end - begin) ? begin + skip : d->end;
    }
    const char *next = from < d->end ? find_boundary(begin + 1, from, d->end) : NULL;
    if (!next && d->text->last) {
        next = find_array_end(begin + 1, d->end);
    } else if (!next && !d->text->ends_at_event) {
        s->where = GP_CHROME_RESYNC;
        next = d->end - begin > STRADDLE ? d->end - STRADDLE : begin + 1;
    }
    d->p = next ? next : d->end;
}

static void resync(struct doc *d)
{
    const char *next = find_boundary(d->p, d->p, d->end);
    if (next || d->text->ends_at_event || d->text->last) {
        d->p = next ? next : d->end;
        d->s->where = GP_CHROME_EVENTS;
    } else if (d->end - d->p > STRADDLE) {
        d->p = d->end - STRADDLE;
    }
}

/* Something between events that is not an event, such as the rest of one with a brace too many. A bracket
 * that begins in it does not end the events, unless it only seemed to begin one: an event ends with a brace
 * before the bracket. */
static void skip_garbage(struct doc *d)
{
    const char *p = d->p;
    size_t open = *p == '[';
    issue(d, GP_Q_SYNTAX, p);
    for (p++; p < d->end; p++) {
        const char *q;
        if (*p == '{' && *(q = gp_json_space(p + 1)) == '"' && q < d->end) break;
        open += *p == '[';
        if (*p != ']') continue;
        if (open && p[-1] != '}') {
            open--;
            continue;
        }
        q = gp_json_space(p + 1);
        if (q >= d->end ? d->text->last : *q == '}' || *q == ',') break;
    }
    d->p = p;
}

/* Reads the event at d->p. False if the text ends inside it and more will follow. */
static bool read_event(struct doc *d)
{
    const char *begin = d->p, *q = gp_chrome_event(d->c, begin, (int64_t)offset_of(d, begin));
    if (q) {
        d->p = q;
        return true;
    }
    enum gp_issue_kind kind = GP_Q_SYNTAX;
    if (d->c->fail >= d->end) {
        bool too_long = d->end - begin > GP_CHROME_EVENT_LIMIT;
        if (!too_long && !d->text->last) return false;
        if (too_long) {
            kind = GP_Q_LIMIT;
            d->s->too_long = true;
        } else if (!gp_chrome_find_event(begin + 1, d->end)) { /* cut off, nothing follows */
            d->s->truncated = true;
            d->p = d->end;
            return true;
        }
    }
    issue(d, kind, begin);
    d->c->out->n_events++;
    recover(d, begin);
    return true;
}

/* Move on to the next item, behind commas; NULL at the end. */
static const char *next_item(struct doc *d)
{
    d->p = gp_json_space(d->p);
    while (*d->p == ',') d->p = gp_json_space(d->p + 1);
    if (d->p > d->end) d->p = d->end;
    return d->p < d->end ? d->p : NULL;
}

static bool read_events(struct doc *d)
{
    while (d->s->where == GP_CHROME_EVENTS) {
        const char *p = next_item(d);
        if (!p) return false;
        if (*p == '{') {
            if (!read_event(d)) return false;
        } else if (*p == ']') {
            d->p++;
            d->s->where = d->s->bare ? GP_CHROME_DONE : GP_CHROME_TOP;
        } else {
            skip_garbage(d);
        }
    }
    return true;
}

/* ---- the outer object ---- */

static void keep_meta(struct doc *d, const struct gp_json_value *key, const struct gp_json_value *v)
{
    struct gp_chrome_parser *c = d->c;
    bool string = gp_json_is_string(v);
    const char *p = v->p - string, *end = p + v->n + 2 * string;
    if (end - p > META_LIMIT) {
        issue(d, GP_Q_LIMIT, p);
        return;
    }
    /* a copy with its own end, because the bytes after the value must not change */
    c->text.n = 0;
    gp_buf_put(&c->text, p, (size_t)(end - p));
    memset(gp_buf_reserve(&c->text, GP_JSON_PAD), 0, GP_JSON_PAD);
    unsigned changes;
    c->repaired.n = 0;
    if (gp_json_clean(&c->repaired, c->text.data, c->text.data + c->text.n, &changes)) {
        issue(d, GP_Q_BAD_VALUE, p);
        return;
    }
    if (changes & GP_JSON_CLEANED_TEXT) issue(d, GP_Q_REPAIRED_TEXT, p);
    if (changes & GP_JSON_CLEANED_WORD) issue(d, GP_Q_BAD_VALUE, p);
    c->text.n = 0;
    gp_json_decode(&c->text, key->p, key->n);
    struct gp_meta m;
    m.key = gp_intern(&c->local.strings, c->text.data, c->text.n);
    m.value = gp_intern(&c->local.strings, c->repaired.data, c->repaired.n);
    GP_VEC_PUSH(&c->out->meta, m);
}

/* Reads "key": value at d->p; leaves d->p at the '[' if the value is the events. 1 done, 0 cut off, -1
 * invalid. */
static int read_member(struct doc *d)
{
    struct gp_chrome_parser *c = d->c;
    struct gp_json_value key, v;
    const char *p = gp_json_value(d->p, d->end, &key, &c->fail);
    if (p) {
        p = gp_json_space(p);
        c->fail = p;
        if (*p != ':') p = NULL;
        else p = gp_json_space(p + 1);
    }
    if (p && gp_json_is(&key, "traceEvents") && *p == '[') {
        d->p = p + 1;
        d->s->saw_events = true;
        d->s->where = GP_CHROME_EVENTS;
        return 1;
    }
    const char *q = p ? gp_json_value(p, d->end, &v, &c->fail) : NULL;
    if (!q) return c->fail < d->end ? -1 : 0;
    if (gp_json_is(&key, "traceEvents")) d->s->saw_events = true;
    else if (!gp_json_is(&key, GP_CHROME_FRAMES) || v.kind != GP_JSON_OBJECT) keep_meta(d, &key, &v);
    else if (!gp_chrome_read_frames(c, &v)) issue(d, GP_Q_BAD_VALUE, p);
    d->p = q;
    return 1;
}

static void lost_in_object(struct doc *d)
{
    issue(d, GP_Q_SYNTAX, d->p);
    d->s->where = GP_CHROME_SEEK;
    d->p++;
}

static bool read_object(struct doc *d)
{
    while (d->s->where == GP_CHROME_TOP) {
        const char *p = next_item(d);
        if (!p) return false;
        if (*p == '}') {
            d->p++;
            d->s->where = GP_CHROME_DONE;
        } else if (*p == '"') {
            d->s->saw_member = true;
            int got = read_member(d);
            bool frames = gp_begin(p, (size_t)(d->end - p), "\"" GP_CHROME_FRAMES "\"");
            bool too_long = d->end - p > (frames ? GP_CHROME_FRAMES_LIMIT : GP_CHROME_EVENT_LIMIT);
            if (!got && !too_long && !d->text->last) return false;
            d->s->too_long |= !got && too_long;
            if (got < 0 || (!got && too_long)) {
                lost_in_object(d);
            } else if (!got) { /* the input ends inside a value; or a quote is missing and it only seems to */
                d->s->where = GP_CHROME_SEEK;
                d->p++;
            }
        } else {
            lost_in_object(d);
        }
    }
    return true;
}

/* After an error in the outer object: the array of events, or an event if the array was already reached. */
static bool seek(struct doc *d)
{
    const char *bracket = find_trace_events(d->p, d->end);
    const char *event = d->s->saw_events ? gp_chrome_find_event(d->p, d->end) : NULL;
    if (event && (!bracket || event < bracket)) {
        d->p = event;
        d->s->where = GP_CHROME_EVENTS;
    } else if (bracket) {
        d->p = bracket + 1;
        d->s->saw_events = true;
        d->s->where = GP_CHROME_EVENTS;
    } else {
        if (d->text->last) d->p = d->end;
        else if (d->end - d->p > STRADDLE) d->p = d->end - STRADDLE;
        return false;
    }
    return true;
}

static bool read_start(struct doc *d)
{
    const char *p = d->p;
    if (gp_begin(p, (size_t)(d->end - p), "\xef\xbb\xbf")) p += 3;
    p = gp_json_space(p);
    if (p >= d->end) {
        d->p = d->end;
        d->s->not_json = d->text->last;
        return false;
    }
    d->s->bare = *p == '[';
    d->s->not_json = *p != '[' && *p != '{';
    d->s->where = *p == '[' ? GP_CHROME_EVENTS : *p == '{' ? GP_CHROME_TOP : GP_CHROME_DONE;
    d->p = p + 1;
    return true;
}

/* Only white space should follow the end. */
static bool read_rest(struct doc *d)
{
    const char *p = gp_json_space(d->p);
    if (p < d->end && !d->s->not_json && !d->s->rescans) {
        issue(d, GP_Q_SYNTAX, p);
        d->s->rescans = 1; /* reported once */
    }
    d->p = d->end;
    return false;
}

void gp_chrome_parse(struct gp_chrome_parser *c, struct gp_chrome_state *s, const struct gp_chrome_text *text)
{
    struct doc d = {c, s, text, text->p + (s->pos - text->offset), text->p + text->n};
    c->end = d.end;
    for (bool go = true; go;) {
        switch (s->where) {
        case GP_CHROME_START: go = read_start(&d); break;
        case GP_CHROME_TOP: go = read_object(&d); break;
        case GP_CHROME_SEEK: go = seek(&d); break;
        case GP_CHROME_EVENTS: go = read_events(&d); break;
        case GP_CHROME_RESYNC:
            resync(&d);
            go = s->where == GP_CHROME_EVENTS;
            break;
        case GP_CHROME_DONE: go = read_rest(&d); break;
        }
    }
    s->pos = offset_of(&d, d.p);
    if (!text->last) return;
    bool open = s->where == GP_CHROME_EVENTS ? !s->bare : s->where != GP_CHROME_DONE;
    if (open && !s->not_json) s->truncated = true;
}
