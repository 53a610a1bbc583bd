#include "collect/launcher/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "collect/kept.h"
#include "formats/base/buf.h"
#include "formats/net/net.h"
#include "formats/base/mem.h"
#include "formats/base/num.h"
#include "formats/base/str.h"
#include "formats/base/vec.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"

/* Names and the like are needed as long as there are events that refer to them, so that they stay. */
enum { EVENT_BYTES = 256 << 20, NAME_BYTES = 64 << 20, ASK_BYTES = 64 };
static const int64_t KEEP_NS = INT64_C(60000000000), READER_NS = INT64_C(10000000000);

struct reader {
    int fd; /* -1: this place is free */
    int64_t since_ns;
    size_t asked, sent;
    char ask[ASK_BYTES];
    struct gp_buf answer;
};

struct gp_live {
    int fd;
    char *path;
    struct gp_kept_list names, events;
    struct reader readers[GP_LIVE_READERS];
};

struct gp_live *gp_live_open(const char *path, struct gp_err *err)
{
    int fd = gp_listen_unix(path, "--serve", err);
    if (fd < 0) return NULL;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    struct gp_live *l = gp_zalloc(sizeof *l);
    l->fd = fd;
    l->path = gp_strdup(path);
    for (size_t i = 0; i < GP_LIVE_READERS; i++) l->readers[i].fd = -1;
    return l;
}

/* ---- the blocks that are kept ---- */

void gp_live_put(struct gp_live *l, const void *block, size_t n, int64_t now_ns)
{
    struct gp_gpt_block_header h;
    if (!l || n < GP_GPT_BLOCK_HEADER_SIZE || !gp_gpt_get_header(block, &h) || h.kind == GP_GPT_END) return;
    if (GP_GPT_HAS_EVENTS(h.kind)) gp_kept_add(&l->events, block, n, now_ns);
    else if (l->names.bytes < NAME_BYTES) gp_kept_add(&l->names, block, n, now_ns);
    while (l->events.head && (now_ns - l->events.head->at_ns > KEEP_NS || l->events.bytes > EVENT_BYTES))
        free(gp_kept_take(&l->events));
}

/* ---- a trace of it ---- */

struct number {
    uint32_t producer, seq;
};

struct numbers {
    GP_VEC(struct number) at;
};

/* Blocks are renumbered, so that those that are left out do not look lost. */
static uint32_t next_number(struct numbers *numbers, uint32_t producer)
{
    for (size_t i = 0; i < numbers->at.n; i++)
        if (numbers->at.at[i].producer == producer) return numbers->at.at[i].seq++;
    GP_VEC_PUSH(&numbers->at, (struct number){producer, 1});
    return 0;
}

static void put_blocks(struct gp_buf *to, const struct gp_kept_list *from, int64_t since_ns,
                       struct numbers *numbers)
{
    struct gp_gpt_block_header h;
    for (const struct gp_kept *b = from->head; b; b = b->next) {
        if (b->at_ns < since_ns || !gp_gpt_get_header(b->data, &h)) continue;
        uint8_t *p = (uint8_t *)gp_buf_reserve(to, b->n);
        memcpy(p, b->data, b->n);
        gp_gpt_patch(p, h.producer, next_number(numbers, h.producer));
        to->n += b->n;
    }
}

static void make_answer(const struct gp_live *l, struct gp_buf *to, int64_t since_ns)
{
    struct numbers numbers = {0};
    gp_gpt_file_header((uint8_t *)gp_buf_reserve(to, GP_GPT_HEADER_SIZE));
    to->n += GP_GPT_HEADER_SIZE;
    put_blocks(to, &l->names, INT64_MIN, &numbers);
    put_blocks(to, &l->events, since_ns, &numbers);
    /* So that a reader does not take it for one that was cut. */
    for (size_t i = 0; i < numbers.at.n; i++) {
        struct gp_gpt_block_header h = {
            .kind = GP_GPT_END, .producer = numbers.at.at[i].producer, .seq = numbers.at.at[i].seq};
        gp_gpt_put_header((uint8_t *)gp_buf_reserve(to, GP_GPT_BLOCK_HEADER_SIZE), &h);
        to->n += GP_GPT_BLOCK_HEADER_SIZE;
    }
    GP_VEC_FREE(&numbers.at);
}

/* ---- readers ---- */

static void end_reader(struct reader *r)
{
    close(r->fd);
    gp_buf_release(&r->answer);
    memset(r, 0, sizeof *r);
    r->fd = -1;
}

static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) && (who.uid == geteuid() || who.uid == 0);
}

static void let_in(struct gp_live *l, int64_t now_ns)
{
    struct reader *place = NULL;
    for (size_t i = 0; i < GP_LIVE_READERS && !place; i++)
        if (l->readers[i].fd < 0) place = &l->readers[i];
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && (!place || !is_ours(fd))) close(fd);
    else if (fd >= 0) {
        place->fd = fd;
        place->since_ns = now_ns;
    }
}

/* Take the request of R. False if there is no such thing. */
static bool hear(struct gp_live *l, struct reader *r, int64_t now_ns)
{
    uint64_t last_ns;
    ssize_t n = read(r->fd, r->ask + r->asked, sizeof r->ask - r->asked);
    if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    r->asked += (size_t)n;
    const char *end = memchr(r->ask, '\n', r->asked);
    if (!end) return r->asked < sizeof r->ask;
    if (!gp_begin(r->ask, r->asked, "last ")) return false;
    const char *number = r->ask + strlen("last ");
    if (!gp_u64_from_text(number, (size_t)(end - number), &last_ns)) return false;
    make_answer(l, &r->answer, last_ns < (uint64_t)now_ns ? now_ns - (int64_t)last_ns : 0);
    return true;
}

/* False at the end, and if R has gone. */
static bool send_on(struct reader *r)
{
    ssize_t n = send(r->fd, r->answer.data + r->sent, r->answer.n - r->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    r->sent += (size_t)n;
    return r->sent < r->answer.n;
}

size_t gp_live_poll_fds(const struct gp_live *l, struct pollfd *fds)
{
    size_t n = 0;
    if (!l) return 0;
    fds[n++] = (struct pollfd){.fd = l->fd, .events = POLLIN};
    for (size_t i = 0; i < GP_LIVE_READERS; i++)
        if (l->readers[i].fd >= 0)
            fds[n++] =
                (struct pollfd){.fd = l->readers[i].fd, .events = l->readers[i].answer.n ? POLLOUT : POLLIN};
    return n;
}

void gp_live_serve(struct gp_live *l, const struct pollfd *fds, size_t n, int64_t now_ns)
{
    if (!l) return;
    GP_EACH_OF(struct reader, r, l->readers, GP_LIVE_READERS) {
        bool ready = false;
        if (r->fd < 0) continue;
        for (size_t k = 1; k < n; k++) ready |= fds[k].fd == r->fd && fds[k].revents;
        if (ready && !(r->answer.n ? send_on(r) : hear(l, r, now_ns))) end_reader(r);
        else if (now_ns - r->since_ns > READER_NS) end_reader(r); /* too slow to be waited for */
    }
    if (n && fds[0].revents) let_in(l, now_ns);
}

void gp_live_close(struct gp_live *l)
{
    if (!l) return;
    for (size_t i = 0; i < GP_LIVE_READERS; i++)
        if (l->readers[i].fd >= 0) end_reader(&l->readers[i]);
    while (l->names.head) free(gp_kept_take(&l->names));
    while (l->events.head) free(gp_kept_take(&l->events));
    gp_listen_end(l->fd, l->path);
    free(l->path);
    free(l);
}
