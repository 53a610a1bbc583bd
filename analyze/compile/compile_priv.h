/* compile_priv.h -- the steps of gp_compile_finish(), in their order. Private to analyze/compile. */
#ifndef GP_ANALYZE_COMPILE_PRIV_H
#define GP_ANALYZE_COMPILE_PRIV_H

#include "analyze/compile/compile.h"

void gp_compile_find_mode(struct gp_compile *c);
void gp_compile_find_frames(struct gp_compile *c);
void gp_compile_add_time(struct gp_compile *c);
void gp_compile_find_recompiles(struct gp_compile *c);
void gp_compile_find_breaks(struct gp_compile *c);
void gp_compile_count_caches(struct gp_compile *c);
void gp_compile_find_graphs(struct gp_compile *c);
void gp_compile_find_cudagraphs(struct gp_compile *c);
void gp_compile_join_trace(struct gp_compile *c);
void gp_compile_compare_modes(struct gp_compile *c);
void gp_compile_compare_findings(struct gp_compile *c);
void gp_compile_advise(struct gp_compile *c);

static inline const struct gp_compile *gp_compile_of(const struct gp_row_of *x) { return x->of; }

/* The frame of a compile id of a process; NULL. */
struct gp_compile_frame *gp_compile_frame_of(struct gp_compile *c, uint32_t process, gp_sid compile_id);
/* Is it a failure of the compiler that comes back with each compile of the function? One with a number is an
 * ordinary break. */
bool gp_compile_in_vain(const struct gp_compile_break *b);
/* Self times by class: int64_t[GP_COMPILE_CLASS_COUNT]. */
extern const struct gp_record gp_compile_classes;
extern const char *const gp_compile_warmths[], *const gp_compile_outcomes[], *const gp_compile_priorities[];
/* An index; unknown where it is GP_CLOG_NONE. */
gp_field_get gp_compile_get_index;
/* The getter of a file, as gp_compile_short_path() has it; unknown where there is none. */
gp_field_get gp_compile_get_path;
/* A printed string in the log's table. */
gp_sid gp_compile_print(struct gp_compile *c, const char *fmt, ...) GP_PRINTF(2, 3);
/* "f" of "torch_dynamo_resume_in_f_at_10", whose line becomes *LINE; otherwise the name as it is, and -1. */
gp_sid gp_compile_function(struct gp_compile *c, gp_sid name, int32_t *line);

#endif
