/* evil -- what somebody on the same machine may do to a launcher and to traced processes.
 *
 *     evil serve @NAME KIND      listens there instead of a launcher, and reports how many bytes the first
 *                                process sent
 *     evil connect COUNT         opens COUNT connections to the launcher, says nothing, and holds them until
 *                                it is killed
 *
 * KIND is other (as another user, root only), shrink (memory that is taken away), zero, huge, flush (a
 * WELCOME that cannot be), silent (no answer) or full (nobody is taken off the queue). */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/wire/shared.h"
#include "collect/wire/wire.h"
#include "formats/base/err.h"

static int memory_of(const char *kind, const struct gp_wire_welcome *w)
{
    struct gp_shared_opts shape = {w->slots, w->buffer_bytes};
    struct gp_err err = {0};
    if (strcmp(kind, "shrink") != 0) return gp_shared_make(&shape, &err);
    int fd = memfd_create("evil", MFD_CLOEXEC);
    return fd >= 0 && !ftruncate(fd, (off_t)gp_shared_bytes(&shape)) ? fd : -1;
}

static struct gp_wire_welcome welcome_of(const char *kind)
{
    struct gp_shared_opts shape = gp_shared_size(1 << 20);
    struct gp_wire_welcome w = {.version = GP_WIRE_VERSION,
                                .producer = 1,
                                .api = GP_API_LEVEL_SYNC,
                                .buffer_bytes = shape.buffer_bytes,
                                .flush_ns = 50000000,
                                .slots = shape.slots,
                                .graph_rate = 1000000,
                                .capture.open = 1};
    if (!strcmp(kind, "flush")) w.flush_ns = -1;
    return w;
}

static int answer(int fd, const char *kind)
{
    struct gp_wire_welcome w = welcome_of(kind);
    int memory = memory_of(kind, &w);
    if (memory < 0) return -1;
    if (!strcmp(kind, "zero")) w.buffer_bytes = 0;
    if (!strcmp(kind, "huge")) w.slots = UINT32_MAX;
    int rc = gp_wire_send_fd(fd, GP_WIRE_WELCOME, &w, sizeof w, memory);
    if (!strcmp(kind, "shrink")) {
        poll(NULL, 0, 200);
        rc |= ftruncate(memory, 0);
    }
    close(memory);
    return rc;
}

/* Who connects, and what comes after HELLO. */
static int serve_one(int listener, const char *kind)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    if (poll(&p, 1, 20000) != 1) return fprintf(stderr, "evil: nobody came\n"), 1;
    int fd = accept(listener, NULL, NULL);
    struct gp_wire_hello hello;
    bool hello_came = !gp_wire_receive(fd, GP_WIRE_HELLO, &hello, sizeof hello, 20000);
    if (hello_came && strcmp(kind, "silent") != 0 && answer(fd, kind))
        fprintf(stderr, "evil: cannot answer\n");
    char drop[4096];
    long got = 0;
    for (ssize_t n; (n = read(fd, drop, sizeof drop)) > 0;) got += n;
    printf("hello %d, then %ld bytes\n", hello_came, got);
    close(fd);
    return 0;
}

/* A queue with no room: its own connections fill it. */
static int fill_queue(int listener, const char *name)
{
    if (listen(listener, 0)) return 1;
    for (int i = 0; i < 8; i++) {
        if (fork()) continue;
        int fd = gp_wire_connect(name);
        pause();
        return fd;
    }
    puts("listening");
    fflush(stdout);
    pause();
    return 0;
}

static int serve(const char *name, const char *kind)
{
    struct gp_err err = {0};
    if (!strcmp(kind, "other") && setuid(65534)) return fprintf(stderr, "evil: not root\n"), 1;
    int listener = gp_wire_listen(name, &err);
    if (listener < 0) return fprintf(stderr, "evil: %s\n", err.msg), 1;
    fcntl(listener, F_SETFL, 0);
    if (!strcmp(kind, "full")) return fill_queue(listener, name);
    puts("listening");
    fflush(stdout);
    return serve_one(listener, kind);
}

static int hold(int count)
{
    int held = 0;
    for (int i = 0; i < count; i++) held += gp_wire_connect(getenv(GP_ENV_SOCKET)) >= 0;
    printf("%d held\n", held);
    fflush(stdout);
    pause();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "serve")) return serve(argv[2], argv[3]);
    if (argc == 3 && !strcmp(argv[1], "connect")) return hold(atoi(argv[2]));
    fprintf(stderr, "usage: evil serve @NAME KIND | evil connect COUNT\n");
    return 2;
}
