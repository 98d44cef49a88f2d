/* ad_lustre_pipe: group locks. */

#include "ad_lustre_pipe.h"
#include "port/log.h"

#define LOCKING "it is written without a group lock"

int ADIOI_LUSTRE_PIPE_Group_lock(ADIO_File fd, int group)
{
    const ADIOI_LUSTRE_PIPE_Api *api;
    int rc;

    if (!fd->is_open || !ADIOI_LUSTRE_PIPE_Is_lustre(fd->fd_sys))
        return -ENOTSUP;
    api = ADIOI_LUSTRE_PIPE_Api_of(fd, LOCKING);
    if (api == NULL)
        return -ENOSYS;
    rc = api->group_lock(fd->fd_sys, group);
    if (rc == 0)
        return 0;
    cio_log(CIO_LOG_NOTICE, "file %s: %s: llapi_group_lock: %s", fd->filename, LOCKING,
            strerror(-rc));
    return rc;
}

void ADIOI_LUSTRE_PIPE_Group_unlock(ADIO_File fd, int group)
{
    const ADIOI_LUSTRE_PIPE_Api *api = ADIOI_LUSTRE_PIPE_Api_of(fd, LOCKING);
    int rc = api->group_unlock(fd->fd_sys, group);

    if (rc != 0)
        cio_log(CIO_LOG_NOTICE, "file %s: its group lock is kept until it is closed: "
                "llapi_group_unlock: %s", fd->filename, strerror(-rc));
}
