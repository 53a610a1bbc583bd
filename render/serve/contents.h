/* contents.h -- what identifies the content of an open file, remembered as long as the file does not change.
 * Safe in several threads.
 *
 *     struct gp_contents c = {0};
 *     char tag[GP_CONTENT_TAG];
 *     gp_contents_init(&c);
 *     if (gp_contents_tag(&c, fd, tag, &err)) ...
 */
#ifndef GP_RENDER_SERVE_CONTENTS_H
#define GP_RENDER_SERVE_CONTENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_CONTENT_TAG = 64, GP_CONTENTS_KNOWN = 1024 };

/* A file in one state. */
struct gp_content_state {
    uint64_t device, inode, size_bytes;
    int64_t modified_ns, changed_ns;
};

struct gp_contents {
    pthread_mutex_t lock;
    struct {
        struct gp_content_state state;
        char tag[GP_CONTENT_TAG];
    } known[GP_CONTENTS_KNOWN]; /* by a hash of the state */
};

void gp_contents_init(struct gp_contents *c);
/* The state of FD; -1 with ERR filled. */
GP_MUST_CHECK int gp_content_state(int fd, struct gp_content_state *s, struct gp_err *err);
bool gp_content_same(const struct gp_content_state *a, const struct gp_content_state *b);
/* TAG becomes the hash of what FD holds: the same for the same bytes. Of files over 256 MiB it is the hash of
 * their state. */
GP_MUST_CHECK int gp_contents_tag(struct gp_contents *c, int fd, char tag[GP_CONTENT_TAG],
                                  struct gp_err *err);
void gp_contents_release(struct gp_contents *c);

#endif
