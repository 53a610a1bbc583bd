#include "analyze/app/operands.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"

extern char **environ;

/* ---- lists ---- */

enum { LIST_BYTES = 64 << 20 };

void gp_operands_add(struct gp_operands *o, const char *path, bool command)
{
    if (o->n == o->cap) {
        o->cap = o->cap ? o->cap * 2 : 64;
        o->paths = gp_realloc(o->paths, o->cap * sizeof *o->paths);
        o->commands = gp_realloc(o->commands, o->cap * sizeof *o->commands);
    }
    o->paths[o->n] = gp_arena_strndup(&o->mem, path, strlen(path));
    o->commands[o->n++] = command;
}

static int add_line(struct gp_operands *o, const char *p, size_t n, size_t line, struct gp_err *err)
{
    while (n && (p[n - 1] == '\r' || p[n - 1] == ' ' || p[n - 1] == '\t')) n--;
    if (!n || *p == '#') return 0;
    if (memchr(p, 0, n)) return gp_fail(err, GP_E_SYNTAX, -1, "line %zu: a name holds a NUL", line);
    bool command = *p == '|';
    const char *text = gp_arena_strndup(&o->mem, p + command, n - command);
    if (command && !*text) return gp_fail(err, GP_E_SYNTAX, -1, "line %zu: no command after \"|\"", line);
    gp_operands_add(o, text, command);
    return 0;
}

int gp_operands_read(struct gp_operands *o, const char *list, struct gp_err *err)
{
    struct gp_buf text = {0};
    if (gp_input_all(list, NULL, LIST_BYTES, &text, err)) {
        gp_buf_release(&text);
        return -1;
    }
    int failed = 0;
    size_t before = o->n, line = 1;
    for (size_t at = 0, end; at < text.n && !failed; at = end + 1, line++) {
        const char *newline = memchr(text.data + at, '\n', text.n - at);
        end = newline ? (size_t)(newline - text.data) : text.n;
        failed = add_line(o, text.data + at, end - at, line, err);
    }
    gp_buf_release(&text);
    if (failed) return gp_err_context(err, "%s", list);
    return o->n > before ? 0 : gp_fail(err, GP_E_USAGE, -1, "%s: names no input", list);
}

void gp_operands_release(struct gp_operands *o)
{
    gp_arena_release(&o->mem);
    free(o->paths);
    free(o->commands);
    memset(o, 0, sizeof *o);
}

/* ---- commands ---- */

static int spawn_shell(const char *command, int to, int *child)
{
    char shell[] = "sh", flag[] = "-c";
    char *argv[] = {shell, flag, (char *)(uintptr_t)command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t dfl;
    sigemptyset(&dfl);
    sigaddset(&dfl, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_setsigdefault(&attr, &dfl);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    pid_t pid;
    int status = posix_spawn(&pid, "/bin/sh", &actions, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    *child = (int)pid;
    return status;
}

int gp_command_start(const char *command, int *child, struct gp_err *err)
{
    int ends[2];
    *child = 0;
    if (pipe(ends)) return gp_fail(err, GP_E_IO, -1, "%s: cannot start: %s", command, strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int status = spawn_shell(command, ends[1], child);
    close(ends[1]);
    if (!status) return ends[0];
    close(ends[0]);
    *child = 0;
    return gp_fail(err, GP_E_IO, -1, "%s: cannot start: %s", command, strerror(status));
}

int gp_command_end(int child, struct gp_err *err)
{
    int status;
    pid_t pid;
    do pid = waitpid((pid_t)child, &status, 0);
    while (pid < 0 && errno == EINTR);
    if (pid < 0) return gp_fail(err, GP_E_IO, -1, "the command was lost");
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGPIPE) return 0;
        return gp_fail(err, GP_E_IO, -1, "the command was killed by signal %d", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) && WEXITSTATUS(status) != 128 + SIGPIPE)
        return gp_fail(err, GP_E_IO, -1, "the command failed with status %d", WEXITSTATUS(status));
    return 0;
}
