#include "collect/records/notes.h"

#include <string.h>
#include "collect/wire/wire.h"
#include "formats/model/trace.h"

void gp_notes_put(struct gp_buf *to, int64_t tid, const struct gp_note *note)
{
    gp_notes_put_with(to, tid, note, gp_note_args(note));
}

void gp_notes_put_with(struct gp_buf *to, int64_t tid, const struct gp_note *note, const char *args)
{
    const char *text = gp_note_text(note);
    size_t text_n = strlen(text) + 1, domain_n = strlen(note->domain) + 1;
    size_t domain_at = sizeof *note + text_n + note->args_n, n = (domain_at + domain_n + 7) & ~(size_t)7;
    struct gp_wire_note head = {tid, (uint32_t)n, (uint32_t)domain_at};
    struct gp_note copy = *note;
    copy.domain = copy.text = NULL;
    gp_buf_reserve(to, sizeof head + n);
    gp_buf_put(to, &head, sizeof head);
    gp_buf_put(to, &copy, sizeof copy);
    gp_buf_put(to, text, text_n);
    if (note->args_n) gp_buf_put(to, args, note->args_n);
    gp_buf_put(to, note->domain, domain_n);
    gp_buf_put(to, "\0\0\0\0\0\0\0", n - domain_at - domain_n);
}

void gp_notes_set(struct gp_notes *notes, const void *data, size_t n)
{
    notes->data = data;
    notes->left = n;
    notes->bad = false;
}

/* Are the N bytes after HEAD a complete note? */
static bool is_sound(const struct gp_wire_note *head, const uint8_t *p, size_t n)
{
    struct gp_note note;
    if (head->n > n || head->n % 8 || head->domain_at >= head->n || head->domain_at < sizeof note)
        return false;
    memcpy(&note, p, sizeof note);
    const uint8_t *text = p + sizeof note, *end = memchr(text, 0, head->domain_at - sizeof note);
    return !note.text && !note.domain && gp_time_fits(note.time_ns) && end &&
           (size_t)(p + head->domain_at - end - 1) == note.args_n &&
           memchr(p + head->domain_at, 0, head->n - head->domain_at);
}

const struct gp_note *gp_notes_next(struct gp_notes *notes, int64_t *tid)
{
    struct gp_wire_note head;
    if (!notes->left) return NULL;
    notes->bad = notes->left < sizeof head;
    if (!notes->bad) {
        memcpy(&head, notes->data, sizeof head);
        notes->bad = !is_sound(&head, notes->data + sizeof head, notes->left - sizeof head);
    }
    if (notes->bad) {
        notes->left = 0;
        return NULL;
    }
    notes->note.n = 0;
    gp_buf_put(&notes->note, notes->data + sizeof head, head.n);
    struct gp_note *note = (struct gp_note *)(void *)notes->note.data;
    const char *domain = notes->note.data + head.domain_at;
    note->domain = gp_string(&notes->domains, gp_intern_cstr(&notes->domains, domain));
    notes->data += sizeof head + head.n;
    notes->left -= sizeof head + head.n;
    *tid = head.tid;
    return note;
}

void gp_notes_release(struct gp_notes *notes)
{
    gp_buf_release(&notes->note);
    gp_strings_release(&notes->domains);
}
