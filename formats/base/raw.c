/* Bytes as they come from the system, before they are decompressed. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/input_priv.h"

/* Waits until a read would not block. False if the reader is gone. */
static bool wait_readable(const struct gp_raw *raw)
{
    if (raw->wake_fd < 0) return true;
    struct pollfd p[2] = {{.fd = raw->fd, .events = POLLIN}, {.fd = raw->wake_fd, .events = POLLIN}};
    while (poll(p, 2, -1) < 0)
        if (errno != EINTR && errno != EAGAIN) return true;
    return p[1].revents == 0;
}

size_t gp_raw_read(struct gp_raw *raw, void *to, size_t n)
{
    if (raw->fd < 0 || raw->ended) {
        raw->ended = true;
        return 0;
    }
    ssize_t got = -1;
    while (wait_readable(raw)) {
        got = read(raw->fd, to, n);
        if (got >= 0) break;
        if (errno == EAGAIN || errno == EWOULDBLOCK) { /* the descriptor was left non-blocking */
            struct pollfd p = {.fd = raw->fd, .events = POLLIN};
            poll(&p, 1, -1);
        } else if (errno != EINTR) {
            raw->error = errno;
            break;
        }
    }
    if (got <= 0) raw->ended = true;
    return got > 0 ? (size_t)got : 0;
}

size_t gp_raw_need(struct gp_raw *raw, size_t want)
{
    if (raw->n >= want || raw->ended || raw->fd < 0) return raw->n;
    if (raw->n > 0) memmove(raw->buf, raw->at, raw->n);
    raw->at = raw->buf;
    while (raw->n < want && !raw->ended) raw->n += gp_raw_read(raw, raw->buf + raw->n, raw->cap - raw->n);
    return raw->n;
}

void gp_raw_skip(struct gp_raw *raw, size_t n)
{
    raw->at += n;
    raw->n -= n;
    raw->offset += n;
}
