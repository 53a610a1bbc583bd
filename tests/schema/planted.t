#!/bin/sh
test_description='what a change costs: a column is a member, a row and a line of documentation; a reader is a folder and a word'
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"

# The build counts basic blocks where the compiler can, and stays: cli/growth.t runs its tools. What did not change is not built again.
copy=${GP_BIN%/bin}/planted build=${GP_BIN%/bin}/counted
rm -rf "$copy" "$build/counts" && mkdir "$copy" && cd "$GP_SOURCE" && cp -Rp CMakeLists.txt LICENSE README.md collect analyze render formats schemas "$copy" &&
    mkdir -p "$copy/tests" && cp -Rp tests/lint "$copy/tests" && cd "$OLDPWD" || exit 1

# insert FILE PATTERN TEXT -- a line before the first one with PATTERN.
insert() {
    awk -v text="$3" -v pattern="$2" '!done && index($0, pattern) { print text; done = 1 } { print } END { exit !done }' "$1" >new &&
        mv new "$1"
}

test_expect_success 'a column of the kernels is planted: three lines, and the one that fills it' '
    insert "$copy/analyze/hta/hta_rows.h" "int32_t tensor_core;" "    int64_t planted_ns;" &&
    insert "$copy/analyze/hta/kernel_stats.c" "{.at = AT(occupancy_known_ns)" \
        "    {\"planted_ns\", \"Planted\", GP_CELL_NS, gp_member_i64, AT(planted_ns), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM}," &&
    insert "$copy/analyze/hta/kernel_stats.c" "gp_histogram_add(&k->dur, dur);" "    k->planted_ns += 2 * dur;" &&
    insert "$copy/analyze/trace-hta.1" ".It operators , ranges , modules" ".It planted" &&
    for f in analyze/hta/hta_rows.h analyze/hta/kernel_stats.c analyze/trace-hta.1; do
        diff "$GP_SOURCE/$f" "$copy/$f"
    done | grep -c "^>" >lines && test "$(cat lines)" = 4
'

# Its input: "PLANTED" and, per line, the time of a kernel.
test_expect_success 'a reader is planted: a folder, and a word in reader.h' '
    sed "/^#define GP_READERS/s/$/ X(planted)/" "$GP_SOURCE/formats/reader.h" >"$copy/formats/reader.h" &&
    test_must_fail cmp -s "$GP_SOURCE/formats/reader.h" "$copy/formats/reader.h" &&
    mkdir "$copy/formats/planted" &&
    echo "gp_reader(planted)" >"$copy/formats/planted/CMakeLists.txt" &&
    cat >"$copy/formats/planted/planted_read.c" <<-"END"
	#include <stdlib.h>
	#include <string.h>
	#include "formats/base/buf.h"
	#include "formats/base/input.h"
	#include "formats/base/str.h"
	#include "formats/reader.h"
	static bool sniff(const uint8_t *head, size_t n)
	{
	    return gp_begin(head, n, "PLANTED\n");
	}
	static int read_planted(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts, struct gp_err *err)
	{
	    struct gp_buf text = {0};
	    struct gp_track track = gp_track_unknown();
	    struct gp_process process = gp_process_unknown();
	    (void)opts;
	    if (gp_input_rest(in, 1 << 20, &text, err)) return -1;
	    track.kind = GP_TRACK_STREAM;
	    track.process = gp_trace_process(t, &process);
	    track.device = 0;
	    struct gp_events *gpu = &t->events[GP_GPU];
	    struct gp_config c;
	    memset(&c, 0, sizeof c);
	    c.name = gp_intern_cstr(&t->strings, "planted_kernel");
	    c.kind = GP_KERNEL;
	    uint32_t stream = gp_trace_track(t, &track), config = gp_trace_config(t, &c);
	    int64_t now_ns = 0;
	    char *p = gp_buf_str(&text) + 8;
	    for (char *end; *p; p = end + (*end != 0)) {
	        long long ns = strtoll(p, &end, 10);
	        size_t row = gp_events_add(gpu, now_ns, ns, stream, c.name);
	        gp_events_materialise(gpu, GP_COL_CONFIG);
	        gpu->config[row] = config;
	        now_ns += ns;
	    }
	    gp_buf_release(&text);
	    return 0;
	}
	const struct gp_reader gp_reader_planted = {"planted", "a planted format", sniff, read_planted, {NULL}};
	END
    GP_SOURCE="$copy" "$copy/tests/lint/layers.sh" >lint
'

test_expect_success 'the tree builds with both' '
    "$GP_SOURCE/tests/bench/build_counted.sh" "$build" "$copy" >log 2>&1 || {
        rm -rf "$build" &&
            cmake -G Ninja -S "$copy" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-O0 -g0" -DBUILD_TESTING=OFF &&
            cmake --build "$build" --target trace-hta gp_schema -j 2
    } >>log 2>&1 || { tail -n 40 log; false; }
'

hta() { "$build/bin/trace-hta" -q --whole "$@"; }
test_expect_success 'the column is in JSON, CSV, text, page, partial results, schema and Python' '
    printf "PLANTED\n100\n23\n" >one && printf "PLANTED\n7\n" >two && hta -f json one >report &&
    jq -e ".kernels | length == 1 and .[0].planted_ns == 246 and .[0].total_ns == 123" report &&
    hta -f csv -t kernels one >csv && head -n 1 csv | tr ,"\r" "\n\n" | grep -Fx planted_ns &&
    hta -t kernels one >text && grep -E "Kernel, copy or set .* Planted" text &&
    hta -f html one >page && grep -oE ">Planted</th" page &&
    hta --save-partial=one.part one >text && hta --save-partial=two.part two >text && hta --merge -f json one.part two.part >merged &&
    jq -e ".kernels[0] | .count == 3 and .total_ns == 130 and .planted_ns == 260" merged &&
    "$build/tests/gp_schema" "$copy/schemas/parts" trace-hta >schema &&
    jq -e ".properties.kernels.items | .properties.planted_ns.type == \"integer\" and (.required | index(\"planted_ns\") != null)" schema &&
    "$build/tests/gp_schema" --python >rows && grep "planted_ns: int" rows
'

test_expect_success 'the format is in the report and in every schema' '
    jq -e ".inputs[0].format == \"planted\"" report &&
    for part in "$copy"/schemas/parts/trace-*.json; do
        tool=$(basename "$part" .json)
        "$build/tests/gp_schema" "$copy/schemas/parts" "$tool" >schema || return 1
        test "$tool" = trace-fleet || # reads no traces
        jq -e "[.. | .format?.enum? | arrays | index(\"planted\")] | length > 0 and all(. != null)" schema || return 1
    done &&
    test_must_fail hta -f json /dev/null 2>err && printf "no trace at all\n" >other && test_must_fail hta other 2>err &&
    grep "nor a planted format" err
'

test_done
