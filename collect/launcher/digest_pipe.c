#include "collect/launcher/digest_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/launcher/launch.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"

/* Events wait in half of it: a dropped name is missing to the end. */
enum { QUEUE_BYTES = 32 << 20, SENDER_MS = 3000 };
extern char **environ;

struct gp_digest_pipe {
    int fd; /* -1: the sender has gone */
    pid_t pid;
    struct gp_buf queue;
    size_t sent; /* bytes of the queue */
    uint64_t dropped;
};

/* It is installed beside this program. */
static int find_sender(struct gp_buf *path, struct gp_err *err)
{
    gp_environment_beside(path, "trace-fleet");
    if (!access(gp_buf_str(path), X_OK)) return 0;
    return gp_fail(err, GP_E_IO, -1, "--digest: %s: %s", gp_buf_str(path), strerror(errno));
}

/* In a group of its own: signals of a terminal to ours are not for it. */
static int spawn(struct gp_digest_pipe *f, const char *program, const char *const *argv, int in)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    int rc = posix_spawn(&f->pid, program, &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int start(struct gp_digest_pipe *f, const char *address, const char *secret, struct gp_err *err)
{
    struct gp_buf program = {0};
    int ends[2];
    if (find_sender(&program, err)) {
        gp_buf_release(&program);
        return -1;
    }
    const char *argv[] = {gp_buf_str(&program), "--send", address, secret ? "--secret" : NULL, secret, NULL};
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? errno : 0;
    if (!rc) {
        rc = spawn(f, argv[0], argv, ends[1]);
        close(ends[1]);
        if (rc) close(ends[0]);
    }
    if (rc) gp_fail(err, GP_E_IO, -1, "--digest: %s: %s", argv[0], strerror(rc));
    else fcntl(f->fd = ends[0], F_SETFL, O_NONBLOCK);
    gp_buf_release(&program);
    return rc ? -1 : 0;
}

struct gp_digest_pipe *gp_digest_pipe_open(const char *address, const char *secret, struct gp_err *err)
{
    struct gp_digest_pipe *f = gp_zalloc(sizeof *f);
    if (start(f, address, secret, err)) {
        free(f);
        return NULL;
    }
    gp_gpt_file_header((uint8_t *)gp_buf_reserve(&f->queue, GP_GPT_HEADER_SIZE));
    f->queue.n = GP_GPT_HEADER_SIZE;
    return f;
}

static void hang_up(struct gp_digest_pipe *f)
{
    close(f->fd);
    f->fd = -1;
    f->queue.n = f->sent = 0;
}

void gp_digest_pipe_turn(struct gp_digest_pipe *f)
{
    if (!f) return;
    while (f->fd >= 0 && f->sent < f->queue.n) {
        ssize_t n = send(f->fd, f->queue.data + f->sent, f->queue.n - f->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) hang_up(f);
        else f->sent += (size_t)n;
    }
    if (f->sent < f->queue.n / 2) return; /* moving less costs more than it gains */
    f->queue.n -= f->sent;
    memmove(f->queue.data, f->queue.data + f->sent, f->queue.n);
    f->sent = 0;
}

void gp_digest_pipe_put(struct gp_digest_pipe *f, const void *block, size_t n)
{
    struct gp_gpt_block_header h;
    if (!f || n < GP_GPT_BLOCK_HEADER_SIZE || !gp_gpt_get_header(block, &h)) return;
    bool events = h.kind == GP_GPT_LAUNCH || h.kind >= GP_GPT_EVENTS;
    gp_digest_pipe_turn(f);
    if (f->fd < 0 || f->queue.n - f->sent + n > (size_t)(events ? QUEUE_BYTES / 2 : QUEUE_BYTES)) {
        f->dropped++;
        return;
    }
    gp_buf_put(&f->queue, block, n);
    gp_digest_pipe_turn(f);
}

void gp_digest_pipe_poll_fd(const struct gp_digest_pipe *f, struct pollfd *fd)
{
    bool waits = f && f->fd >= 0 && f->sent < f->queue.n;
    *fd = (struct pollfd){.fd = waits ? f->fd : -1, .events = POLLOUT};
}

void gp_digest_pipe_end(struct gp_digest_pipe *f)
{
    if (!f || !f->pid) return;
    int64_t until_ms = gp_now_ns() / 1000000 + SENDER_MS, left;
    bool all = false, over = f->fd < 0;
    while (!over && (left = until_ms - gp_now_ns() / 1000000) > 0) {
        gp_digest_pipe_turn(f);
        if (!all && f->fd >= 0 && f->sent == f->queue.n) all = !shutdown(f->fd, SHUT_WR);
        struct pollfd p = {.fd = f->fd, .events = all ? POLLIN : POLLOUT};
        over = f->fd < 0 || (poll(&p, 1, (int)left) > 0 && all); /* its end is the end of the other side */
    }
    if (!over) kill(f->pid, SIGKILL);
    while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR) continue;
    f->pid = 0;
    if (f->fd >= 0) hang_up(f);
}

uint64_t gp_digest_pipe_dropped(const struct gp_digest_pipe *f) { return f ? f->dropped : 0; }

void gp_digest_pipe_free(struct gp_digest_pipe *f)
{
    if (!f) return;
    gp_digest_pipe_end(f);
    gp_buf_release(&f->queue);
    free(f);
}
