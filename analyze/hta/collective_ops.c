#include "analyze/hta/collective_ops.h"

#include <string.h>
#include "formats/base/count.h"

/* ---- operations ---- */

/* How bus bandwidth follows from algorithm bandwidth for n ranks. */
enum bus { BUS_ONE, BUS_SHARE /* (n-1)/n */, BUS_TWICE /* 2(n-1)/n */ };

/* What a name contains, without case and underscores; the first that fits counts. */
static const struct operation {
    const char *part, *op;
    enum bus bus;
    bool symmetric;
} operations[] = {
    {"allreduce", "all_reduce", BUS_TWICE, true},
    {"crossdevicereduce", "all_reduce", BUS_TWICE, true},
    {"reducescatter", "reduce_scatter", BUS_SHARE, true},
    {"allgather", "all_gather", BUS_SHARE, true},
    {"alltoall", "all_to_all", BUS_SHARE, true},
    {"broadcast", "broadcast", BUS_ONE, false},
    {"bcast", "broadcast", BUS_ONE, false},
    {"sendrecv", "send_recv", BUS_ONE, false},
    {"barrier", "barrier", BUS_ONE, true},
    {"dispatch", "dispatch", BUS_ONE, false},
    {"combine", "combine", BUS_ONE, false},
    {"gather", "gather", BUS_ONE, false},
    {"scatter", "scatter", BUS_ONE, false},
    {"reduce", "reduce", BUS_ONE, false},
    {"send", "send_recv", BUS_ONE, false},
    {"recv", "send_recv", BUS_ONE, false},
};

static const struct operation *operation_named(const char *op)
{
    for (size_t i = 0; i < GP_COUNT(operations); i++)
        if (!strcmp(operations[i].op, op)) return &operations[i];
    return NULL;
}

const char *gp_collective_op(const char *name, size_t n)
{
    char plain[256];
    size_t k = 0;
    for (size_t i = 0; i < n && k < sizeof plain - 1; i++) {
        char c = name[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c != '_') plain[k++] = c;
    }
    plain[k] = 0;
    for (size_t i = 0; i < GP_COUNT(operations); i++)
        if (strstr(plain, operations[i].part)) return operations[i].op;
    return "other";
}

double gp_collective_bus_factor(const char *op, uint32_t n)
{
    const struct operation *o = operation_named(op);
    if (strchr(op, '+')) return 0; /* several kinds: no such figure exists */
    if (!o || o->bus == BUS_ONE) return 1;
    if (!n) return 0;
    double share = (double)(n - 1) / n;
    return o->bus == BUS_TWICE ? 2 * share : share;
}

bool gp_collective_is_symmetric(const char *op)
{
    const struct operation *o = operation_named(op);
    return o && o->symmetric;
}

double gp_collective_bandwidth(int64_t bytes, int64_t ns)
{
    return bytes > 0 && ns > 0 ? (double)bytes / (double)ns : 0;
}

/* ---- types ---- */

/* PyTorch's and NCCL's names in lower case. */
static const struct {
    const char *name;
    uint32_t bytes;
} dtypes[] = {
    {"f64", 8},
    {"f32", 4},
    {"f16", 2},
    {"bf16", 2},
    {"f8e4m3", 1},
    {"f8e5m2", 1},
    {"u8", 1},
    {"i8", 1},
    {"u32", 4},
    {"i32", 4},
    {"u64", 8},
    {"i64", 8},
    {"double", 8},
    {"float", 4},
    {"half", 2},
    {"bfloat16", 2},
    {"int8", 1},
    {"uint8", 1},
    {"int16", 2},
    {"uint16", 2},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"byte", 1},
    {"char", 1},
    {"short", 2},
    {"int", 4},
    {"long", 8},
    {"bool", 1},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"float8_e8m0fnu", 1},
    {"float4_e2m1fn_x2", 1},
    {"complexhalf", 4},
    {"complexfloat", 8},
    {"complexdouble", 16},
    {"qint8", 1},
    {"quint8", 1},
    {"qint32", 4},
    {"float64", 8},
    {"float32", 4},
    {"float16", 2},
};

uint32_t gp_dtype_bytes(const char *name, size_t n)
{
    char lower[32];
    if (n >= sizeof lower) return 0;
    for (size_t i = 0; i < n; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    lower[n] = 0;
    for (size_t i = 0; i < GP_COUNT(dtypes); i++)
        if (!strcmp(dtypes[i].name, lower)) return dtypes[i].bytes;
    return 0;
}
