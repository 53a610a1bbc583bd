#include "formats/net/datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/net/listen.h"

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

static int datagrams(int family)
{
    return prepare(socket(family, SOCK_DGRAM, 0));
}

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

bool gp_net_send(int fd, const void *data, size_t n)
{
    return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
}

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
