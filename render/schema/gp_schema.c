/* gp_schema FOLDER TOOL -- prints the JSON Schema of TOOL, made from FOLDER/TOOL.json and the records of its
 * answer. gp_schema --python -- prints the classes of gputrace's results. The build makes this program for
 * the tests; it is not installed. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "render/schema/schema.h"

struct folder {
    const char *path;
};

static int read_part(void *ctx, const char *name, struct gp_buf *to, struct gp_err *err)
{
    const struct folder *folder = ctx;
    struct gp_buf path = {0};
    char piece[4096];
    size_t n;
    gp_buf_printf(&path, "%s/%s", folder->path, name);
    FILE *f = fopen(gp_buf_str(&path), "rb");
    if (!f) (void)gp_fail(err, GP_E_IO, -1, "%s: cannot be read", gp_buf_str(&path));
    gp_buf_release(&path);
    if (!f) return -1;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) gp_buf_put(to, piece, n);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    struct gp_buf name = {0}, part = {0}, made = {0};
    struct gp_err err = {0};
    bool python = argc == 2 && !strcmp(argv[1], "--python");
    if (argc != 3 && !python) {
        fputs("usage: gp_schema FOLDER TOOL | --python\n", stderr);
        return 2;
    }
    struct folder folder = {argv[1]};
    if (python) gp_schema_python(&made);
    else gp_buf_printf(&name, "%s.json", argv[2]);
    int failed = !python &&
                 (read_part(&folder, gp_buf_str(&name), &part, &err) ||
                  gp_schema_make(&made, argv[2], part.n ? part.data : "", part.n, read_part, &folder, &err));
    if (failed) fprintf(stderr, "gp_schema: %s: %s\n", argv[2], err.msg);
    else if (fwrite(made.data, 1, made.n, stdout) != made.n || fflush(stdout)) failed = 1;
    GP_RELEASE(gp_buf_release, &name, &part, &made);
    return failed ? 2 : 0;
}
