#include "render/hta_main/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/order.h"

enum { MOST_SPILL = 1 << 28 };

static const struct gp_serialize_head head = {{'g', 'p', 's', 'p', 'i', 'l', 'l', '\n'}, 1, "spilled result"};

/* ---- bytes ---- */

static const struct gp_field key_fields[] = {{.keep = GP_KEEP_U64}};
static const struct gp_record key_rows = {"keys", NULL, GP_FIELDS(key_fields), sizeof(uint64_t),
                                          .note = NULL};

void gp_spill_save(struct gp_buf *to, const uint64_t *keys, size_t n, struct gp_hta *h)
{
    struct gp_serializer x = {.save = to};
    struct gp_rows rows = {(void *)(uintptr_t)keys, n, n};
    size_t start = gp_serialize_begin(to);
    gp_rows_serialize(&x, &key_rows, &rows);
    gp_hta_save(h, to);
    gp_serialize_end(to, start, &head);
}

int gp_spill_load(const void *data, size_t bytes, uint64_t **keys, size_t *n, struct gp_hta *h,
                  struct gp_err *err)
{
    struct gp_serializer x = {0};
    struct gp_rows rows = {0};
    *keys = NULL;
    *n = 0;
    if (gp_serialize_open(&x, data, bytes, &head, err)) return -1;
    gp_rows_serialize(&x, &key_rows, &rows);
    *keys = rows.at;
    *n = rows.n;
    if (x.failed) return gp_fail(err, GP_E_SYNTAX, GP_SERIALIZE_HEAD, "the spilled result is inconsistent");
    return gp_hta_load(h, x.load, (size_t)(x.end - x.load), err);
}

/* ---- which input ---- */

static uint64_t key_of(const struct gp_hta_main *r, size_t i, const char *options)
{
    struct gp_buf b = {0};
    struct stat st;
    bool command = r->app.commands && r->app.commands[i];
    gp_buf_printf(&b, "%s\n%s\n%d%s\n", GP_VERSION, options, command, r->app.paths[i]);
    if (!command && !stat(r->app.paths[i], &st))
        gp_buf_printf(&b, "%lld %lld.%09ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                      (long)st.st_mtim.tv_nsec);
    uint64_t key = gp_hash_bytes(b.data, b.n);
    gp_buf_release(&b);
    return key;
}

void gp_spills_open(struct gp_spills *s, const struct gp_hta_main *r, const char *dir)
{
    struct gp_buf options = {0};
    gp_cli_put_given(&options, r->app.tool, r->opts,
                     "step-marker repair classes all-ranks each-step merge strict");
    *s = (struct gp_spills){.dir = dir, .run = r};
    s->keys = gp_alloc((r->app.n + 1) * sizeof *s->keys);
    s->done = gp_zalloc(r->app.n + 1);
    for (size_t i = 0; i < r->app.n; i++) s->keys[i] = dir ? key_of(r, i, gp_buf_str(&options)) : 0;
    gp_buf_release(&options);
}

void gp_spills_close(struct gp_spills *s)
{
    free(s->keys);
    free(s->done);
    memset(s, 0, sizeof *s);
}

/* ---- reading ---- */

struct key_place {
    uint64_t key;
    size_t input;
};

GP_COMPARE(by_key, struct key_place, GP_UP(key) GP_UP(input))

/* The input of KEY that is not done yet; the same input may be named twice. */
static size_t find_input(const struct gp_spills *s, const struct key_place *places, uint64_t key)
{
    size_t n = s->run->app.n;
    GP_SEARCH(lo, 0, n, mid, places[mid].key < key);
    for (; lo < n && places[lo].key == key; lo++)
        if (!s->done[places[lo].input]) return places[lo].input;
    return n;
}

/* All of a file counts, or nothing of it. */
static size_t mark_done(struct gp_spills *s, const struct key_place *places, const uint64_t *keys, size_t n)
{
    size_t all = s->run->app.n, i = 0;
    size_t *marked = gp_alloc((n + 1) * sizeof *marked);
    for (; i < n; i++) {
        marked[i] = find_input(s, places, keys[i]);
        if (marked[i] == all) break;
        s->done[marked[i]] = true;
    }
    bool complete = i == n;
    while (!complete && i) s->done[marked[--i]] = false;
    free(marked);
    return complete ? n : 0;
}

static size_t load_file(struct gp_spills *s, const struct key_place *places, const char *path,
                        struct gp_hta *to)
{
    struct gp_buf bytes = {0};
    struct gp_hta h;
    uint64_t *keys = NULL;
    size_t n = 0, done = 0;
    gp_hta_init(&h, &s->run->hta_opts);
    if (!gp_input_all(path, NULL, MOST_SPILL, &bytes, NULL) &&
        !gp_spill_load(bytes.n ? bytes.data : "", bytes.n, &keys, &n, &h, NULL))
        done = mark_done(s, places, keys, n);
    if (done) gp_hta_merge(to, &h);
    gp_hta_release(&h);
    free(keys);
    gp_buf_release(&bytes);
    return done;
}

static int is_spill(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 6 && !strcmp(e->d_name + n - 6, ".spill");
}

size_t gp_spills_load(struct gp_spills *s, struct gp_hta *to)
{
    struct dirent **files = NULL;
    size_t n = s->run->app.n, done = 0;
    int count = scandir(s->dir, &files, is_spill, alphasort);
    struct key_place *places = gp_alloc((n + 1) * sizeof *places);
    for (size_t i = 0; i < n; i++) places[i] = (struct key_place){s->keys[i], i};
    qsort(places, n, sizeof *places, by_key);
    for (int i = 0; i < count; i++) {
        struct gp_buf path = {0};
        gp_buf_printf(&path, "%s/%s", s->dir, files[i]->d_name);
        done += load_file(s, places, gp_buf_str(&path), to);
        gp_buf_release(&path);
        free(files[i]);
    }
    free(files);
    free(places);
    return done;
}

/* ---- writing ---- */

int gp_spills_write(struct gp_spills *s, const size_t *inputs, size_t n, struct gp_hta *batch,
                    struct gp_err *err)
{
    struct gp_buf bytes = {0}, path = {0};
    uint64_t *keys = gp_alloc((n + 1) * sizeof *keys);
    for (size_t i = 0; i < n; i++) keys[i] = s->keys[inputs[i]];
    if (mkdir(s->dir, 0777) && errno != EEXIST) {
        free(keys);
        return gp_fail(err, GP_E_IO, -1, "%s: cannot make the folder: %s", s->dir, strerror(errno));
    }
    gp_spill_save(&bytes, keys, n, batch);
    gp_buf_printf(&path, "%s/%016llx.spill", s->dir,
                  (unsigned long long)gp_hash_bytes(keys, n * sizeof *keys));
    int failed = gp_answer_file(gp_buf_str(&path), &bytes, err);
    gp_buf_release(&path);
    free(keys);
    return failed;
}
