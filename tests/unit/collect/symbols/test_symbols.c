/* Functions and lines of libraries that are built with this test and report where they called from. */
#include "collect/symbols/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"

static uintptr_t called_from;

static void here(void) { called_from = (uintptr_t)__builtin_return_address(0); }

struct planted {
    char path[1000];
    uint64_t address; /* behind the call, in the file */
    int lines[2];     /* of the call, and of the call of the function that was inlined */
};

static struct planted planted(const char *how)
{
    struct planted p;
    Dl_info info;
    int (*outer)(void (*)(void), int);
    snprintf(p.path, sizeof p.path, "%s%s.so", PLANTED, how);
    void *so = dlopen(p.path, RTLD_NOW);
    assert_non_null(so);
    void *found = dlsym(so, "planted_outer"), *lines = dlsym(so, "planted_lines");
    assert_non_null(found);
    assert_non_null(lines);
    memcpy(&outer, &found, sizeof outer);
    memcpy(p.lines, lines, sizeof p.lines);
    outer(here, 3);
    assert_true(dladdr((void *)called_from, &info));
    p.address = called_from - (uintptr_t)info.dli_fbase;
    dlclose(so);
    return p;
}

static void expect(const struct gp_code_name *s, const char *name, const char *file, int line)
{
    assert_string_equal(s->name, name);
    if (!gp_symbols_have_lines()) return;
    assert_string_equal(s->file, file);
    assert_int_equal(s->line, line);
}

static void expect_lines(const char *how)
{
    struct planted p = planted(how);
    struct gp_symbolizer *s = gp_symbolizer_new();
    struct gp_code_name at[GP_SYMBOLS_MOST];
    for (int turn = 0; turn < 2; turn++) {
        size_t n = gp_symbolize(s, p.path, p.address, at);
        assert_int_equal(n, gp_symbols_have_lines() ? 2 : n);
        if (n == 2) expect(&at[0], "planted_inlined", PLANTED_SOURCE, p.lines[0]);
        if (n) expect(&at[n - 1], "planted_outer", PLANTED_SOURCE, p.lines[1]);
    }
    gp_symbolizer_free(s);
}

TEST(an_inlined_function_and_its_caller_have_their_lines)
{
    expect_lines("o2");
    expect_lines("o0");
}

TEST(debug_information_is_in_a_separate_file) { expect_lines("separate"); }

TEST(a_stripped_library_has_the_functions_that_it_exports)
{
    struct planted p = planted("stripped");
    struct gp_symbolizer *s = gp_symbolizer_new();
    struct gp_code_name at[GP_SYMBOLS_MOST];
    assert_int_equal(gp_symbolize(s, p.path, p.address, at), 1);
    assert_string_equal(at[0].name, "planted_outer");
    assert_null(at[0].file);
    assert_int_equal(at[0].line, 0);
    gp_symbolizer_free(s);
}

TEST(a_program_that_names_nothing_has_no_functions)
{
    struct gp_symbolizer *s = gp_symbolizer_new();
    struct gp_code_name at[GP_SYMBOLS_MOST];
    for (uint64_t address = 0; address < 100000; address += 999)
        assert_int_equal(gp_symbolize(s, PLANTED "nothing", address, at), 0);
    assert_int_equal(gp_symbolize(s, PLANTED "nothing", UINT64_MAX, at), 0);
    gp_symbolizer_free(s);
}

TEST(what_is_no_file_with_code_has_no_functions)
{
    struct gp_symbolizer *s = gp_symbolizer_new();
    struct gp_code_name at[GP_SYMBOLS_MOST];
    char folder[] = "/tmp/test_symbols.XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const paths[] = {path, folder, "", "/none", "linux-vdso.so.1", "/dev/zero", PLANTED_SOURCE};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_int_equal(gp_symbolize(s, paths[i], 4711, at), 0);
    unlink(path);
    rmdir(folder);
    gp_symbolizer_free(s);
}
