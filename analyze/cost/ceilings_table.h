/* ceilings_table.h -- private to ceilings.c: figures from data sheets and white papers, dense, at boost
 * clocks; 16-bit rates with FP32 sums. A missing figure is unknown, or the device has no such unit. The first
 * row whose mark occurs in a device's name applies, so longer marks come first.
 *
 * Each row names its source. Figures are as the vendor publishes them, not measured, unless the row says
 * otherwise.
 */
#ifndef GP_ANALYZE_CEILINGS_TABLE_H
#define GP_ANALYZE_CEILINGS_TABLE_H

struct gp_sheet {
    const char *device, *mark;                      /* words in the name of the device */
    double gbps;                                    /* device memory: 1e9 bytes per second */
    double l2_gbps, l2_mib;                         /* last-level cache: 1e9 bytes per second, MiB */
    double fp64, fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 operations per second */
};

/* clang-format off */
static const struct gp_sheet gp_sheets[] = {
    /* data sheet "NVIDIA Blackwell", column HGX B200, figures of one GPU, half of those with sparsity, as
     * published in 2024 (the architecture's technical brief has 40, 80 and 8000 in place of 37, 75 and 7700);
     * L2: articles that measure it */
    {.device = "NVIDIA B200", .mark = "B200", .gbps = 7700, .l2_mib = 126,
     .fp64 = 37, .fp32 = 75, .tf32 = 1100, .fp16 = 2250, .bf16 = 2250, .fp8 = 4500, .int8 = 4500},
    /* data sheet "NVIDIA GH200 Grace Hopper Superchip", of the version with 96 GB of HBM3, as published for
     * launch year 2023 (that with 144 GB of HBM3e moves 4900); L2: that of the H100, the same chip */
    {.device = "NVIDIA GH200", .mark = "GH200", .gbps = 4000, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* data sheet "NVIDIA H200 Tensor Core GPU", as published for launch year 2024 */
    {.device = "NVIDIA H200 NVL", .mark = "H200 NVL", .gbps = 4800, .l2_mib = 50,
     .fp64 = 60, .fp32 = 60, .tf32 = 417.5, .fp16 = 835.5, .bf16 = 835.5, .fp8 = 1671, .int8 = 1671},
    /* data sheet "NVIDIA H200 Tensor Core GPU", as published for launch year 2024 */
    {.device = "NVIDIA H200", .mark = "H200", .gbps = 4800, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2023 */
    {.device = "NVIDIA H100 NVL", .mark = "H100 NVL", .gbps = 3900, .l2_mib = 50,
     .fp64 = 60, .fp32 = 60, .tf32 = 417.5, .fp16 = 835.5, .bf16 = 835.5, .fp8 = 1671, .int8 = 1671},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2022 */
    {.device = "NVIDIA H100 PCIe", .mark = "H100 PCIe", .gbps = 2000, .l2_mib = 50,
     .fp64 = 51, .fp32 = 51, .tf32 = 378, .fp16 = 756, .bf16 = 756, .fp8 = 1513, .int8 = 1513},
    /* data sheet "NVIDIA H100 Tensor Core GPU", as published for launch year 2022 */
    {.device = "NVIDIA H100 SXM", .mark = "H100", .gbps = 3350, .l2_mib = 50,
     .fp64 = 67, .fp32 = 67, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4, .fp8 = 1978.9, .int8 = 1978.9},
    /* no public data sheet; figures as listed by sellers, launch year 2024 */
    {.device = "NVIDIA H20", .mark = "H20", .gbps = 4000, .l2_mib = 60,
     .fp64 = 1, .fp32 = 44, .tf32 = 74, .fp16 = 148, .bf16 = 148, .fp8 = 296, .int8 = 296},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2021; L2: white paper
     "NVIDIA A100 Tensor Core GPU Architecture", 2020 */
    {.device = "NVIDIA A100 80GB PCIe", .mark = "A100 80GB PCIe", .gbps = 1935, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2020; L2: as above */
    {.device = "NVIDIA A100 80GB", .mark = "A100-SXM4-80GB", .gbps = 2039, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA A100 Tensor Core GPU", as published for launch year 2020; L2: as above */
    {.device = "NVIDIA A100 40GB", .mark = "A100", .gbps = 1555, .l2_gbps = 7219, .l2_mib = 40,
     .fp64 = 19.5, .fp32 = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312, .int8 = 624},
    /* data sheet "NVIDIA V100 Tensor Core GPU", as published for launch year 2017; L2: white paper
     "NVIDIA Tesla V100 GPU Architecture", 2017 */
    {.device = "NVIDIA V100 SXM2", .mark = "V100-SXM2", .gbps = 900, .l2_gbps = 3133, .l2_mib = 6,
     .fp64 = 7.8, .fp32 = 15.7, .fp16 = 125},
    /* data sheet "NVIDIA V100 Tensor Core GPU", as published for launch year 2017; L2: as above */
    {.device = "NVIDIA V100 PCIe", .mark = "V100", .gbps = 900, .l2_gbps = 2826, .l2_mib = 6,
     .fp64 = 7, .fp32 = 14, .fp16 = 112},
    /* data sheet "NVIDIA L40S", as published for launch year 2023 */
    {.device = "NVIDIA L40S", .mark = "L40S", .gbps = 864, .l2_mib = 96,
     .fp64 = 1.4, .fp32 = 91.6, .tf32 = 183, .fp16 = 362.05, .bf16 = 362.05, .fp8 = 733, .int8 = 733},
    /* data sheet "NVIDIA L40", as published for launch year 2022 */
    {.device = "NVIDIA L40", .mark = "L40", .gbps = 864, .l2_mib = 96,
     .fp64 = 1.4, .fp32 = 90.5, .tf32 = 90.5, .fp16 = 181.05, .bf16 = 181.05, .fp8 = 362, .int8 = 362},
    /* data sheet "NVIDIA L4 Tensor Core GPU", as published for launch year 2023 */
    {.device = "NVIDIA L4", .mark = "L4", .gbps = 300, .l2_mib = 48,
     .fp64 = 0.5, .fp32 = 30.3, .tf32 = 60, .fp16 = 121, .bf16 = 121, .fp8 = 242.5, .int8 = 242.5},
    /* data sheet "NVIDIA A30 Tensor Core GPU", as published for launch year 2021 */
    {.device = "NVIDIA A30", .mark = "A30", .gbps = 933, .l2_mib = 24,
     .fp64 = 10.3, .fp32 = 10.3, .tf32 = 82, .fp16 = 165, .bf16 = 165, .int8 = 330},
    /* data sheet "NVIDIA A40", as published for launch year 2020 */
    {.device = "NVIDIA A40", .mark = "A40", .gbps = 696, .l2_mib = 6,
     .fp64 = 0.6, .fp32 = 37.4, .tf32 = 74.8, .fp16 = 149.7, .bf16 = 149.7, .int8 = 299.3},
    /* made for Amazon EC2 G5 (2021) and not in NVIDIA's catalogue: memory as articles that compare it with
     * the A10 list it; rates as listed by sellers, not checked against a data sheet */
    {.device = "NVIDIA A10G", .mark = "A10G", .gbps = 600, .l2_mib = 6,
     .fp64 = 0.5, .fp32 = 35, .tf32 = 35, .fp16 = 70, .bf16 = 70, .int8 = 140},
    /* data sheet "NVIDIA A10 Tensor Core GPU", as published for launch year 2021 */
    {.device = "NVIDIA A10", .mark = "A10", .gbps = 600, .l2_mib = 6,
     .fp64 = 0.5, .fp32 = 31.2, .tf32 = 62.5, .fp16 = 125, .bf16 = 125, .int8 = 250},
    /* data sheet "NVIDIA RTX A6000", as published for launch year 2020 */
    {.device = "NVIDIA RTX A6000", .mark = "A6000", .gbps = 768, .l2_mib = 6,
     .fp64 = 0.6, .fp32 = 38.7, .tf32 = 77.4, .fp16 = 154.8, .bf16 = 154.8, .int8 = 309.7},
    /* data sheet "NVIDIA T4 Tensor Core GPU", as published for launch year 2018 */
    {.device = "NVIDIA T4", .mark = "T4", .gbps = 320, .l2_mib = 4,
     .fp64 = 0.25, .fp32 = 8.1, .fp16 = 65, .int8 = 130},
    /* white paper "NVIDIA Ampere GA102 GPU Architecture", as published for launch year 2020 */
    {.device = "NVIDIA GeForce RTX 3090", .mark = "RTX 3090", .gbps = 936, .l2_mib = 6,
     .fp64 = 0.56, .fp32 = 35.6, .tf32 = 35.6, .fp16 = 71, .bf16 = 71, .int8 = 284},
    /* white paper "NVIDIA Ada GPU Architecture", as published for launch year 2022 */
    {.device = "NVIDIA GeForce RTX 4090", .mark = "RTX 4090", .gbps = 1008, .l2_mib = 72,
     .fp64 = 1.3, .fp32 = 82.6, .tf32 = 82.6, .fp16 = 165.2, .bf16 = 165.2, .fp8 = 330.3, .int8 = 660.6},
    /* white paper "NVIDIA RTX Blackwell GPU Architecture", as published for launch year 2025 */
    {.device = "NVIDIA GeForce RTX 5090", .mark = "RTX 5090", .gbps = 1792, .l2_mib = 96,
     .fp64 = 1.6, .fp32 = 104.8, .tf32 = 104.8, .fp16 = 209.5, .bf16 = 209.5, .fp8 = 419, .int8 = 838},
    /* data sheet "AMD Instinct MI300X Accelerator", as published for launch year 2023; the cache is the
     Infinity Cache */
    {.device = "AMD Instinct MI300X", .mark = "MI300X", .gbps = 5300, .l2_mib = 256,
     .fp64 = 163.4, .fp32 = 163.4, .tf32 = 653.7, .fp16 = 1307.4, .bf16 = 1307.4, .fp8 = 2614.9, .int8 = 2614.9},
};
/* clang-format on */

#endif
