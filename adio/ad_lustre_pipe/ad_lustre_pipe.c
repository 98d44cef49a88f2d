/* ad_lustre_pipe: the function table. */

#include "ad_lustre_pipe.h"

struct ADIOI_Fns_struct ADIO_LUSTRE_PIPE_operations = {
    .ADIOI_xxx_Open = ADIOI_LUSTRE_PIPE_Open,
    .ADIOI_xxx_OpenColl = ADIOI_LUSTRE_PIPE_OpenColl,
    .ADIOI_xxx_ReadContig = ADIOI_GEN_ReadContig,
    .ADIOI_xxx_WriteContig = ADIOI_GEN_WriteContig,
    .ADIOI_xxx_ReadStridedColl = ADIOI_GEN_ReadStridedColl,
    .ADIOI_xxx_WriteStridedColl = ADIOI_GEN_WriteStridedColl,
    .ADIOI_xxx_SeekIndividual = ADIOI_GEN_SeekIndividual,
    .ADIOI_xxx_Fcntl = ADIOI_GEN_Fcntl,
    .ADIOI_xxx_SetInfo = ADIOI_GEN_SetInfo,
    .ADIOI_xxx_ReadStrided = ADIOI_GEN_ReadStrided,
    .ADIOI_xxx_WriteStrided = ADIOI_GEN_WriteStrided,
    .ADIOI_xxx_Close = ADIOI_LUSTRE_PIPE_Close,
#ifdef ROMIO_HAVE_WORKING_AIO
    .ADIOI_xxx_IreadContig = ADIOI_GEN_IreadContig,
    .ADIOI_xxx_IwriteContig = ADIOI_GEN_IwriteContig,
#else
    .ADIOI_xxx_IreadContig = ADIOI_FAKE_IreadContig,
    .ADIOI_xxx_IwriteContig = ADIOI_FAKE_IwriteContig,
#endif
    .ADIOI_xxx_ReadDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_WriteDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_ReadComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_WriteComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_IreadStrided = ADIOI_GEN_IreadStrided,
    .ADIOI_xxx_IwriteStrided = ADIOI_GEN_IwriteStrided,
    .ADIOI_xxx_Flush = ADIOI_GEN_Flush,
    .ADIOI_xxx_Resize = ADIOI_GEN_Resize,
    .ADIOI_xxx_Delete = ADIOI_GEN_Delete,
    .ADIOI_xxx_Feature = ADIOI_GEN_Feature,
    .fsname = "LUSTRE_PIPE: Lustre and other striped file systems",
    .ADIOI_xxx_IreadStridedColl = ADIOI_GEN_IreadStridedColl,
    .ADIOI_xxx_IwriteStridedColl = ADIOI_GEN_IwriteStridedColl,
    .ADIOI_xxx_SetLock = ADIOI_GEN_SetLock
};
