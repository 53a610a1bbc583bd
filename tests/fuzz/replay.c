/* replay.c -- runs a fuzz target over the files that are named, or that lie in the folders that are named, and tells TAP.
 * A crash ends the program before its plan is complete, which prove takes for the failure that it is. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/base/mem.h"
#include "formats/base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 26 };

typedef GP_VEC(char *) paths_t;

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add(paths_t *paths, const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = gp_alloc(n);
    snprintf(path, n, "%s%s%s", folder, *folder ? "/" : "", name);
    GP_VEC_PUSH(paths, path);
}

static void add_folder(paths_t *paths, const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        add(paths, "", folder);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') add(paths, folder, e->d_name);
    closedir(dir);
}

/* The bytes are given in a block of their own size, so that reading beyond them is noticed. */
static int replay(const char *path)
{
    struct stat st;
    FILE *f = stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size > LARGEST ? NULL : fopen(path, "rb");
    if (!f) return -1;
    size_t n = (size_t)st.st_size;
    uint8_t *data = gp_alloc(n);
    int failed = fread(data, 1, n, f) != n || LLVMFuzzerTestOneInput(data, n);
    fclose(f);
    free(data);
    return failed;
}

int main(int argc, char **argv)
{
    paths_t paths = {0};
    int failures = 0;
    for (int i = 1; i < argc; i++) add_folder(&paths, argv[i]);
    if (paths.n) qsort(paths.at, paths.n, sizeof *paths.at, compare);
    printf("1..%zu\n", paths.n);
    fflush(stdout);
    for (size_t i = 0; i < paths.n; i++) {
        const char *slash = strrchr(paths.at[i], '/');
        int failed = replay(paths.at[i]);
        failures += failed != 0;
        printf("%s %zu - %s\n", failed ? "not ok" : "ok", i + 1, slash ? slash + 1 : paths.at[i]);
        fflush(stdout);
        free(paths.at[i]);
    }
    GP_VEC_FREE(&paths);
    return failures != 0;
}
