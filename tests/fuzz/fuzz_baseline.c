/* fuzz_baseline.c -- hostile folders of saved profiles. The input is a byte N, a name of N % 16 bytes for a
 * file, a byte for the name of the baseline, and what the file holds, whose hash is made right. A profile
 * that is read can be saved again and is there then. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analyze/diff/baseline.h"
#include "formats/base/err.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mend.h"
#include "tests/fuzz/help/take.h"

enum { MOST = 1 << 16 };

static void empty(const char *folder)
{
    char path[4096];
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlink(path);
    }
    closedir(dir);
}

static void store(const char *path, const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    FILE *f = fopen(path, "wb");
    if (n) memcpy(copy, data, n);
    fuzz_mend(copy, n);
    if (f) {
        fwrite(copy, 1, n, f);
        fclose(f);
    }
    free(copy);
}

static size_t load(const char *folder, struct gp_profile *first)
{
    gp_baseline_profiles all = {0};
    struct gp_err err = {0};
    int failed = gp_baseline_load(&all, folder, "main", &err);
    size_t n = all.n;
    FUZZ_CHECK(failed ? err.msg[0] != 0 : n > 0);
    if (!failed && first) {
        *first = all.at[0];
        memmove(all.at, all.at + 1, --all.n * sizeof *all.at);
    }
    gp_baseline_release(&all);
    return failed ? 0 : n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_take in = {data, data + size};
    char folder[64], path[160], name[16] = "";
    struct gp_err err = {0};
    struct gp_profile p;
    size_t n = fuzz_take_number(&in, 1) & 15, rest = MOST;
    const uint8_t *bytes = fuzz_take_bytes(&in, &n);
    memcpy(name, bytes, n);
    if (gp_baseline_check_name(name, &err)) FUZZ_CHECK(err.msg[0]);
    else FUZZ_CHECK(!strchr(name, '/') && name[0] != '.');
    if (strchr(name, '/') || !strlen(name)) snprintf(name, sizeof name, "000001-00");
    snprintf(folder, sizeof folder, "%s/gpuprof-fuzz-%ld", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
             (long)getpid()); /* no disk, which takes most of the time */
    snprintf(path, sizeof path, "%s/main", folder);
    if ((mkdir(folder, 0700) && errno != EEXIST) || (mkdir(path, 0700) && errno != EEXIST)) return 0;
    snprintf(path, sizeof path, "%s/main/%s.profile", folder, name);
    bytes = fuzz_take_bytes(&in, &rest);
    store(path, bytes, rest);
    size_t before = load(folder, &p);
    if (before) {
        FUZZ_CHECK(!gp_baseline_save(folder, "main", &p, &err));
        FUZZ_CHECK(load(folder, NULL) >= before);
        gp_profile_release(&p);
    }
    snprintf(path, sizeof path, "%s/main", folder);
    empty(path);
    FUZZ_CHECK(!rmdir(path) && !rmdir(folder));
    return 0;
}
