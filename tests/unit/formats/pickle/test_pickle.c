/* test_pickle.c -- the data-only machine: values, containers, every refused opcode, bounds, cuts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/pickle/pickle.h"
#include "tests/unit/unit.h"

/* What the sink saw, as text: "[a,b]" for each filling of a list, "{a:b}" of a dict, "(a,b)" of a tuple. */
struct log {
    struct gp_buf text;
    struct gp_strings strings;
};

static void put_value(struct log *l, const struct gp_pickle_value *v)
{
    struct gp_buf *b = &l->text;
    switch (v->kind) {
    case GP_PICKLE_NONE: gp_buf_puts(b, "None"); break;
    case GP_PICKLE_BOOL: gp_buf_puts(b, v->u ? "True" : "False"); break;
    case GP_PICKLE_INT: gp_buf_put_i64(b, v->i); break;
    case GP_PICKLE_BIG:
        gp_buf_printf(b, "+");
        gp_buf_put_u64(b, v->u);
        break;
    case GP_PICKLE_REAL: gp_buf_printf(b, "%g", v->d); break;
    case GP_PICKLE_TEXT: gp_buf_printf(b, "'%s'", gp_string(&l->strings, (gp_sid)v->u)); break;
    case GP_PICKLE_LIST: gp_buf_puts(b, "list"); break;
    case GP_PICKLE_DICT: gp_buf_puts(b, "dict"); break;
    case GP_PICKLE_TUPLE: gp_buf_puts(b, "tuple"); break;
    case GP_PICKLE_OTHER: gp_buf_puts(b, "other"); break;
    default: gp_buf_printf(b, "own%d:%d", (int)v->kind, (int)v->u);
    }
}

static void items(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *at, size_t n,
                  uint64_t offset)
{
    struct log *l = ctx;
    (void)offset;
    gp_buf_putc(&l->text, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) gp_buf_putc(&l->text, ',');
        put_value(l, &at[i]);
    }
    gp_buf_putc(&l->text, ']');
    if (self->kind == GP_PICKLE_LIST)
        *self = (struct gp_pickle_value){.kind = GP_PICKLE_OWN, .memo = self->memo, .u = 0};
    self->u += n;
}

static void pairs(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *at, size_t n,
                  uint64_t offset)
{
    struct log *l = ctx;
    (void)offset;
    gp_buf_putc(&l->text, '{');
    for (size_t i = 0; i < n; i++) {
        if (i) gp_buf_putc(&l->text, ',');
        put_value(l, &at[2 * i]);
        gp_buf_putc(&l->text, ':');
        put_value(l, &at[2 * i + 1]);
    }
    gp_buf_putc(&l->text, '}');
    if (self->kind == GP_PICKLE_DICT)
        *self = (struct gp_pickle_value){.kind = GP_PICKLE_OWN + 1, .memo = self->memo, .u = 0};
    self->u += n;
}

static void tuple(void *ctx, struct gp_pickle_value *self, const struct gp_pickle_value *at, size_t n)
{
    struct log *l = ctx;
    (void)self;
    gp_buf_putc(&l->text, '(');
    for (size_t i = 0; i < n; i++) {
        if (i) gp_buf_putc(&l->text, ',');
        put_value(l, &at[i]);
    }
    gp_buf_putc(&l->text, ')');
}

struct outcome {
    int failed;
    struct gp_pickle_end end;
    struct gp_err err;
    char text[2048];
};

static struct outcome run(const void *data, size_t n)
{
    struct outcome o = {.failed = 0};
    struct log l = {0};
    struct gp_pickle_sink sink = {
        .ctx = &l, .dicts = 1u << (GP_PICKLE_OWN + 1), .items = items, .pairs = pairs, .tuple = tuple};
    struct gp_input *in = gp_input_memory(data, n, 1);
    gp_intern(&l.strings, "", 0);
    o.failed = gp_pickle_read(in, &l.strings, &sink, &o.end, &o.err);
    if (!o.failed) {
        gp_buf_putc(&l.text, '=');
        put_value(&l, &o.end.root);
    }
    snprintf(o.text, sizeof o.text, "%s", gp_buf_str(&l.text));
    gp_input_close(in);
    gp_buf_release(&l.text);
    gp_strings_release(&l.strings);
    return o;
}

/* BYTES is a string literal, which may hold NULs. */
#define RUN(bytes) run(bytes, sizeof(bytes) - 1)

static void check(struct outcome o, const char *expect)
{
    assert_int_equal(o.failed, 0);
    assert_null(o.end.damage);
    assert_false(o.end.truncated);
    assert_string_equal(o.text, expect);
}

