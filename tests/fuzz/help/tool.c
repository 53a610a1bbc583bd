#include "tests/fuzz/help/tool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mend.h"

/* Where the sanitizers write, if there are any. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

struct files {
    bool ready;
    int in[2], out, messages; /* MESSAGES: where the tool's go, -1: nowhere else */
    char paths[2][32];
};

static int memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    return fd;
}

/* Opened once: a program of a fuzzer runs a tool thousands of times a second. */
static struct files *open_files(void)
{
    static struct files f;
    if (f.ready) return &f;
    for (int i = 0; i < 2; i++) {
        f.in[i] = memory_file("in");
        snprintf(f.paths[i], sizeof f.paths[i], "/proc/self/fd/%d", f.in[i]);
    }
    f.out = memory_file("out");
    f.messages = getenv("FUZZ_QUIET") ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (f.messages >= 0 && __sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)dup(STDERR_FILENO));
    f.ready = true;
    return &f;
}

static void fill(int fd, const uint8_t *data, size_t n)
{
    FUZZ_CHECK(!ftruncate(fd, 0) && pwrite(fd, data, n, 0) == (ssize_t)n);
}

static int call_main(struct files *f, int argc, char **argv)
{
    int out = dup(STDOUT_FILENO), messages = dup(STDERR_FILENO);
    fflush(stdout);
    FUZZ_CHECK(!ftruncate(f->out, 0) && !lseek(f->out, 0, SEEK_SET));
    FUZZ_CHECK(dup2(f->out, STDOUT_FILENO) >= 0);
    if (f->messages >= 0) FUZZ_CHECK(dup2(f->messages, STDERR_FILENO) >= 0);
    int status = fuzz_main(argc, argv);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    close(out);
    close(messages);
    return status;
}

static int run(const struct fuzz_tool *tool, const struct fuzz_way *way, int operands)
{
    struct files *f = open_files();
    char args[FUZZ_MAX_ARGS + 6][80], *argv[FUZZ_MAX_ARGS + 7];
    int argc = 0;
    const char *first[] = {tool->name, "--threads", "1", "-q"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        snprintf(args[argc++], sizeof *args, "%s", first[i]);
    for (size_t i = 0; way->args[i]; i++) snprintf(args[argc++], sizeof *args, "%s", way->args[i]);
    for (int i = 0; i < operands; i++) snprintf(args[argc++], sizeof *args, "%s", f->paths[i]);
    if (tool->pairs && operands == 1) snprintf(args[argc++], sizeof *args, "%s", f->paths[0]);
    for (int i = 0; i < argc; i++) argv[i] = args[i];
    argv[argc] = NULL;
    return call_main(f, argc, argv);
}

static void check(const struct fuzz_tool *tool, struct fuzz_result *r)
{
    struct gp_buf b = {0};
    struct files *f = open_files();
    off_t n = lseek(f->out, 0, SEEK_END);
    FUZZ_CHECK(n >= 0 && r->status >= 0 && r->status <= 3);
    gp_buf_reserve(&b, (size_t)n + 1);
    FUZZ_CHECK(pread(f->out, b.data, (size_t)n, 0) == n);
    b.n = (size_t)n;
    if (r->status == 2) FUZZ_CHECK(!b.n);
    if (b.n || r->status < 2) fuzz_check_output(r->way->form, b.data, b.n);
    r->output = b.data;
    r->output_n = b.n;
    if (r->status < 2 && tool->check) tool->check(r);
    gp_buf_release(&b);
}

int fuzz_tool_run(const struct fuzz_tool *tool, const uint8_t *data, size_t size)
{
    struct files *f = open_files();
    if (size < tool->head) return 0;
    size_t n = size - tool->head, first = n;
    if (tool->head == 3 && (data[1] || data[2])) first = n * ((size_t)data[1] << 8 | data[2]) / 65536;
    struct gp_buf b = {0};
    gp_buf_put(&b, data + tool->head, n);
    if (!b.data) gp_buf_reserve(&b, 1);
    if (!(data[0] & 0x80)) {
        fuzz_mend((uint8_t *)b.data, first);
        fuzz_mend((uint8_t *)b.data + first, n - first);
    }
    fill(f->in[0], (uint8_t *)b.data, first);
    if (first < n) fill(f->in[1], (uint8_t *)b.data + first, n - first);
    struct fuzz_result r = {
        .way = &tool->ways[(data[0] & 0x7f) % tool->n], .input = (uint8_t *)b.data, .input_n = first};
    r.status = run(tool, r.way, first < n ? 2 : 1);
    check(tool, &r);
    gp_buf_release(&b);
    return 0;
}
