#include "render/serve/browser.h"

#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/str.h"
#include "render/serve/blob.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char head[] = "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" "
                           "content=\"no-referrer\">\n"
                           "<title>gpuprof</title>\n<meta http-equiv=\"refresh\" content=\"0; url=";

/* A page that leads to LINK, which has no characters that would have to be
 * escaped. */
static char *write_page(const char *folder, const char *link, struct gp_err *err)
{
    struct gp_buf name = {0}, page = {0};
    gp_buf_printf(&name, "%s/gpuprof-open-XXXXXX.html", folder);
    gp_buf_putc(&name, 0);
    gp_buf_printf(&page, "%s%s\">\n<p><a href=\"%s\">Open the traces</a></p>\n", head, link, link);
    int fd = mkostemps(name.data, (int)strlen(".html"), O_CLOEXEC); /* of mode 0600 */
    int failed = fd < 0 || gp_blob_write(fd, page.data, page.n), why = errno;
    if (fd >= 0) close(fd);
    if (failed && fd >= 0) unlink(name.data);
    gp_buf_release(&page);
    if (!failed) return name.data;
    gp_fail(err, GP_E_IO, -1, "--open: %s: %s", name.data, strerror(why));
    gp_buf_release(&name);
    return NULL;
}

/* After fork() in a process with threads: only system calls. */
static _Noreturn void watch_browser(char *file, const char *message)
{
    int status = 0;
    pid_t pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; null >= 0 && fd < 3; fd++) dup2(null, fd);
        syscall(SYS_close_range, 3, ~0U, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        char *const argv[] = {(char *)(uintptr_t) "xdg-open", file, NULL};
        execvp(argv[0], argv);
        _exit(127);
    }
    syscall(SYS_close_range, 3, ~0U, 0); /* it may outlive the server */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid < 0 || status) gp_blob_write(STDERR_FILENO, message, strlen(message));
    _exit(0);
}

char *gp_browser_open(const char *folder, const char *link, const char *message, struct gp_err *err)
{
    char *file = write_page(folder, link, err);
    if (!file) return NULL;
    pid_t pid = fork();
    if (!pid) watch_browser(file, message);
    if (pid > 0) return file;
    gp_fail(err, GP_E_IO, -1, "--open: %s", strerror(errno));
    unlink(file);
    free(file);
    return NULL;
}
