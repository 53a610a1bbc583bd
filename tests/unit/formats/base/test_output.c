#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/output.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/gp_output_XXXXXX";
static char path[64], other[64];

static int make_folder(GP_UNUSED void **state)
{
    alarm(60);
    umask(022);
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int remove_folder(GP_UNUSED void **state)
{
    return rmdir(folder); /* fails when a test left something behind */
}

TESTS_BETWEEN(make_folder, remove_folder);

static int clean(GP_UNUSED void **state)
{
    unlink(path);
    unlink(other);
    return 0;
}

static int files_in_folder(void)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') n++;
    closedir(d);
    return n;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_file_holds(const char *name, const char *text)
{
    char buf[256] = "";
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    size_t n = fread(buf, 1, sizeof buf - 1, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_string_equal(buf, text);
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(lstat(name, &st), 0);
    return st.st_mode;
}

static void put(const char *name, const char *text, bool commit)
{
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open(name, &err);
    assert_non_null(out);
    gp_output_write(out, text, strlen(text));
    assert_int_equal(gp_output_close(out, commit, &err), 0);
}

TEST_WITH(NULL, clean, the_file_appears_only_on_commit)
{
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open(path, &err);
    assert_non_null(out);
    gp_output_write(out, "abc", 3);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(gp_output_close(out, true, &err), 0);
    assert_file_holds(path, "abc");
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(mode_of(path) & 0777, 0644);
}

TEST_WITH(NULL, clean, without_commit_an_old_file_stays_as_it_was)
{
    write_file(path, "old");
    put(path, "new", false);
    assert_file_holds(path, "old");
    assert_int_equal(files_in_folder(), 1);
}

TEST_WITH(NULL, clean, an_existing_file_keeps_its_mode)
{
    write_file(path, "old");
    assert_int_equal(chmod(path, 0600), 0);
    put(path, "new", true);
    assert_file_holds(path, "new");
    assert_int_equal(mode_of(path) & 0777, 0600);
}

TEST_WITH(NULL, clean, a_symbolic_link_is_followed_and_stays)
{
    write_file(other, "old and long");
    assert_int_equal(symlink("other", path), 0);
    put(path, "new", true);
    assert_true(S_ISLNK(mode_of(path)));
    assert_file_holds(other, "new");
}

TEST_WITH(NULL, clean, without_commit_the_file_behind_a_link_stays_as_it_was)
{
    write_file(other, "old and long");
    assert_int_equal(symlink("other", path), 0);
    put(path, "new", false);
    assert_true(S_ISLNK(mode_of(path)));
    assert_file_holds(other, "old and long");
    assert_int_equal(files_in_folder(), 2);
}

TEST_WITH(NULL, clean, large_and_small_writes_keep_their_order)
{
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open(path, &err);
    assert_non_null(out);
    size_t total = 0;
    char *block = gp_alloc(700000);
    for (size_t n = 1; n < 700000; n = n * 3 + 1) {
        for (size_t i = 0; i < n; i++) block[i] = (char)((total + i) * 31 >> 3);
        gp_output_write(out, block, n);
        total += n;
    }
    gp_output_write(out, NULL, 0);
    assert_int_equal(gp_output_close(out, true, &err), 0);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (size_t i = 0; i < total; i++) assert_int_equal(fgetc(f), (unsigned char)(i * 31 >> 3));
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    free(block);
}

TEST(a_device_is_written_where_it_is)
{
    mode_t before = mode_of("/dev/null");
    put("/dev/null", "gone", true);
    assert_int_equal(mode_of("/dev/null"), before);
}

TEST(a_full_disk_is_an_error)
{
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open("/dev/full", &err);
    assert_non_null(out);
    gp_output_write(out, "abc", 3);
    assert_false(gp_output_failed(out)); /* it is still in the buffer */
    assert_int_equal(gp_output_close(out, true, &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    assert_string_equal(err.msg, "/dev/full: write failed: No space left on device");
    char *block = gp_zalloc(1 << 20);
    out = gp_output_open("/dev/full", &err);
    assert_non_null(out);
    gp_output_write(out, block, 1 << 20);
    assert_true(gp_output_failed(out));
    gp_output_write(out, block, 1 << 20);
    assert_int_equal(gp_output_close(out, true, &err), -1);
    free(block);
}

static void *drain(void *arg)
{
    (void)arg;
    static char text[8];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    return text;
}

TEST_WITH(NULL, clean, a_fifo_is_written_to_and_stays)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, drain, NULL), 0);
    put(path, "abc", true);
    void *text;
    pthread_join(t, &text);
    assert_string_equal(text, "abc");
    assert_true(S_ISFIFO(mode_of(path)));
}

TEST(names_that_cannot_be_written_are_told)
{
    struct gp_err err = {0};
    assert_null(gp_output_open("/nonexistent/out", &err));
    assert_string_equal(err.msg, "/nonexistent/out: cannot write: No such file or directory");
    assert_null(gp_output_open(folder, &err));
    assert_int_equal(err.code, GP_E_IO);
    assert_null(gp_output_open("", &err));
}

TEST(a_rename_that_fails_leaves_nothing_behind)
{
    struct gp_err err = {0};
    struct gp_output *out = gp_output_open(path, &err);
    assert_non_null(out);
    assert_int_equal(mkdir(path, 0700), 0); /* somebody was faster */
    gp_output_write(out, "abc", 3);
    assert_int_equal(gp_output_close(out, true, &err), -1);
    assert_int_equal(err.code, GP_E_IO);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(files_in_folder(), 0);
}

TEST_WITH(NULL, clean, standard_output_is_the_default)
{
    int saved = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    put(NULL, "a", true);
    dup2(fd, STDOUT_FILENO);
    put("-", "b", false); /* what was written cannot be taken back */
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_file_holds(path, "ab");
}
