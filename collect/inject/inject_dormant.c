/* The library asleep, see inject.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/inject/inject.h"
#include "formats/base/err.h"

static struct {
    pthread_mutex_t lock;
    int fd;
    struct stat socket; /* if the program closes every descriptor, FD may be one of its own */
    pid_t pid;
    char path[GP_SLEEP_PATH];
    _Atomic bool on;
    gp_dormant_record *record;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static bool socket_is_ours(void)
{
    struct stat st;
    return !fstat(self.fd, &st) && st.st_dev == self.socket.st_dev && st.st_ino == self.socket.st_ino;
}

/* ---- off ---- */

/* The file that switches us off, NULL: there is none. */
static const char *find_off(void)
{
    static const char everybody[] = "/etc/gpuprof/off";
    static char own[GP_SLEEP_PATH];
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), ""};
    if (!access(everybody, F_OK)) return everybody;
    for (size_t i = 0; i < GP_COUNT(places); i++)
        if (gp_wire_sleep_path(own, places[i], geteuid(), "/off") && !access(own, F_OK)) return own;
    return NULL;
}

bool gp_dormant_wanted(void)
{
    const char *v = getenv(GP_ENV_DORMANT);
    return v && !strcmp(v, "1") && !find_off();
}

bool gp_dormant_is_on(void) { return atomic_load(&self.on); }

/* ---- the socket ---- */

static bool make_private(const char *folder)
{
    struct stat st;
    if (mkdir(folder, S_IRWXU) && errno != EEXIST) return false;
    return !lstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IRWXG | S_IRWXO));
}

/* Who sees the path can connect: it is there only once somebody listens. One that is there already is of a
 * process of that number that was killed. */
static int listen_in(const char *runtime)
{
    char name[24], early[GP_SLEEP_PATH];
    struct gp_err err = {0};
    if (!gp_wire_sleep_path(self.path, runtime, geteuid(), "") || !make_private(self.path)) return -1;
    snprintf(name, sizeof name, "/.%ld", (long)getpid());
    if (!gp_wire_sleep_path(early, runtime, geteuid(), name)) return -1;
    snprintf(name, sizeof name, "/%ld", (long)getpid());
    if (!gp_wire_sleep_path(self.path, runtime, geteuid(), name)) return -1;
    unlink(early);
    int fd = gp_wire_move_up(gp_wire_listen(early, &err));
    if (fd >= 0 && rename(early, self.path)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0) fcntl(fd, F_SETFL, 0); /* accept() waits */
    return fd;
}

static void remove_path(void)
{
    if (gp_dormant_is_on() && getpid() == self.pid) unlink(self.path);
}

/* ---- the thread ---- */

static void answer(int fd)
{
    uint32_t uid;
    struct gp_wire_say say = {""};
    const char *off = find_off();
    if (!gp_wire_peer_is_ours(fd, &uid)) {
        close(fd);
        return;
    }
    if (off) snprintf(say.text, sizeof say.text, "switched off by %s", off);
    if (!off && self.record(fd, say.text, sizeof say.text)) return;
    gp_debug("not recorded: %s", say.text);
    if (!gp_wire_send(fd, GP_WIRE_SAY, &say, sizeof say)) gp_debug("the launcher knows");
    close(fd);
}

static void *sleep_thread(void *arg)
{
    (void)arg;
    while (socket_is_ours()) {
        int fd = accept4(self.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) answer(fd);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) gp_rest_ms(1000);
        else if (errno != EINTR && errno != ECONNABORTED) break;
    }
    atomic_store(&self.on, false);
    return NULL;
}

bool gp_dormant_start(gp_dormant_record *record)
{
    pthread_mutex_lock(&self.lock);
    self.record = record;
    if (!gp_dormant_is_on() && !find_off()) {
        self.fd = listen_in(getenv("XDG_RUNTIME_DIR"));
        if (self.fd < 0) self.fd = listen_in("");
        bool first = self.pid != getpid();
        self.pid = getpid();
        atomic_store(&self.on, self.fd >= 0 && !fstat(self.fd, &self.socket));
        if (gp_dormant_is_on() && !gp_inject_thread(sleep_thread)) atomic_store(&self.on, false);
        if (gp_dormant_is_on() && first) first = !atexit(remove_path);
        gp_debug("asleep at %s: %s", self.path, gp_dormant_is_on() ? "yes" : "no");
    }
    pthread_mutex_unlock(&self.lock);
    return gp_dormant_is_on();
}

void gp_dormant_forked(void)
{
    if (self.fd >= 0 && socket_is_ours()) close(self.fd);
    pthread_mutex_init(&self.lock, NULL);
    self.fd = -1;
    atomic_store(&self.on, false);
}
