#include "harness/daemon/daemon_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int open_home(const struct home *home, struct sockaddr_un *address, struct error *err)
{
    const char *name = strrchr(home->socket, '/');
    int dir = open(home->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        error_errno(err, STATUS_BAD_INPUT, errno, "%s", home->dir);
        return -1;
    }
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", dir, name ? name + 1 : home->socket);
    return dir;
}

int daemon_socket_listen(const struct home *home, struct error *err)
{
    struct sockaddr_un address;
    int dir = open_home(home, &address, err);
    if (dir < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177); /* the socket is born 0600 */
    bool fine = fd >= 0 && (unlink(home->socket) == 0 || errno == ENOENT) &&
                bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    int cause = errno;
    umask(mask);
    if (fine && listen(fd, 128) != 0) {
        cause = errno;
        fine = false;
    }
    close(dir);
    if (fine)
        return fd;
    error_errno(err, STATUS_FAILED, cause, "%s: cannot listen", home->socket);
    if (fd >= 0)
        close(fd);
    return -1;
}

int daemon_socket_connect(const struct home *home, int *absent, struct error *err)
{
    struct sockaddr_un address;
    struct stat st;
    *absent = 0;
    int dir = open_home(home, &address, err);
    if (dir < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int code = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address), cause = errno;
    close(dir);
    if (code == 0)
        return fd;
    *absent = cause == ENOENT || cause == ECONNREFUSED || cause == ENOTDIR;
    if (cause == EACCES && lstat(home->socket, &st) == 0 && st.st_uid != geteuid())
        error_set(err, STATUS_FAILED, "%s: the daemon serves user %u and root, not user %u", home->socket,
                  (unsigned)st.st_uid, (unsigned)geteuid());
    else
        error_errno(err, STATUS_FAILED, cause, "%s: no daemon answers", home->socket);
    if (fd >= 0)
        close(fd);
    return -1;
}