TEST(constants)
{
    check(RUN("\x80\x04N."), "=None");
    check(RUN("\x80\x02\x88."), "=True");
    check(RUN("\x80\x02K\xff."), "=255");
    check(RUN("\x80\x02M\x01\x02."), "=513");
    check(RUN("\x80\x02J\xff\xff\xff\xff."), "=-1");
    check(RUN("\x80\x02\x8a\x00."), "=0");
    check(RUN("\x80\x02\x8a\x01\xff."), "=-1");
    check(RUN("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."), "=-9223372036854775808");
    check(RUN("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."), "=+9223372036854775808");
    check(RUN("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."), "=+18446744073709551615");
    check(RUN("\x80\x02\x8b\x02\x00\x00\x00\x10\x27."), "=10000");
    check(RUN("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."), "=1.5");
    check(RUN("\x80\x04\x8c\x02hi."), "='hi'");
    check(RUN("\x80\x02X\x02\x00\x00\x00hi."), "='hi'");
    check(RUN("\x80\x04\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."), "='hi'");
    check(RUN("\x80\x03"
              "C\x02xy."),
          "=other");
    check(RUN("\x80\x05\x96\x02\x00\x00\x00\x00\x00\x00\x00xy."), "=other");
}

TEST(long_integers_saturate_and_are_counted)
{
    struct outcome o = RUN("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x01.");
    assert_string_equal(o.text, "=+18446744073709551615");
    assert_int_equal(o.end.saturated, 1);
    assert_int_equal(o.end.saturated_offset, 2);
    o = RUN("\x80\x02\x8a\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80.");
    assert_string_equal(o.text, "=-9223372036854775808");
    o = RUN("\x80\x02\x8b\x20\x00\x00\x00"
            "01234567890123456789012345678901"
            ".");
    assert_int_equal(o.end.saturated, 1);
}

TEST(containers)
{
    check(RUN("\x80\x02]."), "=list");
    check(RUN("\x80\x02]K\x01"
              "a."),
          "[1]=own10:1");
    check(RUN("\x80\x02](K\x01K\x02"
              "e(K\x03"
              "e."),
          "[1,2][3]=own10:3");
    check(RUN("\x80\x02}(\x8c\x01"
              "aK\x01\x8c\x01"
              "bNu."),
          "{'a':1,'b':None}=own11:2");
    check(RUN("\x80\x02}K\x01K\x02s."), "{1:2}=own11:1");
    check(RUN("\x80\x02K\x01K\x02\x86."), "(1,2)=tuple");
    check(RUN("\x80\x02(K\x01K\x02K\x03t."), "(1,2,3)=tuple");
    check(RUN("\x80\x02K\x01\x85K\x02K\x03K\x04\x87\x86."), "(1)(2,3,4)(tuple,tuple)=tuple");
    check(RUN("\x80\x02(K\x01K\x02l."), "[1,2]=own10:2");
    check(RUN("\x80\x02(K\x01K\x02"
              "d."),
          "{1:2}=own11:1");
    check(RUN("\x80\x02)."), "=tuple");
    check(RUN("\x80\x02K\x01K\x02"
              "0."),
          "=1");
    check(RUN("\x80\x02K\x07(K\x01K\x02"
              "1."),
          "=7");
    check(RUN("\x80\x02]K\x05"
              "2\x86"
              "a."),
          "(5,5)[tuple]=own10:1");
}

TEST(what_is_remembered_follows_its_container)
{
    check(RUN("\x80\x04]\x94](h\x00h\x00"
              "e."),
          "[list,list]=own10:2");
    check(RUN("\x80\x04]\x94(K\x01K\x02"
              "e](h\x00h\x00"
              "e."),
          "[1,2][own10:2,own10:2]=own10:2");
    check(RUN("\x80\x02]q\x05(h\x05K\x01"
              "e."),
          "[list,1]=own10:2");
    check(RUN("\x80\x02\x8c\x01xr\x06\x00\x00\x00j\x06\x00\x00\x00\x86."), "('x','x')=tuple");
    check(RUN("\x80\x02K\x63q\x01h\x01\x86."), "(99,99)=tuple");
}

TEST(frames_are_advice)
{
    check(RUN("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fK\x01."), "=1");
    check(RUN("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00K\x01."), "=1");
}

