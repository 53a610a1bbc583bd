// What command lines of gpuprof-collect ask for, and which of them cannot be had.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "collect/launcher/collect_plan.h"
#include "formats/base/err.h"
#include "tests/unit/unit.h"

static struct gp_collect_plan plan_of(struct gp_collect_opts o)
{
    struct gp_collect_plan p;
    struct gp_err err = {0};
    if (!o.api) o.api = "sync";
    if (!o.stacks) o.stacks = "launch";
    if (!o.flush_ns) o.flush_ns = 100000000;
    if (!o.buffer_bytes) o.buffer_bytes = 8 << 20;
    if (!o.budget) o.budget = -1;
    assert_int_equal(gp_collect_plan(&p, &o, &err), 0);
    return p;
}

static void assert_refused(struct gp_collect_opts o, const char *message)
{
    struct gp_collect_plan p;
    struct gp_err err = {0};
    if (!o.api) o.api = "sync";
    if (!o.stacks) o.stacks = "launch";
    if (!o.flush_ns) o.flush_ns = 100000000;
    if (!o.buffer_bytes) o.buffer_bytes = 8 << 20;
    if (!o.budget) o.budget = -1;
    assert_int_equal(gp_collect_plan(&p, &o, &err), -1);
    assert_string_equal(err.msg, message);
    assert_int_equal(err.code, GP_E_USAGE);
}

TEST(defaults_record_everything_from_the_start)
{
    struct gp_collect_opts o = {GP_COLLECT_DEFAULTS};
    struct gp_collect_plan p = plan_of(o);
    assert_int_equal(p.api, GP_API_LEVEL_SYNC);
    assert_int_equal(p.stacks, GP_STACKS_LAUNCH);
    assert_int_equal(p.sample_ns, 0);
    assert_int_equal(p.graphs, GP_GRAPHS_AUTO);
    assert_int_equal(p.graph_rate, 2000000);
    assert_true(p.control.capture.open);
    assert_int_equal(p.signals, 0);
    assert_null(p.output);
    assert_false(p.pattern);
}

TEST(periods_of_program_counters_are_powers_of_two)
{
    struct gp_collect_plan p = plan_of((struct gp_collect_opts){.pc_sample = ""});
    assert_true(p.pc.mode == GP_PC_CONTINUOUS && p.pc.period == 16);
    p = plan_of((struct gp_collect_opts){.pc_sample = "32", .pc_sample_per = "launch"});
    assert_true(p.pc.mode == GP_PC_LAUNCHES && p.pc.period == 5);
    assert_int_equal(plan_of((struct gp_collect_opts){.pc_sample = "2147483648"}).pc.period, 31);
    static const char *const near[][2] = {
        {"1", "32"}, {"48", "32"}, {"49", "64"}, {"65535", "65536"}, {"9999999999", "2147483648"}};
    for (size_t i = 0; i < GP_COUNT(near); i++) {
        char message[200];
        snprintf(message, sizeof message,
                 "--pc-sample: '%s' is not a power of two from 32 to 2147483648; the nearest is %s",
                 near[i][0], near[i][1]);
        assert_refused((struct gp_collect_opts){.pc_sample = near[i][0]}, message);
    }
    assert_refused((struct gp_collect_opts){.pc_sample = "0"}, "--pc-sample: '0' is not a number of cycles");
}

TEST(words_become_values)
{
    assert_int_equal(plan_of((struct gp_collect_opts){.api = "none"}).api, GP_API_LEVEL_NONE);
    assert_int_equal(plan_of((struct gp_collect_opts){.api = "all"}).api, GP_API_LEVEL_ALL);
    assert_int_equal(plan_of((struct gp_collect_opts){.stacks = "none"}).stacks, GP_STACKS_NONE);
    assert_int_equal(plan_of((struct gp_collect_opts){.stacks = "native"}).stacks, GP_STACKS_NATIVE);
    assert_int_equal(plan_of((struct gp_collect_opts){.stacks = "sample"}).sample_ns, 5000000);
    assert_int_equal(plan_of((struct gp_collect_opts){.graphs = "node"}).graphs, GP_GRAPHS_NODE);
    assert_int_equal(plan_of((struct gp_collect_opts){.graphs = "graph"}).graphs, GP_GRAPHS_WHOLE);
    struct gp_collect_plan p = plan_of((struct gp_collect_opts){.graphs = "auto:5000"});
    assert_int_equal(p.graphs, GP_GRAPHS_AUTO);
    assert_int_equal(p.graph_rate, 5000);
}

