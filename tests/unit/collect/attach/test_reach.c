// Which processes the library cannot be loaded into, and why.
#include <string.h>
#include <unistd.h>
#include "collect/attach/reach.h"
#include "tests/unit/unit.h"

static const struct gp_reach_facts fine = {
    .uid = 1000, .own_uid = 1000, .uses_cuda = true, .has_dlopen = true, .sees_library = true};

static void assert_refused(const struct gp_reach_facts *f, const char *why)
{
    char text[200];
    const char *said = gp_reach_refusal(f, text, sizeof text);
    if (!why) assert_null(said);
    else assert_non_null(strstr(said, why));
}

/* FINE with one fact changed. */
#define REFUSED(why, ...)                                                                                    \
    do {                                                                                                     \
        struct gp_reach_facts f = fine;                                                                      \
        __VA_ARGS__;                                                                                         \
        assert_refused(&f, why);                                                                             \
    } while (0)

TEST(a_process_of_our_own_that_hides_nothing_can_be_reached) { REFUSED(NULL, (void)0); }

TEST(users)
{
    REFUSED("belongs to another user (7)", f.uid = 7);
    REFUSED(NULL, (f.uid = 7, f.own_uid = 0));
}

TEST(who_traces)
{
    REFUSED("process 42 traces it already", f.tracer = 42);
    REFUSED("ptrace_scope is 1, which lets only root", f.yama = 1);
    REFUSED(NULL, (f.yama = 1, f.may_trace = true));
    REFUSED("ptrace_scope is 2, which lets only root", f.yama = 2);
    REFUSED("ptrace_scope is 3, which lets nobody", (f.yama = 3, f.may_trace = true));
}

TEST(sandboxes)
{
    REFUSED("seccomp", f.seccomp = 1);
    REFUSED("seccomp", (f.seccomp = 2, f.filters = 2, f.own_filters = 1));
    REFUSED(NULL, (f.seccomp = 2, f.filters = f.own_filters = 1)); /* that of the container */
    REFUSED("other files mounted", f.sees_library = false);
}

TEST(programs)
{
    REFUSED("does not use CUDA", f.uses_cuda = false);
    REFUSED("stopped", f.stopped = true);
    REFUSED("shadow stack", f.shadow_stack = true);
    REFUSED("statically linked", f.has_dlopen = false);
}

TEST(this_process_and_one_that_is_not_there)
{
    struct gp_reach r;
    gp_reach(&r, getpid(), "/proc/self/exe");
    assert_int_equal(r.way, GP_REACH_NOT);
    assert_string_equal(r.why, "it does not use CUDA");
    assert_int_equal(r.inner, getpid());
    assert_false(gp_reach_uses_cuda(getpid()));
    gp_reach(&r, 1 << 22, "/proc/self/exe");
    assert_string_equal(r.why, "there is no such process");
}
