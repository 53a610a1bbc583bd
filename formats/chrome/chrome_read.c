/* The Chrome trace reader: JSON trace events as PyTorch's Kineto, Chrome and many others write them.
 *
 * The input is cut into chunks of fixed size, each moved to where an event seems to begin. Workers parse
 * chunks at the same time, each assuming that its chunk begins between two events. Merging them, in order,
 * checks the assumption: if the text before did not end there after all, the chunk is parsed again together
 * with the remainder. So guessing changes the speed, never the result.
 *
 * What is kept: chrome_parse.h and chrome_add.c define the column of each field and arg; args without a
 * column are kept as text in `extra`, except these, which can be derived or have no meaning outside of the
 * file: "Ev Idx", "Profiler Event Index", "memory bandwidth (GB/s)". Fields of events that the trace event
 * format does not need (tts, cname, bp: an arrow's 'f' is taken to bind to the enclosing span) and M events
 * other than names, labels and sort indices are not kept. An empty string as pid or tid becomes " ", because
 * an empty text means a number.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/str.h"
#include "formats/chrome/chrome.h"
#include "formats/chrome/chrome_priv.h"

enum {
    HEAD = 4096,
    MAX_THREADS = 8,
    LOOK_AHEAD = 16 << 10,   /* read after a chunk to find where an event begins */
    STRINGS_LIMIT = 8 << 20, /* bytes of strings and configs after which a parser starts over */
};

/* ---- where the text comes from ---- */

struct source {
    struct gp_input *in;
    int fd; /* -1: only in order, through gp_input_read */
    uint64_t size;
    size_t chunk;
    uint64_t next;         /* number of the next chunk */
    struct gp_buf pending; /* in order: bytes that were read beyond the last chunk */
    uint64_t pending_offset;
    bool ended;
};

/* One worker's piece of text. */
struct piece {
    uint64_t number;
    char *data; /* 2 * chunk + pad bytes */
    size_t n;   /* bytes in data */
    struct gp_chrome_text text;
    bool guessed; /* the text begins where an event seems to begin (or at the very beginning) */
};

static size_t read_at(const struct source *s, char *to, size_t n, uint64_t offset)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(s->fd, to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

/* Fill P->data, which begins at the chunk's nominal position or (in order) before it, up to UNTIL. */
static void fill_until(struct source *s, struct piece *p, uint64_t begin, uint64_t until)
{
    if (until <= begin + p->n) return;
    size_t want = (size_t)(until - begin - p->n), got;
    if (s->fd >= 0) {
        if (until > s->size) want = s->size > begin + p->n ? (size_t)(s->size - begin - p->n) : 0;
        got = read_at(s, p->data + p->n, want, begin + p->n);
    } else {
        got = gp_input_read(s->in, p->data + p->n, want);
    }
    p->n += got;
}

/* Where chunk NUMBER really begins, as a position in P: the first event that seems to begin in its nominal
 * range, or the nominal position itself. NULL if that takes more text. */
static const char *find_begin(const struct source *s, struct piece *p, uint64_t begin, uint64_t number,
                              bool all, bool *guessed)
{
    uint64_t nominal = number * s->chunk;
    *guessed = number == 0;
    if (number == 0) return p->data;
    const char *end = p->data + p->n, *from = p->data + (nominal - begin);
    const char *limit = from + s->chunk < end ? from + s->chunk : end;
    if (from > end) return end;
    memset(p->data + p->n, 0, GP_JSON_PAD);
    const char *event = gp_chrome_find_event(from, limit);
    *guessed = event != NULL;
    if (event) return event;
    return all ? from : NULL;
}

/* The text of the piece's chunk. False if there is no such chunk. */
static bool fill(struct source *s, struct piece *p)
{
    uint64_t nominal = p->number * s->chunk, begin = s->fd >= 0 ? nominal : s->pending_offset;
    uint64_t after = nominal + s->chunk;
    p->n = 0;
    if (s->fd >= 0 ? p->number && nominal >= s->size : s->ended) return false;
    if (s->pending.n) memcpy(p->data, s->pending.data, s->pending.n);
    p->n = s->pending.n;
    fill_until(s, p, begin, after + LOOK_AHEAD < after + s->chunk ? after + LOOK_AHEAD : after + s->chunk);
    bool ended = begin + p->n <= after, next_guessed = false;
    const char *first = p->data, *next = NULL;
    if (s->fd >= 0) first = find_begin(s, p, begin, p->number, true, &p->guessed);
    if (!ended) {
        next = find_begin(s, p, begin, p->number + 1, false, &next_guessed);
        if (!next) {
            fill_until(s, p, begin, after + s->chunk);
            next = find_begin(s, p, begin, p->number + 1, true, &next_guessed);
        }
    }
    const char *end = ended ? p->data + p->n : next;
    if (s->fd < 0) {
        s->pending_offset = begin + (uint64_t)(end - p->data);
        s->pending.n = 0;
        gp_buf_put(&s->pending, end, (size_t)(p->data + p->n - end));
        s->ended = ended;
    }
    memset(p->data + (end - p->data), 0, GP_JSON_PAD);
    if (first > end) first = end;
    p->text = (struct gp_chrome_text){first, (size_t)(end - first), begin + (uint64_t)(first - p->data),
                                      ended, next_guessed};
    return true;
}

/* ---- workers ---- */

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct source source;
    const struct gp_read_opts *opts;
    uint32_t need;
    bool bare;                    /* the input seems to be an array */
    bool next_guessed;            /* in order: does the next chunk begin at an event? */
    uint64_t turn;                /* number of the chunk that is merged next */
    struct gp_chrome_state state; /* the confirmed state of reading */
    struct gp_buf carry;          /* text from state.pos on that could not be parsed yet */
    size_t retry;                 /* CARRY is worth another try from this size on */
    struct gp_chrome_merge merge;
    uint64_t bytes;
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    struct gp_chrome_parser parser;
    struct gp_chrome_map map;
    struct gp_chrome_chunk chunk;
    struct piece piece;
};

