#include "analyze/names/metric_title.h"

#include <stddef.h>
#include <string.h>
#include "formats/base/count.h"

static const struct {
    const char *metric, *title;
} titles[] = {
    {"gr__cycles_active.sum.pct_of_peak_sustained_elapsed", "GPU active"},
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SMs active"},
    {"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed", "Issue"},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "Tensor"},
    {"dram__bytes_read.sum", "DRAM read"},
    {"dram__bytes_op_read.sum", "DRAM read"},
    {"dram__bytes_write.sum", "DRAM written"},
    {"dram__bytes_op_write.sum", "DRAM written"},
    {"pcie__read_bytes.sum", "PCIe read"},
    {"pcie__write_bytes.sum", "PCIe written"},
};

const char *gp_metric_title(const char *name)
{
    for (size_t i = 0; i < GP_COUNT(titles); i++)
        if (!strcmp(titles[i].metric, name)) return titles[i].title;
    return NULL;
}
