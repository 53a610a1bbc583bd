/* The connection of this process to the launcher, and the frames on it. */
#include "collect/inject/inject_link.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/inject/inject.h"
#include "collect/inject/inject_window.h"
#include "formats/base/count.h"

enum { HEAR_MS = 1000 /* to wait for the rest of a frame */ };
static const int64_t CLOCK_NS = 1000000000;

static struct {
    int fd;
    /* of the socket: if the program closes every descriptor, our bytes must not end up in its files */
    dev_t fd_dev;
    ino_t fd_ino;
    _Atomic uint64_t progress; /* changes as long as the flush thread makes progress */
    int64_t last_clock_ns;
    bool reached; /* a launcher listens, whatever it says */
    bool broken;  /* the launcher cannot be reached */
    bool gone;    /* because it is gone */
    bool leaves;  /* it has ended the recording */
} self = {.fd = -1};

/* ---- frames ---- */

static bool socket_is_ours(void)
{
    struct stat st;
    return !fstat(self.fd, &st) && st.st_dev == self.fd_dev && st.st_ino == self.fd_ino;
}

void gp_link_send(enum gp_wire_type type, const void *data, size_t n)
{
    if (self.broken) return;
    if (!socket_is_ours()) {
        gp_debug("our socket was closed");
        self.broken = true;
    } else if (gp_wire_send(self.fd, type, data, n)) {
        gp_debug("the launcher is gone: %s", strerror(errno));
        self.broken = self.gone = true;
    } else {
        atomic_fetch_add(&self.progress, 1);
    }
}

void gp_link_fact(const char *key, int64_t value)
{
    struct gp_wire_fact f = {.value = value};
    strncpy(f.key, key, sizeof f.key - 1);
    gp_link_send(GP_WIRE_FACT, &f, sizeof f);
}

void gp_link_device(const struct gp_wire_device *device)
{
    gp_link_send(GP_WIRE_DEVICE, device, sizeof *device);
}

void gp_link_lose(const char *what, const char *why, uint64_t count)
{
    struct gp_wire_loss l = {.count = count};
    if (!count) return;
    strncpy(l.what, what, sizeof l.what - 1);
    strncpy(l.why, why, sizeof l.why - 1);
    gp_link_send(GP_WIRE_LOSS, &l, sizeof l);
    gp_debug("lost: %llu %s: %s", (unsigned long long)count, what, why);
}

/* A flush begins; with CLOCK, or if the last time was long ago, with both clocks. */
void gp_link_tick(bool clock)
{
    struct gp_wire_tick t = {gp_now_ns(), 0};
    if (clock || t.now_ns - self.last_clock_ns >= CLOCK_NS) {
        t.realtime_ns = gp_clock_ns(CLOCK_REALTIME);
        self.last_clock_ns = t.now_ns;
    }
    gp_link_send(GP_WIRE_TICK, &t, sizeof t);
}

void gp_link_write(void)
{
    struct gp_wire_write w = {gp_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    gp_link_send(GP_WIRE_WRITE, &w, sizeof w);
}

void gp_link_window(void *ctx, const struct gp_wire_window *w)
{
    (void)ctx;
    gp_link_send(GP_WIRE_WINDOW, w, sizeof *w);
}

static void follow(const struct gp_wire_record *order)
{
    self.leaves |= order->leave != 0;
    if (order->open) gp_inject_window_set(true);
    else gp_inject_window_close();
}

/* Handle frames from the launcher. If it is gone, sending will show it. */
void gp_link_hear(void)
{
    struct gp_wire_record r;
    while (!self.broken && socket_is_ours() && gp_wire_readable(self.fd)) {
        if (gp_wire_receive(self.fd, GP_WIRE_RECORD, &r, sizeof r, HEAR_MS)) {
            gp_debug("the launcher is gone");
            self.broken = self.gone = true;
        } else {
            follow(&r);
        }
    }
}

/* Orders to record may come first. */
bool gp_link_hear_cut(struct gp_wire_cut_done *done)
{
    enum { CUT_MS = 60000 };
    struct gp_wire_record r;
    uint32_t type;
    while (!self.broken && socket_is_ours() && (type = gp_wire_next(self.fd, CUT_MS)) != 0) {
        if (type == GP_WIRE_CUT_DONE) return !gp_wire_receive(self.fd, type, done, sizeof *done, HEAR_MS);
        if (gp_wire_receive(self.fd, GP_WIRE_RECORD, &r, sizeof r, HEAR_MS)) break;
        follow(&r);
    }
    self.broken = self.gone = true;
    return false;
}

/* ---- the beginning and the end ---- */

static int32_t rank_from_environment(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                        "LOCAL_RANK"};
    for (size_t i = 0; i < GP_COUNT(names); i++) {
        const char *v = getenv(names[i]);
        char *end;
        if (!v || !*v) continue;
        long rank = strtol(v, &end, 10);
        if (!*end && rank >= 0 && rank < INT32_MAX) return (int32_t)rank;
    }
    return -1;
}

