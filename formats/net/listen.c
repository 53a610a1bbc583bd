#include "formats/net/listen.h"

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
