// Several traces as one: producers, ranks, clocks, and that everything refers to what it referred to before.
#include <stdio.h>
#include "formats/base/err.h"
#include "formats/model/join.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

/* A launch and its kernel, with correlation id 7 in every trace, in a process whose pid is 100 in every
 * trace. */
static struct gp_trace make(int32_t rank, const char *kernel, int64_t start)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    t.rank = rank;
    t.world_size = 2;
    uint32_t process = mk_process(&t, 100, 0);
    mk_call(&t, mk_thread(&t, process, 1), start, start + 5, "cudaLaunchKernel", 7);
    mk_kernel(&t, mk_stream(&t, process, 0, 7), start + 10, start + 30, kernel, 7);
    gp_trace_set_meta(&t, "distributedInfo", "{}", 2);
    gp_trace_set_meta(&t, "host", rank ? "1" : "0", 1);
    struct gp_device d = gp_device_unknown();
    d.name = mk_name(&t, "GPU");
    GP_VEC_PUSH(&t.devices, d);
    GP_VEC_PUSH(&t.clocks, ((struct gp_clock){.trace_ns = 0, .realtime_ns = 1000}));
    gp_trace_finish(&t);
    return t;
}

static const struct gp_process *process_of(const struct gp_trace *t, enum gp_table table, size_t row)
{
    return &t->processes.at[t->tracks.at[t->events[table].track[row]].process];
}

static void assert_sound(const struct gp_trace *t)
{
    struct gp_err err = {0};
    assert_int_equal(gp_trace_check(t, &err), 0);
}

TEST(ranks_stay_apart_on_one_clock)
{
    struct gp_trace t, parts[2] = {make(0, "first", 1000), make(1, "second", 500)};
    int64_t later_ns[] = {0, 505};
    gp_trace_join(&t, parts, 2, later_ns);
    assert_sound(&t);
    const struct gp_events *gpu = &t.events[GP_GPU], *api = &t.events[GP_API];
    assert_int_equal(gpu->n, 2);
    assert_int_equal(api->n, 2);
    assert_int_equal(gpu->start_ns[0], 1010);
    assert_int_equal(gpu->start_ns[1], 1015);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(gp_trace_str(&t, gpu->name[i]), i ? "second" : "first");
        assert_string_equal(gp_trace_str(&t, gp_gpu_config(&t, i)->name), i ? "second" : "first");
        assert_int_equal(process_of(&t, GP_GPU, i)->rank, i);
        assert_int_equal(process_of(&t, GP_GPU, i)->producer, i);
        assert_int_equal(process_of(&t, GP_API, i)->producer, i);
        assert_int_equal(t.devices.at[i].producer, i);
        assert_int_equal(t.clocks.at[i].producer, i);
    }
    assert_int_equal(t.clocks.at[1].trace_ns, 505);
    assert_int_equal(t.rank, -1);
    assert_int_equal(t.world_size, 2);
    assert_null(gp_trace_get_meta(&t, "distributedInfo"));
    assert_string_equal(gp_trace_get_meta(&t, "host"), "0");
    gp_trace_release(&t);
}

TEST(columns_of_one_part_are_defaults_in_the_others)
{
    struct gp_trace t, parts[3] = {make(0, "a", 0), make(1, "b", 100), make(2, "c", 200)};
    gp_set_graph(&parts[1].events[GP_GPU], 0, 42);
    gp_set_captured(&parts[1].events[GP_GPU], 0, mk_name(&parts[1], "layer"));
    gp_set_bytes(&parts[2].events[GP_GPU], 0, 4096);
    gp_trace_join(&t, parts, 3, (const int64_t[]){0, 0, 0});
    assert_sound(&t);
    const struct gp_events *gpu = &t.events[GP_GPU];
    for (size_t i = 0; i < 3; i++) {
        assert_true(gp_get_graph(gpu, i) == (i == 1 ? 42 : GP_NO_ID));
        assert_string_equal(gp_trace_str(&t, gp_get_captured(gpu, i)), i == 1 ? "layer" : "");
        assert_int_equal(gp_get_bytes(gpu, i), i == 2 ? 4096 : 0);
    }
    gp_trace_release(&t);
}

