#include "collect/sample/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_known(const struct gp_family *f, pid_t pid)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->pid[i] == pid) return true;
    return false;
}

/* The children of one thread: numbers with spaces between them. */
static void add_children(struct gp_family *f, pid_t pid, const char *tid)
{
    char path[96], text[4096], *at = text;
    if (snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, tid) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return;
    text[n] = 0;
    while (*at && f->n < GP_FAMILY_MOST) {
        char *end;
        long child = strtol(at, &end, 10);
        if (end == at) break;
        at = end + (*end == ' ');
        if (child > 0 && !is_known(f, (pid_t)child)) f->pid[f->n++] = (pid_t)child;
    }
}

void gp_family_look(struct gp_family *f)
{
    f->n = 1;
    f->pid[0] = f->root;
    for (size_t i = 0; i < f->n; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/task", (long)f->pid[i]);
        DIR *d = opendir(path);
        if (!d) continue;
        for (struct dirent *e; (e = readdir(d));)
            if (e->d_name[0] != '.') add_children(f, f->pid[i], e->d_name);
        closedir(d);
    }
}
