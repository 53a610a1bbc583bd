#include "analyze/regime.h"

#include "analyze/classify.h"

enum { OVERHEAD_PCT = 50, LARGE_PCT = 25, CLOSE_PCT = 10 };

const char *gp_regime_name(enum gp_regime r)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        GP_REGIMES(X)
#undef X
    };
    return names[r];
}

const char *gp_regime_text(enum gp_regime r)
{
    static const char *const texts[] = {
#define X(id, name, text) text,
        GP_REGIMES(X)
#undef X
    };
    return texts[r];
}

enum gp_regime gp_regime_classic(enum gp_regime r)
{
    if (r == GP_REGIME_TRANSFER || r == GP_REGIME_COMMUNICATION) return GP_REGIME_MEMORY;
    return r == GP_REGIME_MEMORY || r == GP_REGIME_COMPUTE ? r : GP_REGIME_OVERHEAD;
}

enum gp_regime gp_regime_of_kernel(uint32_t kind, int64_t dur_ns, int64_t empty_ns)
{
    enum gp_class class = gp_class_of((enum gp_frame_kind)kind);
    if (class == GP_CLASS_COMMUNICATION) return GP_REGIME_COMMUNICATION;
    if (class == GP_CLASS_MEMORY) return GP_REGIME_TRANSFER;
    if (dur_ns <= 2 * empty_ns + 1000) return GP_REGIME_OVERHEAD;
    switch (kind) {
    case GP_FRAME_GEMM:
    case GP_FRAME_ATTENTION:
        return GP_REGIME_COMPUTE;
    case GP_FRAME_ELEMENTWISE:
    case GP_FRAME_REDUCTION:
        return GP_REGIME_MEMORY;
    default:
        return GP_REGIME_UNKNOWN;
    }
}

enum gp_regime gp_regime_of_step(const struct gp_regime_step *s)
{
    if (s->whole_ns <= 0) return GP_REGIME_UNKNOWN;
    int64_t overhead = s->idle_ns + s->latency_ns, large = s->whole_ns / 100 * LARGE_PCT;
    if (overhead >= s->whole_ns / 100 * OVERHEAD_PCT) return GP_REGIME_OVERHEAD;
    int64_t most = s->communication_ns > s->transfer_ns ? s->communication_ns : s->transfer_ns;
    if (most >= large && most >= overhead)
        return s->communication_ns > s->transfer_ns ? GP_REGIME_COMMUNICATION : GP_REGIME_TRANSFER;
    int64_t busy = s->compute_ns + s->memory_ns + s->unknown_ns;
    if (overhead >= busy) return GP_REGIME_OVERHEAD;
    if (s->unknown_ns > s->compute_ns && s->unknown_ns > s->memory_ns) return GP_REGIME_UNKNOWN;
    int64_t apart =
        s->compute_ns > s->memory_ns ? s->compute_ns - s->memory_ns : s->memory_ns - s->compute_ns;
    if (apart * 100 <= busy * CLOSE_PCT) return GP_REGIME_MIXED;
    return s->compute_ns > s->memory_ns ? GP_REGIME_COMPUTE : GP_REGIME_MEMORY;
}
