/* ad_lustre_pipe: group locks. */

#include "ad_lustre_pipe.h"
#include "port/log.h"

int ADIOI_LUSTRE_PIPE_Group_lock(ADIO_File fd, int group, char *why)
{
    const ADIOI_LUSTRE_PIPE_Api *api;
    ADIOI_LUSTRE_PIPE_Callback before;
    int rc;

    if (!fd->is_open || !ADIOI_LUSTRE_PIPE_Is_lustre(fd->fd_sys)) {
        snprintf(why, ADIOI_LUSTRE_PIPE_REASON, "it is not on Lustre");
        return -ENOTSUP;
    }
    api = ADIOI_LUSTRE_PIPE_Api_of(fd, why);
    if (api == NULL)
        return -ENOSYS;
    before = ADIOI_LUSTRE_PIPE_Hush(api);
    rc = api->group_lock(fd->fd_sys, group);
    ADIOI_LUSTRE_PIPE_Unhush(api, before);
    if (rc != 0)
        snprintf(why, ADIOI_LUSTRE_PIPE_REASON, "llapi_group_lock: %s", strerror(-rc));
    return rc;
}

void ADIOI_LUSTRE_PIPE_Group_unlock(ADIO_File fd, int group)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);
    ADIOI_LUSTRE_PIPE_Callback before = ADIOI_LUSTRE_PIPE_Hush(&file->api);
    int rc = file->api.group_unlock(fd->fd_sys, group);

    ADIOI_LUSTRE_PIPE_Unhush(&file->api, before);
    if (rc != 0 && !file->complained)
        cio_log(CIO_LOG_NOTICE, "file %s: its group lock is kept until it is closed: "
                "llapi_group_unlock: %s", fd->filename, strerror(-rc));
    file->complained |= rc != 0;
}