TEST(what_follows_the_end)
{
    check(RUN("\x80\x04K\x01.."), "=1");
    check(RUN("\x80\x04K\x01.\x00\x00\x00"), "=1");
    struct outcome o = RUN("\x80\x04K\x01.\x00more");
    assert_string_equal(o.end.damage, "bytes behind the end of the pickle");
    assert_int_equal(o.end.damage_offset, 6);
    assert_string_equal(o.text, "=1");
}

TEST(every_opcode_that_could_call_is_refused_by_name)
{
    static const struct {
        uint8_t opcode;
        const char *name;
    } all[] = {{'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'i', "INST"},
               {'o', "OBJ"},       {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"},
               {'R', "REDUCE"},    {'b', "BUILD"},         {0x82, "EXT1"},
               {0x83, "EXT2"},     {0x84, "EXT4"},         {'P', "PERSID"},
               {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint8_t bytes[] = {0x80, 4, 'K', 1, 'K', 2, all[i].opcode, '.'};
        struct outcome o = run(bytes, sizeof bytes);
        char expect[64];
        snprintf(expect, sizeof expect, "byte 6: the opcode %s ", all[i].name);
        assert_int_equal(o.failed, -1);
        assert_int_equal(o.err.offset, 6);
        assert_memory_equal(o.err.msg, expect, strlen(expect));
        assert_string_equal(gp_pickle_refused(all[i].opcode), all[i].name);
    }
    assert_null(gp_pickle_refused('K'));
}

TEST(a_pickle_that_calls_a_shell_is_refused)
{
    struct outcome o = RUN("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.");
    assert_int_equal(o.failed, -1);
    assert_non_null(strstr(o.err.msg, "STACK_GLOBAL"));
    o = RUN("\x80\x02"
            "cos\nsystem\n(X\x04\x00\x00\x00truetR.");
    assert_int_equal(o.failed, -1);
    assert_non_null(strstr(o.err.msg, "GLOBAL"));
}

static void damaged(const char *what, int64_t offset, struct outcome o)
{
    assert_int_equal(o.failed, 0);
    assert_string_equal(o.end.damage, what);
    assert_int_equal(o.end.damage_offset, offset);
}

TEST(damage_ends_the_run)
{
    damaged("a memo entry that was never written", 2, RUN("\x80\x04h\x00."));
    damaged("a memo index beyond what the input can hold", 3, RUN("\x80\x04Nr\xff\xff\xff\x7f."));
    damaged("an opcode asks for a mark that was never set", 2,
            RUN("\x80\x04"
                "e."));
    damaged("an opcode asks for more values than there are", 2, RUN("\x80\x04."));
    damaged("an opcode asks for more values than there are", 3, RUN("\x80\x04N\x86."));
    damaged("an opcode asks for more values than there are", 5, RUN("\x80\x04}(Nu."));
    damaged("items for something that is not a list", 4, RUN("\x80\x04NNa."));
    damaged("pairs for something that is not a dict", 5, RUN("\x80\x04]NNs."));
    damaged("an opcode that pickles of protocol 2 to 5 do not have", 2, RUN("\x80\x04\xff."));
    damaged("a protocol newer than 5", 0, RUN("\x80\x06N."));
    /* a mark hides what lies below it */
    damaged("an opcode asks for more values than there are", 5, RUN("\x80\x04NN(\x86."));
}

TEST(nesting_and_waiting_values_are_bounded)
{
    struct gp_buf b = {0};
    gp_buf_put(&b, "\x80\x04", 2);
    for (int i = 0; i < 65; i++) gp_buf_put(&b, "](", 2);
    struct outcome o = run(b.data, b.n);
    assert_string_equal(o.end.damage, "containers are nested too deep");
    b.n = 2;
    for (int i = 0; i < GP_PICKLE_VALUES + 1; i++) gp_buf_putc(&b, 'N');
    o = run(b.data, b.n);
    assert_string_equal(o.end.damage, "too many values wait for their container");
    gp_buf_release(&b);
}

TEST(long_strings_are_cut)
{
    struct gp_buf b = {0};
    gp_buf_put(&b, "\x80\x04X\x00\x00\x02\x00", 7);
    for (int i = 0; i < 0x20000; i++) gp_buf_putc(&b, 'x');
    gp_buf_puts(&b, "0K\x07.");
    struct outcome o = run(b.data, b.n);
    assert_string_equal(o.text, "=7");
    assert_int_equal(o.end.cut, 1);
    gp_buf_release(&b);
}

TEST(a_length_beyond_the_input_costs_nothing)
{
    struct outcome o = RUN("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffxy");
    assert_int_equal(o.failed, 0);
    assert_true(o.end.truncated);
    o = RUN("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fxy");
    assert_true(o.end.truncated);
    o = RUN("\x80\x02\x8b\xff\xff\xff\xffxy");
    assert_true(o.end.truncated);
}

TEST(a_cut_pickle_keeps_what_was_there)
{
    static const char whole[] = "\x80\x04}(\x8c\x01"
                                "a](K\x01K\x02"
                                "e\x8c\x01"
                                "b](}(K\x09K\x08u}(K\x07K\x06ueu.";
    size_t n = sizeof whole - 1;
    check(run(whole, n), "[1,2]{9:8}{7:6}[own11:1,own11:1]{'a':own10:2,'b':own10:2}=own11:2");
    for (size_t i = 0; i < n; i++) {
        struct outcome o = run(whole, i);
        assert_int_equal(o.failed, 0);
        assert_true(o.end.truncated || o.end.damage);
    }
    /* cut inside the second dict: the first stays, the second goes */
    struct outcome o = run(whole, n - 6);
    assert_string_equal(o.text, "[1,2]{9:8}[own11:1]{'a':own10:2,'b':own10:1}=own11:2");
}

/* The last 16 bytes of an input are read opcode by opcode, what is before them in one loop: zero bytes behind
 * the end, which change nothing, move an opcode from the one to the other. */
TEST(both_ways_to_read_an_opcode_agree)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *text; /* NULL: damage */
    } cases[] = {
#define CASE(bytes, text) {bytes, sizeof(bytes) - 1, text}
        CASE("\x80\x04K\xff.", "=255"),
        CASE("\x80\x04M\x01\xff.", "=65281"),
        CASE("\x80\x04J\xfe\xff\xff\xff.", "=-2"),
        CASE("\x80\x04\x8a\x01\x80.", "=-128"),
        CASE("\x80\x04\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", "=9223372036854775807"),
        CASE("\x80\x04\x8a\x00.", "=0"),
        CASE("\x80\x04\x8c\x03N/A.", "='N/A'"),
        CASE("\x80\x04\x8c\x08"
             "12345678"
             ".",
             "='12345678'"),
        CASE("\x80\x04\x8c\x00.", "=''"),
        CASE("\x80\x04].", "=list"),
        CASE("\x80\x04}.", "=dict"),
        CASE("\x80\x04]\x94(K\x01h\x00"
             "e.",
             "[1,list]=own10:2"),
        CASE("\x80\x04]\x94(j\x00\x00\x00\x00"
             "e.",
             "[list]=own10:1"),
        CASE("\x80\x04}\x94(K\x01h\x00u.", "{1:dict}=own11:1"),
        CASE("\x80\x04](\x8c\x01"
             "a\x8c\x01"
             "ae.",
             "['a','a']=own10:2"),
        CASE("\x80\x04h\x07.", NULL), /* never remembered */
        CASE("\x80\x04j\xff\xff\xff\xff.", NULL),
        CASE("\x80\x04\x94.", NULL),   /* nothing to remember */
        CASE("\x80\x04](\x94.", NULL), /* nothing above the mark */
        CASE("\x80\x04"
             "e.",
             NULL),                           /* no mark */
        CASE("\x80\x04}(K\x01u.", NULL),      /* a key without a value */
        CASE("\x80\x04](K\x01K\x02u.", NULL), /* pairs for a list */
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char padded[64] = {0};
        memcpy(padded, cases[i].bytes, cases[i].n);
        struct outcome slow = run(cases[i].bytes, cases[i].n), fast = run(padded, sizeof padded);
        assert_int_equal(slow.failed | fast.failed, 0);
        assert_string_equal(slow.text, fast.text);
        assert_int_equal(slow.end.damage_offset, fast.end.damage_offset);
        if (cases[i].text) assert_string_equal(slow.text, cases[i].text);
        if (cases[i].text) assert_null(slow.end.damage);
        else assert_string_equal(slow.end.damage, fast.end.damage);
    }
}

TEST(sniffing)
{
    assert_true(gp_pickle_sniff((const uint8_t *)"\x80\x02", 2));
    assert_true(gp_pickle_sniff((const uint8_t *)"\x80\x05x", 3));
    assert_false(gp_pickle_sniff((const uint8_t *)"\x80\x06", 2));
    assert_false(gp_pickle_sniff((const uint8_t *)"\x80\x01", 2));
    assert_false(gp_pickle_sniff((const uint8_t *)"{\"", 2));
    assert_false(gp_pickle_sniff((const uint8_t *)"\x80", 1));
}
