#include "collect/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "collect/wire/shared.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"

int gp_wire_move_up(int fd)
{
    enum { LOWEST_FD = 200 };
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0) return fd;
    close(fd);
    return high;
}

static int fill_address(struct sockaddr_un *a, socklen_t *len, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if (!n || n >= sizeof a->sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(a->sun_path, name, n);
    if (name[0] == '@') a->sun_path[0] = 0;
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return 0;
}

int gp_wire_listen(const char *name, struct gp_err *err)
{
    struct sockaddr_un a;
    socklen_t len;
    if (fill_address(&a, &len, name)) return gp_fail(err, GP_E_IO, -1, "invalid socket name");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 128)) return fd;
    gp_fail(err, GP_E_IO, -1, "socket: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

int gp_wire_connect(const char *name)
{
    struct sockaddr_un a;
    socklen_t len;
    if (fill_address(&a, &len, name)) return -1;
    int fd = gp_wire_move_up(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0) return -1;
    /* While the queue of the listener is full, connect() waits for so long. */
    struct timeval most = {.tv_sec = GP_WIRE_CONNECT_MS / 1000, .tv_usec = GP_WIRE_CONNECT_MS % 1000 * 1000L},
                   none = {0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    int size = 4 << 20; /* what fits here survives the death of the process; the system limits it */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    int rc;
    do rc = connect(fd, (struct sockaddr *)&a, len);
    while (rc && errno == EINTR);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    if (!rc) return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

bool gp_wire_sleep_path(char to[GP_SLEEP_PATH], const char *runtime, uint32_t uid, const char *file)
{
    int n = runtime && *runtime ? snprintf(to, GP_SLEEP_PATH, "%s/gpuprof%s", runtime, file)
                                : snprintf(to, GP_SLEEP_PATH, "/tmp/gpuprof-%lu%s", (unsigned long)uid, file);
    return n > 0 && n < GP_SLEEP_PATH;
}

bool gp_wire_peer_is_ours(int fd, uint32_t *uid)
{
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t len = sizeof cred;
    bool known = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
    *uid = cred.uid;
    return known && (cred.uid == geteuid() || cred.uid == getuid() || cred.uid == 0);
}

static bool trigger_fits(const struct gp_trigger *t)
{
    return t->when <= GP_WHEN_PACE && t->time_ns >= 0 && memchr(t->name, 0, sizeof t->name);
}

bool gp_wire_welcome_fits(const struct gp_wire_welcome *w)
{
    if (w->version != GP_WIRE_VERSION || w->api > GP_API_LEVEL_ALL || w->graphs > GP_GRAPHS_WHOLE)
        return false;
    if (w->flush_ns < GP_WIRE_FLUSH_LEAST_NS || w->flush_ns > GP_WIRE_FLUSH_MOST_NS) return false;
    if (w->buffer_bytes < GP_WIRE_BUFFER_LEAST || w->buffer_bytes > GP_WIRE_BUFFER_MOST) return false;
    if (!w->slots || w->slots > gp_shared_size(w->buffer_bytes).slots) return false;
    if (!gp_measure_opts_fit(&w->metrics)) return false;
    if (w->pc.mode > GP_PC_LAUNCHES || w->pc.period > GP_PC_PERIOD_MOST) return false;
    return trigger_fits(&w->capture.start) && trigger_fits(&w->capture.stop) && w->capture.duration_ns >= 0;
}

/* Room for one descriptor with the bytes. */
union passage {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void attach_fd(struct msghdr *msg, union passage *control, int fd)
{
    memset(control, 0, sizeof *control);
    msg->msg_control = control->bytes;
    msg->msg_controllen = sizeof control->bytes;
    struct cmsghdr *c = CMSG_FIRSTHDR(msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

int gp_wire_send(int fd, enum gp_wire_type type, const void *data, size_t n)
{
    return gp_wire_send_fd(fd, type, data, n, -1);
}

int gp_wire_send_fd(int fd, enum gp_wire_type type, const void *data, size_t n, int passed)
{
    struct gp_wire_head head = {(uint32_t)type, (uint32_t)n};
    struct iovec iov[2] = {{&head, sizeof head}, {(void *)(uintptr_t)data, n}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n ? 2 : 1};
    union passage control;
    if (passed >= 0) attach_fd(&msg, &control, passed);
    while (msg.msg_iovlen) {
        ssize_t done = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        msg.msg_control = NULL; /* it was sent with the first bytes */
        msg.msg_controllen = 0;
        while (msg.msg_iovlen && (size_t)done >= msg.msg_iov->iov_len) {
            done -= (ssize_t)msg.msg_iov->iov_len;
            msg.msg_iov++;
            msg.msg_iovlen--;
        }
        if (msg.msg_iovlen) {
            msg.msg_iov->iov_base = (char *)msg.msg_iov->iov_base + done;
            msg.msg_iov->iov_len -= (size_t)done;
        }
    }
    return 0;
}

/* The descriptor that came with MSG, or -1. */
static int attached_fd(struct msghdr *msg)
{
    int fd = -1;
    struct cmsghdr *c = msg->msg_controllen ? CMSG_FIRSTHDR(msg) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

/* PASSED, if not NULL, is set if a descriptor comes with them. */
static int receive_bytes(int fd, void *to, size_t n, int64_t until_ms, int *passed)
{
    for (size_t got = 0; got < n;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = until_ms - gp_now_ns() / 1000000;
        int ready = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        union passage control;
        struct iovec iov = {(char *)to + got, n - got};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        if (passed && *passed < 0) {
            msg.msg_control = control.bytes;
            msg.msg_controllen = sizeof control.bytes;
        }
        ssize_t k = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        if (passed && *passed < 0) *passed = attached_fd(&msg);
        got += (size_t)k;
    }
    return 0;
}

bool gp_wire_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

uint32_t gp_wire_next(int fd, int timeout_ms)
{
    struct gp_wire_head head = {0, 0};
    int64_t until_ms = gp_now_ns() / 1000000 + timeout_ms;
    for (int64_t left_ms = timeout_ms; left_ms >= 0; left_ms = until_ms - gp_now_ns() / 1000000) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)left_ms) <= 0) continue;
        ssize_t n = recv(fd, &head, sizeof head, MSG_PEEK);
        if (n == (ssize_t)sizeof head) return head.type;
        if (n <= 0) return 0;
    }
    return 0;
}

static int receive(int fd, enum gp_wire_type type, void *to, size_t n, int timeout_ms, int *passed)
{
    struct gp_wire_head head;
    int64_t until_ms = gp_now_ns() / 1000000 + timeout_ms;
    if (receive_bytes(fd, &head, sizeof head, until_ms, passed)) return -1;
    if (head.type != (uint32_t)type || head.len != n) return -1;
    return receive_bytes(fd, to, n, until_ms, passed);
}

int gp_wire_receive(int fd, enum gp_wire_type type, void *to, size_t n, int timeout_ms)
{
    return receive(fd, type, to, n, timeout_ms, NULL);
}

int gp_wire_receive_fd(int fd, enum gp_wire_type type, void *to, size_t n, int timeout_ms, int *passed)
{
    *passed = -1;
    int rc = receive(fd, type, to, n, timeout_ms, passed);
    if (!rc && *passed >= 0) return 0;
    if (*passed >= 0) close(*passed);
    *passed = -1;
    return -1;
}
