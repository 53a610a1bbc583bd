/* frame_kind.h -- kinds of frames of a stack: host code by sort, GPU work by purpose.
 */
#ifndef GP_ANALYZE_FRAME_KIND_H
#define GP_ANALYZE_FRAME_KIND_H

/* What a frame is: decides its colour and its group in the legend, never its place. */
enum gp_frame_kind {
    GP_FRAME_UNKNOWN, /* folded input: nothing is known but the name */
    GP_FRAME_ROOT,    /* rank, process, device */
    GP_FRAME_RANGE,   /* NVTX, user annotation, step */
    GP_FRAME_MODULE,  /* nn.Module */
    GP_FRAME_PYTHON,
    GP_FRAME_OP,
    GP_FRAME_API,
    GP_FRAME_COMPUTE, /* GPU work other than the next four */
    GP_FRAME_GEMM,
    GP_FRAME_ATTENTION,
    GP_FRAME_ELEMENTWISE,
    GP_FRAME_REDUCTION, /* reductions and normalisations */
    GP_FRAME_COMMUNICATION,
    GP_FRAME_MEMCPY,
    GP_FRAME_MEMSET,
    GP_FRAME_UNATTRIBUTED,
    GP_FRAME_OTHER, /* "N more" */
    GP_FRAME_IDLE,  /* why a device did nothing */
    GP_FRAME_KIND_COUNT
};

#endif