/* Addresses that a limit of the program leaves for our memory, in MB: half of them. 0: there is no limit. */
static uint32_t room_mb(void)
{
    struct rlimit limit;
    unsigned long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%lu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    uint64_t used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t mb = limit.rlim_cur > used ? (limit.rlim_cur - used) / 2 >> 20 : 0;
    return mb > UINT32_MAX ? 0 : mb ? (uint32_t)mb : 1;
}

/* The listener must run as our user or as root: the environment gives its address, not its owner. */
static bool launcher_is_ours(int fd)
{
    uint32_t uid;
    if (gp_wire_peer_is_ours(fd, &uid)) return true;
    gp_say("the launcher belongs to another user (%lu): this process runs untraced", (unsigned long)uid);
    return false;
}

/* Exchange HELLO and WELCOME. */
static bool meet(int fd, struct gp_wire_welcome *opts, int *memory)
{
    struct gp_wire_hello hello = {GP_WIRE_VERSION, (int32_t)getpid(), rank_from_environment(), room_mb()};
    if (gp_wire_send(fd, GP_WIRE_HELLO, &hello, sizeof hello)) return false;
    if (gp_wire_receive_fd(fd, GP_WIRE_WELCOME, opts, sizeof *opts, GP_WIRE_WELCOME_MS, memory)) {
        /* it has closed its end: it is over, or it has said why; otherwise it is stopped or overloaded */
        if (!gp_wire_readable(fd)) gp_say("the launcher does not answer: this process runs untraced");
        return false;
    }
    if (gp_wire_welcome_fits(opts)) return true;
    gp_say("the answer of the launcher is not valid: this process runs untraced");
    close(*memory);
    return false;
}

bool gp_link_open(int given, struct gp_wire_welcome *opts, int *memory)
{
    struct stat st;
    int fd = given >= 0 ? gp_wire_move_up(given) : gp_wire_connect(getenv(GP_ENV_SOCKET));
    self.reached = fd >= 0;
    if (fd < 0 && errno == EAGAIN) gp_say("the launcher does not answer: this process runs untraced");
    if (fd < 0) {
        gp_debug("no launcher at %s: %s", getenv(GP_ENV_SOCKET) ? getenv(GP_ENV_SOCKET) : "(unset)",
                 strerror(errno));
        return false;
    }
    if (fstat(fd, &st) || !launcher_is_ours(fd) || !meet(fd, opts, memory)) {
        gp_debug("no agreement with the launcher");
        close(fd);
        return false;
    }
    self.fd = fd;
    self.fd_dev = st.st_dev;
    self.fd_ino = st.st_ino;
    self.broken = self.gone = self.leaves = false;
    self.last_clock_ns = 0;
    return true;
}

void gp_link_close(void)
{
    if (!self.broken && socket_is_ours() && !gp_wire_send(self.fd, GP_WIRE_BYE, NULL, 0))
        gp_debug("the launcher knows");
    close(self.fd);
    self.fd = -1;
}

void gp_link_end(void)
{
    if (self.fd >= 0 && socket_is_ours()) close(self.fd);
    self.fd = -1;
}

/* ---- its state ---- */

bool gp_link_is_open(void) { return self.fd >= 0; }

bool gp_link_is_broken(void) { return self.broken; }

bool gp_link_is_gone(void) { return self.gone; }

bool gp_link_leaves(void) { return self.leaves; }

bool gp_link_was_reached(void) { return self.reached; }

uint64_t gp_link_progress(bool more)
{
    return more ? atomic_fetch_add(&self.progress, 1) + 1 : atomic_load(&self.progress);
}
