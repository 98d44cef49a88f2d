/* ad_lustre_pipe: liblustreapi, loaded at run time. */

#include "ad_lustre_pipe.h"

#include <dlfcn.h>
#include <sys/vfs.h>

#define LUSTRE_MAGIC 0x0BD00BD0

#define FUNCTION(name) { "llapi_" #name, offsetof(ADIOI_LUSTRE_PIPE_Api, name) }

typedef struct {
    const char *name;
    size_t field;
} function;

static const function functions[] = {
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
}, optional_functions[] = {
    FUNCTION(lov_get_uuids),
    FUNCTION(get_obd_count),
    FUNCTION(error_callback_set)
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

/* Whether the library has it. */
static int find(ADIOI_LUSTRE_PIPE_Api * api, const function * f)
{
    void *address = dlsym(api->library, f->name);

    memcpy((char *) api + f->field, &address, sizeof(address));
    return address != NULL;
}

/* Fills in the table; NULL, or the function that is missing. */
static const char *find_functions(ADIOI_LUSTRE_PIPE_Api * api)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (!find(api, &functions[i]))
            return functions[i].name;
    for (size_t i = 0; i < sizeof(optional_functions) / sizeof(optional_functions[0]); i++)
        find(api, &optional_functions[i]);
    return NULL;
}

static int load(ADIOI_LUSTRE_PIPE_Api * api, char *why)
{
    const char *missing;

    api->library = open_library();
    if (api->library == NULL) {
        snprintf(why, ADIOI_LUSTRE_PIPE_REASON, "cannot load liblustreapi: %s", dlerror());
        return -ENOENT;
    }
    missing = find_functions(api);
    if (missing == NULL)
        return 0;
    snprintf(why, ADIOI_LUSTRE_PIPE_REASON, "liblustreapi has no %s", missing);
    dlclose(api->library);
    api->library = NULL;
    return -ENOSYS;
}

const ADIOI_LUSTRE_PIPE_Api *ADIOI_LUSTRE_PIPE_Api_of(ADIO_File fd, char *why)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);

    if (file->api.library == NULL && !file->refused)
        file->refused = load(&file->api, file->refusal) != 0;
    if (!file->refused)
        return &file->api;
    memcpy(why, file->refusal, ADIOI_LUSTRE_PIPE_REASON);
    return NULL;
}

static void say_nothing(unsigned level, int error, const char *format, va_list args)
{
    (void) level;
    (void) error;
    (void) format;
    (void) args;
}

ADIOI_LUSTRE_PIPE_Callback ADIOI_LUSTRE_PIPE_Hush(const ADIOI_LUSTRE_PIPE_Api * api)
{
    return api->error_callback_set != NULL ? api->error_callback_set(say_nothing) : NULL;
}

void ADIOI_LUSTRE_PIPE_Unhush(const ADIOI_LUSTRE_PIPE_Api * api, ADIOI_LUSTRE_PIPE_Callback before)
{
    if (api->error_callback_set != NULL)
        api->error_callback_set(before);
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

char *ADIOI_LUSTRE_PIPE_Folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder;

    if (slash == NULL)
        return ADIOI_Strdup(".");
    folder = ADIOI_Strdup(path);
    folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

int ADIOI_LUSTRE_PIPE_Is_lustre_folder(const char *path)
{
    char *folder = ADIOI_LUSTRE_PIPE_Folder(path);
    struct statfs fs;
    int rc = statfs(folder, &fs);

    ADIOI_Free(folder);
    return is_assumed() || (rc == 0 && fs.f_type == LUSTRE_MAGIC);
}
