#include "formats/net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <fcntl.h>
#include "formats/base/err.h"

enum { BACKLOG = 128 };

/* Is there a socket of this user that nobody answers? Somebody does if it is of another type. */
static bool is_left_behind(const struct sockaddr_un *a)
{
    struct stat st;
    if (lstat(a->sun_path, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool dead = connect(fd, (const struct sockaddr *)a, sizeof *a) && errno == ECONNREFUSED;
    close(fd);
    return dead;
}

static int listen_at(const char *path, int type, const char *option, struct gp_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return gp_fail(err, GP_E_USAGE, -1, "%s: %s: longer than %zu bytes", option, path,
                       sizeof a.sun_path - 1);
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return gp_fail(err, GP_E_IO, -1, "%s: %s", option, strerror(errno));
    if (is_left_behind(&a)) unlink(path);
    mode_t before = umask(0177);
    int failed = bind(fd, (const struct sockaddr *)&a, sizeof a);
    int why = errno;
    umask(before);
    if (failed || (type == SOCK_STREAM && listen(fd, BACKLOG))) {
        gp_fail(err, GP_E_IO, -1, "%s: %s: %s", option, path, strerror(failed ? why : errno));
        close(fd);
        return -1;
    }
    return fd;
}

int gp_listen_unix(const char *path, const char *option, struct gp_err *err)
{
    return listen_at(path, SOCK_STREAM, option, err);
}

int gp_listen_unix_datagrams(const char *path, const char *option, struct gp_err *err)
{
    return listen_at(path, SOCK_DGRAM, option, err);
}

void gp_listen_end(int fd, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    close(fd);
    if (!path || strlen(path) >= sizeof a.sun_path) return;
    strcpy(a.sun_path, path);
    if (is_left_behind(&a)) unlink(path);
}

static int resolve(const char *address, uint16_t port, struct addrinfo **found, struct gp_err *err)
{
    char text[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    snprintf(text, sizeof text, "%u", (unsigned)port);
    int rc = getaddrinfo(!strcmp(address, "localhost") ? "127.0.0.1" : address, text, &hints, found);
    return rc ? gp_fail(err, GP_E_USAGE, -1, "--listen: %s: not an address such as 127.0.0.1 or ::1", address)
              : 0;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n)) return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)&a)->sin6_port
                                         : ((const struct sockaddr_in *)(const void *)&a)->sin_port);
}

int gp_listen_tcp(const char *address, uint16_t port, uint16_t *got, struct gp_err *err)
{
    struct addrinfo *a;
    int yes = 1;
    if (resolve(address, port, &a, err)) return -1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG)) {
        gp_fail(err, GP_E_IO, -1, "%s, port %u: %s", address, (unsigned)port, strerror(errno));
        if (fd >= 0) close(fd);
        fd = -1;
    }
    freeaddrinfo(a);
    if (fd >= 0) *got = port_of(fd);
    return fd;
}

int gp_listen_reserve(const char *address, uint16_t port)
{
    struct addrinfo *a;
    if (resolve(address, port, &a, NULL)) return -2;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), why = 0;
    if (fd < 0) why = errno;
    else if (bind(fd, a->ai_addr, a->ai_addrlen)) {
        why = errno;
        close(fd);
    }
    freeaddrinfo(a);
    if (!why) return fd;
    return why == EAFNOSUPPORT || why == EADDRNOTAVAIL ? -2 : -1;
}

int gp_connect_unix(const char *path, int wait_s)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval wait = {.tv_sec = wait_s};
    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (!connect(fd, (const struct sockaddr *)&a, sizeof a)) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* ---- datagrams ---- */

enum { ROOM = 8 << 20 };

static int refuse(int fd, const char *address, const char *what, struct gp_err *err)
{
    int why = errno;
    if (fd >= 0) close(fd);
    return gp_fail(err, GP_E_IO, -1, "%s: %s: %s", address, what, strerror(why));
}

static int prepare(int fd)
{
    int room = ROOM;
    if (fd < 0) return -1;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room); /* as much as is allowed */
    return fd;
}

static int datagrams(int family) { return prepare(socket(family, SOCK_DGRAM, 0)); }

static int connect_unix(const char *path, struct gp_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return gp_fail(err, GP_E_USAGE, -1, "%s: the path is too long", path);
    strcpy(a.sun_path, path);
    int fd = datagrams(AF_UNIX);
    if (fd < 0) return refuse(fd, path, "cannot make a socket", err);
    return connect(fd, (const struct sockaddr *)&a, sizeof a) ? refuse(fd, path, "cannot connect", err) : fd;
}

/* Does A lead to this machine only? */
static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *in6 = (const void *)a;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static int find_host(const char *address, struct addrinfo **found, struct gp_err *err)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    size_t n = colon ? (size_t)(colon - address) : 0;
    if (!colon || !n || n >= sizeof host || !colon[1])
        return gp_fail(err, GP_E_USAGE, -1, "%s: expected HOST:PORT, or the path of a socket with a \"/\"",
                       address);
    memcpy(host, address, n);
    host[n] = '\0';
    if (*host == '[' && host[n - 1] == ']') {
        memmove(host, host + 1, n - 2);
        host[n - 2] = '\0';
    }
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    int why = getaddrinfo(host, colon + 1, &hints, found);
    return why ? gp_fail(err, GP_E_IO, -1, "%s: %s", address, gai_strerror(why)) : 0;
}

static int udp(const char *address, bool listen, bool *remote, struct gp_err *err)
{
    struct addrinfo *found = NULL;
    if (find_host(address, &found, err)) return -1;
    int fd = datagrams(found->ai_family);
    int failed = fd < 0 ? -1
                        : (listen ? bind(fd, found->ai_addr, found->ai_addrlen)
                                  : connect(fd, found->ai_addr, found->ai_addrlen));
    *remote = !is_loopback(found->ai_addr);
    if (failed) fd = refuse(fd, address, listen ? "cannot listen" : "cannot connect", err);
    freeaddrinfo(found);
    return fd;
}

int gp_net_listen(const char *address, bool *remote, struct gp_err *err)
{
    *remote = false;
    return strchr(address, '/') ? prepare(gp_listen_unix_datagrams(address, "--listen", err))
                                : udp(address, true, remote, err);
}

int gp_net_connect(const char *address, struct gp_err *err)
{
    bool remote;
    return strchr(address, '/') ? connect_unix(address, err) : udp(address, false, &remote, err);
}

bool gp_net_send(int fd, const void *data, size_t n) { return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n; }

void gp_net_receive(int fd, void *room, size_t cap, void (*message)(void *ctx, const void *data, size_t n),
                    void *ctx)
{
    enum { AT_ONCE = 4096 };
    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t n = recv(fd, room, cap, 0);
        if (n < 0 && errno != ECONNREFUSED && errno != EINTR) return;
        if (n >= 0) message(ctx, room, (size_t)n);
    }
}
