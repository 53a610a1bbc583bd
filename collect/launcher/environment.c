#include "collect/launcher/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "collect/wire/wire.h"
#include "formats/base/err.h"

/* The path of this program without its last PARTS. */
static void find_self(char self[PATH_MAX], int parts)
{
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    self[n > 0 ? n : 0] = 0;
    for (int i = 0; i < parts; i++) {
        char *slash = strrchr(self, '/');
        if (slash) *slash = 0;
    }
}

void gp_environment_beside(struct gp_buf *path, const char *program)
{
    char folder[PATH_MAX];
    find_self(folder, 1);
    gp_buf_printf(path, "%s/%s", folder, program);
}

int gp_environment_library(struct gp_buf *path, struct gp_err *err)
{
    static const char *const places[] = {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"};
    const char *chosen = getenv(GP_ENV_INJECT);
    char self[PATH_MAX];
    find_self(self, 2); /* its name and "bin" */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        path->n = 0;
        if (chosen && *chosen) gp_buf_puts(path, chosen);
        else gp_buf_printf(path, "%s/%s/libgpuprof-inject.so", self, places[i]);
        if (!access(gp_buf_str(path), R_OK)) return 0;
    }
    if (!chosen || !*chosen)
        return gp_fail(err, GP_E_IO, -1,
                       "%s/lib/libgpuprof-inject.so: not found; was gpuprof built without CUPTI's headers?",
                       self);
    return gp_fail(err, GP_E_IO, -1, "%s: %s", chosen, strerror(errno));
}

char *gp_environment_set(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *lost = old && *old && strcmp(old, value) != 0 ? strdup(old) : NULL;
    setenv(name, value, 1);
    return lost;
}

int gp_environment_listen(struct gp_err *err)
{
    char name[96];
    uint64_t random = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &random, sizeof random) != (ssize_t)sizeof random)
        random = (uint64_t)gp_clock_ns(CLOCK_REALTIME);
    if (fd >= 0) close(fd);
    snprintf(name, sizeof name, "@gpuprof-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    int listening = gp_wire_listen(name, err);
    if (listening >= 0) setenv(GP_ENV_SOCKET, name, 1);
    return listening;
}
