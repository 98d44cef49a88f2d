/* ad_lustre_pipe: liblustreapi, loaded at run time. */

#include "ad_lustre_pipe.h"
#include "port/log.h"

#include <dlfcn.h>
#include <sys/vfs.h>

#define LUSTRE_MAGIC 0x0BD00BD0

#define FUNCTION(name) { "llapi_" #name, offsetof(ADIOI_LUSTRE_PIPE_Api, name) }

static const struct {
    const char *name;
    size_t field;
} functions[] = {
    FUNCTION(layout_alloc),
    FUNCTION(layout_get_by_fd),
    FUNCTION(layout_free),
    FUNCTION(layout_mirror_count_get),
    FUNCTION(layout_comp_use),
    FUNCTION(layout_comp_extent_get),
    FUNCTION(layout_comp_flags_get),
    FUNCTION(layout_pattern_get),
    FUNCTION(layout_pattern_set),
    FUNCTION(layout_stripe_size_get),
    FUNCTION(layout_stripe_size_set),
    FUNCTION(layout_stripe_count_get),
    FUNCTION(layout_stripe_count_set),
    FUNCTION(layout_ost_index_get),
    FUNCTION(layout_ost_index_set),
    FUNCTION(layout_file_create),
    FUNCTION(group_lock),
    FUNCTION(group_unlock)
};

ADIOI_LUSTRE_PIPE_File *ADIOI_LUSTRE_PIPE_File_of(ADIO_File fd)
{
    if (fd->fs_ptr == NULL)
        fd->fs_ptr = ADIOI_Calloc(1, sizeof(ADIOI_LUSTRE_PIPE_File));
    return fd->fs_ptr;
}

void ADIOI_LUSTRE_PIPE_Forget(ADIO_File fd)
{
    ADIOI_LUSTRE_PIPE_File *file = fd->fs_ptr;

    if (file == NULL)
        return;
    if (file->api.library != NULL)
        dlclose(file->api.library);
    ADIOI_Free(file);
    fd->fs_ptr = NULL;
}

static void *open_library(void)
{
    const char *given = getenv("TAMIO_LUSTREAPI");
    void *library;

    if (given != NULL && *given != '\0')
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    library = dlopen("liblustreapi.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? library : dlopen("liblustreapi.so", RTLD_NOW | RTLD_LOCAL);
}

/* Fills in the table; NULL, or the function that is missing. */
static const char *find_functions(ADIOI_LUSTRE_PIPE_Api * api)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *address = dlsym(api->library, functions[i].name);

        if (address == NULL)
            return functions[i].name;
        memcpy((char *) api + functions[i].field, &address, sizeof(address));
    }
    return NULL;
}

static int load(ADIO_File fd, ADIOI_LUSTRE_PIPE_Api * api, const char *purpose)
{
    const char *missing;

    api->library = open_library();
    if (api->library == NULL) {
        cio_log(CIO_LOG_NOTICE, "file %s: %s: cannot load liblustreapi: %s", fd->filename, purpose,
                dlerror());
        return -ENOENT;
    }
    missing = find_functions(api);
    if (missing == NULL)
        return 0;
    cio_log(CIO_LOG_NOTICE, "file %s: %s: liblustreapi has no %s", fd->filename, purpose, missing);
    dlclose(api->library);
    api->library = NULL;
    return -ENOSYS;
}

const ADIOI_LUSTRE_PIPE_Api *ADIOI_LUSTRE_PIPE_Api_of(ADIO_File fd, const char *purpose)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);

    if (file->api.library == NULL && !file->refused)
        file->refused = load(fd, &file->api, purpose) != 0;
    return file->refused ? NULL : &file->api;
}

static int is_assumed(void)
{
    const char *assume = getenv("TAMIO_LUSTRE_ASSUME");

    return assume != NULL && strcmp(assume, "1") == 0;
}

int ADIOI_LUSTRE_PIPE_Is_lustre(int descriptor)
{
    struct statfs fs;

    return is_assumed() || (fstatfs(descriptor, &fs) == 0 && fs.f_type == LUSTRE_MAGIC);
}

int ADIOI_LUSTRE_PIPE_Is_lustre_folder(const char *path)
{
    char *folder = ADIOI_Strdup(path), *slash = strrchr(folder, '/');
    struct statfs fs;
    int rc;

    if (slash != NULL)
        slash[slash == folder] = '\0';
    rc = statfs(slash != NULL ? folder : ".", &fs);
    ADIOI_Free(folder);
    return is_assumed() || (rc == 0 && fs.f_type == LUSTRE_MAGIC);
}