TEST(losses_and_issues_add_up_once)
{
    struct gp_trace t, parts[2];
    for (int i = 0; i < 2; i++) {
        gp_trace_init(&parts[i], GP_NEED_ALL);
        uint32_t process = mk_process(&parts[i], 1 + i, 0);
        struct gp_loss loss = {mk_name(&parts[i], "blocks"), mk_name(&parts[i], "why"), 5, process};
        GP_VEC_PUSH(&parts[i].losses, loss);
        gp_trace_issue(&parts[i], GP_Q_SYNTAX, 1, 10);
        gp_trace_finish(&parts[i]);
    }
    gp_trace_join(&t, parts, 2, (const int64_t[]){0, 0});
    assert_int_equal(t.issues[GP_Q_LOSS].count, 10);
    assert_int_equal(t.issues[GP_Q_SYNTAX].count, 2);
    assert_int_equal(t.issues[GP_Q_SYNTAX].first_offset, 10);
    assert_int_equal(t.losses.n, 2);
    assert_int_equal(t.processes.at[t.losses.at[1].process].pid, 2);
    gp_trace_release(&t);
}

TEST(one_rank_in_two_files_stays_the_rank)
{
    struct gp_trace t, parts[2] = {make(3, "a", 0), make(3, "b", 0)};
    gp_trace_join(&t, parts, 2, (const int64_t[]){0, 0});
    assert_int_equal(t.rank, 3);
    assert_non_null(gp_trace_get_meta(&t, "distributedInfo"));
    gp_trace_release(&t);
}

TEST(times_that_do_not_fit_are_removed_and_counted)
{
    struct gp_trace t, parts[2] = {make(0, "a", 0), make(1, "b", 0)};
    gp_trace_join(&t, parts, 2, (const int64_t[]){0, INT64_MAX});
    assert_sound(&t);
    assert_int_equal(t.events[GP_GPU].n, 1);
    assert_int_equal(t.issues[GP_Q_BAD_TIME].count, 2);
    gp_trace_release(&t);
}

TEST(stacks_symbols_waiters_and_paces_are_moved_along)
{
    struct gp_trace t, parts[2] = {make(0, "a", 0), make(1, "b", 0)};
    for (int i = 0; i < 2; i++) {
        struct gp_trace *p = &parts[i];
        GP_VEC_PUSH(&p->symbols, (struct gp_symbol){0});
        GP_VEC_PUSH(&p->symbols, ((struct gp_symbol){.module = mk_name(p, i ? "one.so" : "zero.so")}));
        GP_VEC_PUSH(&p->symbols, ((struct gp_symbol){.name = mk_name(p, "inner"), .caller = 1}));
        GP_VEC_PUSH(&p->stacks, (struct gp_stack){0});
        GP_VEC_PUSH(&p->stacks, ((struct gp_stack){.name = mk_name(p, i ? "main1" : "main0"), .line = 3}));
        GP_VEC_PUSH(&p->stacks, ((struct gp_stack){.parent = 1, .name = mk_name(p, "inner"), .symbol = 2}));
        GP_VEC_PUSH(&p->paces, ((struct gp_pace){.start_ns = -50, .dur_ns = 7, .process = 0}));
        gp_set_stack(&p->events[GP_API], 0, 2);
        gp_set_stack(&p->events[GP_GPU], 0, 1);
        if (i) gp_set_waiter(&p->events[GP_API], 0, p->events[GP_API].track[0]);
    }
    gp_trace_join(&t, parts, 2, (const int64_t[]){1000, 2000});
    assert_sound(&t);
    for (size_t i = 0; i < 2; i++) {
        const struct gp_stack *s = &t.stacks.at[t.events[GP_API].stack[i]];
        assert_string_equal(gp_trace_str(&t, s->name), "inner");
        assert_string_equal(gp_trace_str(&t, t.stacks.at[s->parent].name), i ? "main1" : "main0");
        assert_int_equal(t.events[GP_GPU].stack[i], s->parent);
        const struct gp_symbol *outer = &t.symbols.at[t.symbols.at[s->symbol].caller];
        assert_string_equal(gp_trace_str(&t, outer->module), i ? "one.so" : "zero.so");
        assert_int_equal(t.paces.at[i].start_ns, i ? 1950 : 950);
        assert_int_equal(t.paces.at[i].process, t.tracks.at[t.events[GP_API].track[i]].process);
        assert_int_equal(gp_get_waiter(&t.events[GP_API], i), i ? t.events[GP_API].track[i] : UINT32_MAX);
    }
    gp_trace_release(&t);
}
