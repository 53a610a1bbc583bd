/* checkpoint.h -- checkpoints, so that a killed job resumes: each file has the partial result of some
 * inputs and names them. An input is known by its name, size and time, the program's version and the
 * options that change the result; if any of these is another one, it is read again.
 *
 *     struct gp_spills s;
 *     gp_spills_open(&s, &run, "spill");
 *     gp_spills_load(&s, &hta);                          // s.done: the inputs found
 *     if (gp_spills_write(&s, inputs, n, &batch, &err)) ...
 *     gp_spills_close(&s);
 */
#ifndef GP_RENDER_HTA_MAIN_CHECKPOINT_H
#define GP_RENDER_HTA_MAIN_CHECKPOINT_H

#include "formats/base/declare.h"
#include "render/hta_main/hta_main.h"

enum { GP_SPILL_INPUTS = 8 }; /* inputs per file: as many are lost at most, per process */

struct gp_spills {
    const char *dir;
    const struct gp_hta_main *run;
    uint64_t *keys; /* by input */
    bool *done;     /* by input */
};

void gp_spills_open(struct gp_spills *s, const struct gp_hta_main *r, const char *dir);
void gp_spills_close(struct gp_spills *s);
/* Merge into TO the results of inputs that are not done from the files of the folder. Files that are damaged,
 * or of other inputs, are left alone. Returns the number of these inputs. */
size_t gp_spills_load(struct gp_spills *s, struct gp_hta *to);
/* Write the result BATCH of N inputs. Makes the folder. */
GP_MUST_CHECK int gp_spills_write(struct gp_spills *s, const size_t *inputs, size_t n, struct gp_hta *batch,
                                  struct gp_err *err);

/* The bytes of such a file: N keys and a result. */
void gp_spill_save(struct gp_buf *to, const uint64_t *keys, size_t n, struct gp_hta *h);
/* KEYS gets *N keys and is to be freed; H is initialised and stays empty on failure. */
GP_MUST_CHECK int gp_spill_load(const void *data, size_t bytes, uint64_t **keys, size_t *n, struct gp_hta *h,
                                struct gp_err *err);

#endif
