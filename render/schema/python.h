/* python.h -- makes the classes of gputrace's results (collect/python/gputrace/_rows.py) from the records of
 * the answers that they are rows of: an attribute is what JSON calls so, with a _ behind it where Python has
 * the word for itself. */
#ifndef GP_RENDER_PYTHON_H
#define GP_RENDER_PYTHON_H

#include "formats/base/declare.h"

void gp_schema_python(struct gp_buf *to);

#endif
