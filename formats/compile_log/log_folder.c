#include "formats/compile_log/log_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/order.h"

enum { MOST_FILES = 100000 };
static const char prefix[] = "dedicated_log_torch_trace_";

bool gp_log_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int gp_log_folder(const char *path, struct gp_log_files *files, struct gp_err *err)
{
    size_t from = files->at.n;
    DIR *dir = opendir(path);
    if (!dir) return gp_fail(err, GP_E_IO, -1, "%s: %s", path, strerror(errno));
    for (struct dirent *e; files->at.n - from < MOST_FILES && (e = readdir(dir));) {
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0) continue;
        size_t n = strlen(path) + strlen(e->d_name) + 2;
        char *copy = gp_alloc(n);
        snprintf(copy, n, "%s/%s", path, e->d_name);
        GP_VEC_PUSH(&files->at, copy);
    }
    closedir(dir);
    if (files->at.n == from)
        return gp_fail(err, GP_E_FORMAT, -1, "%s: is a directory without %s* files", path, prefix);
    qsort(files->at.at + from, files->at.n - from, sizeof *files->at.at, gp_order_text);
    return 0;
}

void gp_log_files_release(struct gp_log_files *files)
{
    for (size_t i = 0; i < files->at.n; i++) free(files->at.at[i]);
    GP_VEC_FREE(&files->at);
}
