// Datagrams: whole messages, on this machine or to others, and a receiver that nobody can keep busy.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/net/net.h"
#include "tests/unit/unit.h"

struct seen {
    char text[64]; /* the messages, each with a "|" behind it */
    size_t n, messages;
};

static void take(void *ctx, const void *data, size_t n)
{
    struct seen *s = ctx;
    s->messages++;
    if (s->n + n + 1 >= sizeof s->text) return;
    memcpy(s->text + s->n, data, n);
    s->n += n;
    s->text[s->n++] = '|';
}

/* What HOW many messages are after they were sent from TO and received at FD, at most CAP bytes each. */
static struct seen exchange(int fd, int to, const char *const *messages, size_t cap)
{
    struct seen s = {.n = 0};
    char room[64];
    for (; *messages; messages++) assert_true(gp_net_send(to, *messages, strlen(*messages)));
    gp_net_receive(fd, room, cap, take, &s);
    return s;
}

TEST(messages_through_the_file_system_are_whole_and_in_order)
{
    static const char *const messages[] = {"one", "two", "a longer one", NULL};
    char folder[] = "/tmp/gp_datagram_XXXXXX", path[64];
    struct gp_err err = {0};
    bool remote = true;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    int fd = gp_net_listen(path, &remote, &err), to = gp_net_connect(path, &err);
    assert_true(fd >= 0 && to >= 0);
    assert_false(remote);
    assert_string_equal(exchange(fd, to, messages, 64).text, "one|two|a longer one|");
    assert_string_equal(exchange(fd, to, messages, 5).text, "one|two|a lon|"); /* cut at the room there is */
    close(fd);
    assert_false(gp_net_send(to, "x", 1)); /* dropped: nobody listens any more */
    close(to);
    unlink(path);
    rmdir(folder);
}

TEST(messages_over_udp_reach_this_machine_only_at_its_loopback)
{
    static const char *const messages[] = {"digest", NULL};
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    struct gp_err err = {0};
    char address[40];
    bool remote = true;
    int fd = gp_net_listen("127.0.0.1:0", &remote, &err);
    assert_true(fd >= 0);
    assert_false(remote);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
    int to = gp_net_connect(address, &err);
    assert_true(to >= 0);
    assert_string_equal(exchange(fd, to, messages, 64).text, "digest|");
    close(to);
    close(fd);
    fd = gp_net_listen("0.0.0.0:0", &remote, &err);
    assert_true(fd >= 0);
    assert_true(remote);
    close(fd);
}

/* A connection whose other end is closed has an empty message whenever it is asked: the caller gets its
 * turn. */
TEST(a_sender_without_end_does_not_keep_the_receiver)
{
    char room[8];
    int pair[2];
    struct seen s = {.n = 0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    close(pair[1]);
    gp_net_receive(pair[0], room, sizeof room, take, &s);
    assert_int_equal(s.messages, 4096);
    close(pair[0]);
}

TEST(what_is_no_address_is_refused)
{
    struct gp_err err = {0};
    bool remote;
    assert_int_equal(gp_net_listen("7707", &remote, &err), -1);
    assert_int_equal(err.code, GP_E_USAGE);
    assert_int_equal(gp_net_listen("127.0.0.1:", &remote, &err), -1);
    assert_int_equal(gp_net_connect(":7707", &err), -1);
    assert_int_equal(gp_net_connect("/no/such/socket", &err), -1);
    assert_int_equal(err.code, GP_E_IO);
}