TEST(outputs_may_be_one_per_process)
{
    struct gp_collect_plan p = plan_of((struct gp_collect_opts){.output = "a.trace"});
    assert_string_equal(p.output, "a.trace");
    assert_false(p.pattern);
    assert_true(plan_of((struct gp_collect_opts){.output = "a.%p.trace"}).pattern);
    assert_false(plan_of((struct gp_collect_opts){.output = "100%%"}).pattern);
    assert_null(plan_of((struct gp_collect_opts){.output = "-"}).output);
}

TEST(signals_start_stop_and_dump)
{
    uint64_t one = UINT64_C(1) << SIGUSR1, two = UINT64_C(1) << SIGUSR2;
    struct gp_collect_plan p =
        plan_of((struct gp_collect_opts){.start = "SIGUSR1", .dump = "SIGUSR2", .last_ns = 5});
    assert_false(p.control.capture.open);
    assert_int_equal(p.signals, one | two);
    assert_int_equal(p.dump.signal, two);
    p = plan_of((struct gp_collect_opts){.dump = "idle:2s,SIGUSR1,step:1.5x,memory:95%", .last_ns = 5});
    assert_int_equal(p.dump.idle_ns, 2000000000);
    assert_int_equal(p.signals, one);
    assert_true(p.dump.step > 1.49 && p.dump.step < 1.51 && p.dump.memory > 0.949 && p.dump.memory < 0.951);
    p = plan_of((struct gp_collect_opts){.dump = "collective:30s,clock:-10%", .api = "launch", .last_ns = 5});
    assert_int_equal(p.dump.collective_ns, 30000000000);
    assert_true(p.dump.clock > 0.099 && p.dump.clock < 0.101);
}

TEST(what_cannot_be_had_is_refused_with_a_reason)
{
    assert_refused((struct gp_collect_opts){.graphs = "auto:"},
                   "--graphs: 'auto:' is not one of node, graph, auto, auto:RATE");
    assert_refused((struct gp_collect_opts){.graphs = "auto:0"},
                   "--graphs: 'auto:0' is not one of node, graph, auto, auto:RATE");
    assert_refused((struct gp_collect_opts){.start = "later"},
                   "--start: 'later' is not one of profiler, range:NAME, launch:N, SIGUSR1, SIGUSR2, or a "
                   "time such as 10 (seconds) or 500ms");
    assert_refused((struct gp_collect_opts){.flush_ns = 999999},
                   "--flush-interval: must be between 1ms and 60s");
    assert_refused((struct gp_collect_opts){.buffer_bytes = 1}, "--buffer-size: must be between 64K and 64M");
    assert_refused((struct gp_collect_opts){.duration_ns = -1}, "--duration: must not be negative");
    assert_refused((struct gp_collect_opts){.dump = "SIGUSR1"}, "--dump requires --last");
    assert_refused((struct gp_collect_opts){.dump = "SIGUSR1", .start = "SIGUSR1", .last_ns = 5},
                   "--dump: a signal in 'SIGUSR1' already starts or stops the recording");
    static const char *const wrong[] = {
        "idle:x",    "idle:",       "",          "step:1x",     "step:1.5",       "step:x",  "memory:0%",
        "memory:95", "memory:100%", "clock:10%", "clock:-100%", "collective:-1s", "SIGTERM", "profiler"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200], list[60];
        snprintf(text, sizeof text,
                 "--dump: '%s' is not one of SIGUSR1, SIGUSR2, idle:TIME, step:1.5x (more than 1), "
                 "collective:TIME, memory:95%%, clock:-10%%",
                 wrong[i]);
        snprintf(list, sizeof list, "SIGUSR1,%s", wrong[i]);
        assert_refused((struct gp_collect_opts){.dump = wrong[i], .last_ns = 5}, text);
        assert_refused((struct gp_collect_opts){.dump = list, .last_ns = 5}, text);
    }
    assert_refused((struct gp_collect_opts){.dump = "step:2x", .no_nvtx = true, .last_ns = 5},
                   "--dump: steps and collectives are not seen with --no-nvtx");
    assert_refused((struct gp_collect_opts){.dump = "clock:-5%", .no_clocks = true, .last_ns = 5},
                   "--dump: memory and clocks are not read with --no-clocks");
    assert_refused((struct gp_collect_opts){.dump = "collective:9s", .api = "none", .last_ns = 5},
                   "--dump: to see that a collective has not ended, everything must be recorded, without "
                   "--start, --stop, "
                   "--duration, --pace, --budget and --api none");
    assert_refused((struct gp_collect_opts){.stop = "range:a", .no_nvtx = true},
                   "--no-nvtx: without ranges, a range cannot start or stop the recording");
}
