#include "core/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"

static int take(const char *path, int flags, int *lock, struct error *err)
{
    *lock = open(path, flags | O_CLOEXEC, 0666);
    if (*lock < 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot open", path);
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return STATUS_OK;
    int why = errno;
    close(*lock);
    *lock = -1;
    return why == EWOULDBLOCK ? error_set(err, STATUS_STOPPED, "%s: another process has the lock", path)
                              : error_errno(err, STATUS_FAILED, why, "%s: cannot lock", path);
}

int rundir_lock(const char *dir, int *lock, struct error *err)
{
    int status = take(dir, O_RDONLY | O_DIRECTORY, lock, err);
    if (status == STATUS_OK || status == STATUS_STOPPED)
        return status;
    /* On NFS a lock is one for writing, which a directory cannot be opened for. */
    char *path = file_join(dir, RUNDIR_LOCK);
    status = take(path, O_RDWR | O_CREAT, lock, err);
    free(path);
    return status;
}