/* Takes the next chunk. False: there is none. */
static bool take_piece(struct worker *w)
{
    struct shared *s = w->shared;
    bool some;
    if (s->source.fd >= 0) {
        pthread_mutex_lock(&s->lock);
        w->piece.number = s->source.next++;
        pthread_mutex_unlock(&s->lock);
        return fill(&s->source, &w->piece);
    }
    pthread_mutex_lock(&s->lock);
    w->piece.number = s->source.next;
    w->piece.guessed = s->next_guessed;
    some = fill(&s->source, &w->piece);
    s->next_guessed = w->piece.text.ends_at_event;
    if (some) s->source.next++;
    pthread_mutex_unlock(&s->lock);
    return some;
}

/* Keep the text from the state's position on for the next turn. */
static void carry_rest(struct shared *s, const struct gp_chrome_text *text)
{
    size_t done = (size_t)(s->state.pos - text->offset);
    size_t left = text->n - done;
    if (text->p == s->carry.data) memmove(s->carry.data, s->carry.data + done, left);
    else gp_buf_put(&s->carry, text->p + done, left);
    s->carry.n = left;
    s->retry = left * 2;
}

/* Parse the piece's text together with the remainder before it. */
static void parse_again(struct worker *w)
{
    struct shared *s = w->shared;
    struct gp_chrome_text text = w->piece.text;
    /* The assumption was wrong: discard the parsed chunks. */
    gp_chrome_chunk_release(&w->chunk);
    memset(&w->chunk, 0, sizeof w->chunk);
    gp_chrome_chunk_clear(&w->chunk);
    gp_buf_put(&s->carry, text.p, text.n);
    if (!text.last && s->carry.n < s->retry) return;
    memset(gp_buf_reserve(&s->carry, GP_JSON_PAD), 0, GP_JSON_PAD);
    text.offset = text.offset + text.n - s->carry.n;
    text.p = s->carry.data;
    text.n = s->carry.n;
    gp_chrome_parse(&w->parser, &s->state, &text);
    carry_rest(s, &text);
}

/* Was the worker's assumption about the beginning of its chunk right? */
static bool is_guess_right(const struct worker *w, const struct gp_chrome_state *guess)
{
    const struct gp_chrome_state *s = &w->shared->state;
    if (!w->piece.guessed) return false;
    if (w->piece.number == 0) return true;
    return s->where == GP_CHROME_EVENTS && s->pos == w->piece.text.offset && s->furthest <= s->pos &&
           guess->bare == s->bare;
}

/* It is the turn of the worker's chunk: add it to the trace. */
static void merge_piece(struct worker *w, const struct gp_chrome_state *guess)
{
    struct shared *s = w->shared;
    if (is_guess_right(w, guess)) {
        struct gp_chrome_state was = s->state;
        s->state = *guess;
        if (w->piece.number) {
            s->state.saw_member |= was.saw_member;
        }
        carry_rest(s, &w->piece.text);
    } else {
        parse_again(w);
    }
    s->bytes = w->piece.text.offset + w->piece.text.n;
    gp_chrome_merge_chunk(&s->merge, &w->parser, &w->map, &w->chunk);
    if (s->opts->progress) s->opts->progress(s->opts->progress_ctx, gp_input_done(s->source.in, s->bytes));
}

