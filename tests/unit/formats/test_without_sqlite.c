// A build without SQLite: what is such a database is named, with the way on, and everything else is read.
#include <string.h>
#include "formats/base/err.h"
#include "formats/reader.h"
#include "tests/unit/unit.h"

static int read_text(const char *text, size_t n, struct gp_trace *t, struct gp_err *err)
{
    struct gp_read_opts o = {.need = GP_NEED_ALL};
    return gp_trace_read_memory(t, text, n, &o, err);
}

TEST(a_database_is_named_with_the_way_on)
{
    static const char database[100] = "SQLite format 3";
    struct gp_trace t;
    struct gp_err err = {0};
    assert_int_equal(read_text(database, sizeof database, &t, &err), -1);
    assert_non_null(strstr(err.msg, "an SQLite database, which this build cannot read"));
    assert_non_null(strstr(err.msg, "libsqlite3-dev"));
}

TEST(other_traces_are_read)
{
    static const char json[] =
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":2}]";
    struct gp_trace t;
    struct gp_err err = {0};
    assert_int_equal(read_text(json, sizeof json - 1, &t, &err), 0);
    assert_int_equal(t.events[GP_GPU].n, 1);
    gp_trace_release(&t);
}
