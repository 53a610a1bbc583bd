// Sockets of connections: who may connect, and what is replaced or left alone at a path.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/net/net.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/gp_listen_XXXXXX";
static char path[64];

static int make_folder(GP_UNUSED void **state)
{
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/s", folder);
    return 0;
}

static int remove_folder(GP_UNUSED void **state)
{
    return rmdir(folder); /* fails when a test left something behind */
}

TESTS_BETWEEN(make_folder, remove_folder);

TEST(only_the_owner_can_connect)
{
    struct gp_err err = {0};
    struct stat st;
    char got[4] = "";
    int fd = gp_listen_unix(path, "--socket", &err);
    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    int client = gp_connect_unix(path, 5), server = accept(fd, NULL, NULL);
    assert_true(client >= 0 && server >= 0);
    assert_int_equal(write(client, "abc", 3), 3);
    assert_int_equal(read(server, got, sizeof got), 3);
    assert_string_equal(got, "abc");
    close(client);
    close(server);
    gp_listen_end(fd, path);
    assert_int_equal(access(path, F_OK), -1);
}

TEST(a_socket_that_nobody_answers_is_replaced)
{
    struct gp_err err = {0};
    int first = gp_listen_unix(path, "--socket", &err);
    assert_true(first >= 0);
    close(first); /* as a program that was killed leaves it */
    assert_int_equal(gp_connect_unix(path, 1), -1);
    assert_int_equal(errno, ECONNREFUSED);
    int second = gp_listen_unix(path, "--socket", &err);
    assert_true(second >= 0);
    gp_listen_end(second, path);
}

TEST(what_is_in_use_stays)
{
    struct gp_err err = {0};
    char want[128];
    int fd = gp_listen_unix(path, "--socket", &err);
    assert_int_equal(gp_listen_unix(path, "--socket", &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    snprintf(want, sizeof want, "--socket: %s: %s", path, strerror(EADDRINUSE));
    assert_string_equal(err.msg, want);
    int client = gp_connect_unix(path, 5);
    assert_true(client >= 0);
    close(client);
    /* the end of another listener does not take away the socket of this one */
    gp_listen_end(dup(fd), path);
    assert_int_equal(access(path, F_OK), 0);
    gp_listen_end(fd, path);
}

TEST(a_file_at_the_path_stays)
{
    struct gp_err err = {0};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    assert_int_equal(gp_listen_unix(path, "--socket", &err), -1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_size == 4);
    unlink(path);
}

TEST(a_path_that_is_too_long_is_named)
{
    struct gp_err err = {0};
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(gp_listen_unix(name, "--socket", &err), -1);
    assert_int_equal(err.code, GP_E_USAGE);
    assert_non_null(strstr(err.msg, "longer than 107 bytes"));
    assert_int_equal(gp_connect_unix(name, 1), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

TEST(a_port_is_one_programs)
{
    struct gp_err err = {0};
    uint16_t port = 0, other = 0;
    int fd = gp_listen_tcp("127.0.0.1", 0, &port, &err);
    assert_true(fd >= 0 && port > 0);
    assert_int_equal(gp_listen_tcp("127.0.0.1", port, &other, &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    assert_int_equal(gp_listen_reserve("127.0.0.1", port), -1);
    gp_listen_end(fd, NULL);
    int reserved = gp_listen_reserve("127.0.0.1", port);
    assert_true(reserved >= 0);
    close(reserved);
}

TEST(an_address_that_is_not_of_this_machine_is_told_from_one_that_is_taken)
{
    struct gp_err err = {0};
    uint16_t port;
    assert_int_equal(gp_listen_reserve("192.0.2.1", 7000), -2); /* for documentation, RFC 5737 */
    assert_int_equal(gp_listen_tcp("not-an-address", 0, &port, &err), -1);
    assert_int_equal(err.code, GP_E_USAGE);
}
