/* replay.c -- runs a fuzz target over files without libFuzzer, and prints TAP. A crash ends the program
 * before its plan is complete, which prove counts as the failure that it is.
 *
 *     fuzz_X_replay [--traces FOLDER]... FILE|FOLDER...       each file; those of --traces with each head of
 *                                                             the target
 *     fuzz_X_replay --mutate N --keep LAST ...                and N changed copies of each; LAST holds the
 *                                                             one that runs
 *     fuzz_X_replay --expand TO ...                           write them to the folder TO, as seeds for
 *                                                             libFuzzer
 */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include "formats/base/mem.h"
#include "formats/base/vec.h"
#include "tests/fuzz/help/dice.h"
#include "tests/fuzz/help/fuzz.h"

extern const struct fuzz_heads fuzz_heads __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) __attribute__((weak));

enum { LARGEST = 1 << 26, ROOM = 1 << 16 };

struct item {
    char *path;
    unsigned head; /* bytes before what is in the file, the first of which is FIRST */
    uint8_t first;
};

typedef GP_VEC(struct item) items_t;

struct options {
    unsigned long mutants;
    const char *keep, *expand;
};

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static char *join(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = gp_alloc(n);
    snprintf(path, n, "%s%s%s", folder, *folder ? "/" : "", name);
    return path;
}

static void add(items_t *items, const char *folder, const char *name, bool is_trace)
{
    bool heads = is_trace && &fuzz_heads;
    unsigned count = heads ? fuzz_heads.count : !is_trace; /* a target without heads reads no traces */
    for (unsigned i = 0; i < count; i++)
        GP_VEC_PUSH(items, ((struct item){join(folder, name), heads ? fuzz_heads.size : 0, (uint8_t)i}));
}

static void add_folder(items_t *items, const char *folder, bool are_traces)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        add(items, "", folder, are_traces);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') add(items, folder, e->d_name, are_traces);
    closedir(dir);
}

/* The bytes are in a block of their own size, so that reading beyond them is noticed. NULL when there is no
 * such file. */
static uint8_t *load(const struct item *item, size_t *n)
{
    struct stat st;
    FILE *f = stat(item->path, &st) || !S_ISREG(st.st_mode) || st.st_size > LARGEST ? NULL
                                                                                    : fopen(item->path, "rb");
    if (!f) return NULL;
    *n = item->head + (size_t)st.st_size;
    uint8_t *data = gp_zalloc(*n);
    if (item->head) data[0] = item->first;
    bool whole = fread(data + item->head, 1, *n - item->head, f) == *n - item->head;
    fclose(f);
    if (whole) return data;
    free(data);
    return NULL;
}

static int store(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    int failed = fwrite(data, 1, n, f) != n;
    return fclose(f) || failed;
}

/* What libFuzzer does otherwise; only reached with --mutate. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    struct fuzz_dice d = fuzz_dice_of(size ? data[size / 2] + 256u * data[size - 1] + size : most);
    size_t at = fuzz_roll(&d, size);
    if (size < most && fuzz_roll(&d, 3) == 0) data[size++] = (uint8_t)fuzz_bits(&d);
    else if (size) data[at] = (uint8_t)fuzz_number(&d);
    return size;
}

/* A few changes on top of each other. */
static size_t change(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    for (unsigned i = 0; i <= seed % 4; i++)
        n = &LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(data, n, most, seed * 8 + i)
                                     : LLVMFuzzerMutate(data, n, most);
    return n;
}

static int run_mutants(const uint8_t *data, size_t n, const struct options *o)
{
    size_t most = n + ROOM;
    uint8_t *room = gp_alloc(most);
    int failed = 0;
    for (unsigned i = 0; i < o->mutants && !failed; i++) {
        memcpy(room, data, n);
        size_t now = change(room, n, most, i);
        uint8_t *exact = gp_alloc(now);
        memcpy(exact, room, now);
        failed = o->keep ? store(o->keep, exact, now) : 0;
        failed = failed || LLVMFuzzerTestOneInput(exact, now);
        free(exact);
    }
    free(room);
    return failed;
}

static const char *name_of(const struct item *item)
{
    const char *slash = strrchr(item->path, '/');
    return slash ? slash + 1 : item->path;
}

static int handle(const struct item *item, const struct options *o)
{
    size_t n;
    uint8_t *data = load(item, &n);
    int failed = !data;
    if (data && o->expand) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.%u", o->expand, name_of(item), item->first);
        failed = store(path, data, n);
    } else if (data) {
        failed = LLVMFuzzerTestOneInput(data, n) || run_mutants(data, n, o);
    }
    free(data);
    return failed;
}

static void parse(int argc, char **argv, items_t *items, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strncmp(argv[i], "--", 2)) {
            add_folder(items, argv[i], false);
            continue;
        }
        if (!strcmp(argv[i], "--traces")) add_folder(items, value, true);
        if (!strcmp(argv[i], "--mutate")) o->mutants = strtoul(value, NULL, 10);
        if (!strcmp(argv[i], "--keep")) o->keep = value;
        if (!strcmp(argv[i], "--expand")) o->expand = value;
        i++;
    }
}

int main(int argc, char **argv)
{
    items_t items = {0};
    struct options o = {0};
    int failures = 0;
    parse(argc, argv, &items, &o);
    if (items.n) qsort(items.at, items.n, sizeof *items.at, compare);
    printf("1..%zu\n", items.n);
    fflush(stdout);
    for (size_t i = 0; i < items.n; i++) {
        int failed = handle(&items.at[i], &o);
        failures += failed != 0;
        printf("%s %zu - %s", failed ? "not ok" : "ok", i + 1, name_of(&items.at[i]));
        if (items.at[i].head) printf(" %u", items.at[i].first);
        printf("\n");
        fflush(stdout);
        free(items.at[i].path);
    }
    GP_VEC_FREE(&items);
    return failures != 0;
}