static void run(struct worker *w)
{
    struct shared *s = w->shared;
    while (take_piece(w)) {
        struct gp_chrome_state guess = {
            .where = GP_CHROME_EVENTS, .pos = w->piece.text.offset, .saw_events = true, .bare = s->bare};
        if (w->piece.number == 0) guess = (struct gp_chrome_state){.where = GP_CHROME_START};
        if (w->piece.guessed) gp_chrome_parse(&w->parser, &guess, &w->piece.text);
        pthread_mutex_lock(&s->lock);
        while (s->turn != w->piece.number) pthread_cond_wait(&s->changed, &s->lock);
        pthread_mutex_unlock(&s->lock);
        merge_piece(w, &guess);
        pthread_mutex_lock(&s->lock);
        s->turn++;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (w->parser.local.strings.bytes.total > STRINGS_LIMIT) {
            uint32_t need = w->parser.need;
            gp_chrome_parser_release(&w->parser);
            gp_chrome_parser_init(&w->parser, need);
            w->parser.out = &w->chunk;
            gp_chrome_map_release(&w->map);
        }
    }
}

static void *thread_main(void *arg)
{
    run(arg);
    return NULL;
}

static void worker_init(struct worker *w, struct shared *s)
{
    memset(w, 0, sizeof *w);
    w->shared = s;
    gp_chrome_parser_init(&w->parser, s->need);
    gp_chrome_chunk_clear(&w->chunk);
    w->parser.out = &w->chunk;
    w->piece.data = gp_alloc(3 * s->source.chunk + GP_JSON_PAD);
}

static void worker_release(struct worker *w)
{
    gp_chrome_parser_release(&w->parser);
    gp_chrome_map_release(&w->map);
    gp_chrome_chunk_release(&w->chunk);
    free(w->piece.data);
}

/* The caller works, too; the others are separate threads. Fewer threads than requested are enough. */
static void run_workers(struct shared *s, int threads)
{
    struct worker *workers = gp_alloc((size_t)threads * sizeof *workers);
    int started = 1;
    for (int i = 0; i < threads; i++) worker_init(&workers[i], s);
    while (started < threads &&
           !pthread_create(&workers[started].thread, NULL, thread_main, &workers[started]))
        started++;
    run(&workers[0]);
    for (int i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < threads; i++) worker_release(&workers[i]);
    free(workers);
}

static int thread_count(int wanted, const struct source *s)
{
    long n = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t chunks = s->fd >= 0 ? s->size / s->chunk + 1 : MAX_THREADS;
    if (n > MAX_THREADS) n = MAX_THREADS;
    if ((uint64_t)n > chunks) n = (long)chunks;
    return n < 1 ? 1 : (int)n;
}

/* ---- the reader ---- */

/* The first character that is not white space. */
static char first_char(const uint8_t *head, size_t n)
{
    size_t i = gp_begin(head, n, "\xef\xbb\xbf") ? 3 : 0;
    while (i < n && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t')) i++;
    return i < n ? (char)head[i] : '\0';
}

static int judge(struct gp_trace *t, const struct shared *s, struct gp_err *err)
{
    const struct gp_chrome_state *state = &s->state;
    if (state->not_json)
        return gp_fail(err, GP_E_FORMAT, 0,
                       s->bytes ? "not a JSON trace: the text begins neither an object nor an array"
                                : "empty input");
    /* input that ends early may have had events; input with a huge value where a trace has its properties is
     * something else */
    bool whole = !state->truncated || state->too_long;
    if (!state->bare && !state->saw_events && state->saw_member && whole)
        return gp_fail(err, GP_E_FORMAT, 0, "not a trace: the JSON object has no \"traceEvents\"");
    bool elements = t->input.events || t->issues[GP_Q_SYNTAX].count;
    if (state->bare && elements && !s->merge.n_known && whole)
        return gp_fail(err, GP_E_FORMAT, 0, "not a trace: nothing in the JSON array is an event");
    if (state->truncated) gp_trace_issue(t, GP_Q_TRUNCATED, 1, (int64_t)s->bytes);
    return 0;
}

int gp_chrome_read_chunked(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                           size_t chunk, struct gp_err *err)
{
    struct shared s = {.source = {.in = in, .fd = -1, .chunk = chunk}, .opts = opts, .next_guessed = true};
    s.need = t->need;
    size_t n;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    s.bare = first_char(head, n) == '[';
    s.source.fd = gp_input_fd(in, &s.source.size);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    gp_chrome_merge_begin(&s.merge, t);
    run_workers(&s, thread_count(opts->threads, &s.source));
    gp_chrome_merge_end(&s.merge);
    gp_chrome_take_producers(t);
    pthread_mutex_destroy(&s.lock);
    pthread_cond_destroy(&s.changed);
    gp_buf_release(&s.source.pending);
    gp_buf_release(&s.carry);
    t->input.bytes = s.bytes;
    return judge(t, &s, err);
}

static bool sniff(const uint8_t *head, size_t n)
{
    char c = first_char(head, n);
    return c == '{' || c == '[';
}

static int read_chrome(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                       struct gp_err *err)
{
    return gp_chrome_read_chunked(t, in, opts, GP_CHROME_CHUNK, err);
}

const struct gp_reader gp_reader_chrome = {"chrome", "Chrome trace JSON", sniff, read_chrome, {NULL}};
