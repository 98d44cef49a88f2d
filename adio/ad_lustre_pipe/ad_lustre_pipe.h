/*
 * ad_lustre_pipe: the driver below ad_tam for Lustre. It owns what is particular to striped file
 * systems; collective I/O is ad_tam's, which lies over it as over any other driver. File access is
 * the POSIX path.
 */

#ifndef AD_LUSTRE_PIPE_H_INCLUDED
#define AD_LUSTRE_PIPE_H_INCLUDED

#include "adio.h"

void ADIOI_LUSTRE_PIPE_Open(ADIO_File fd, int *error_code);

#endif /* AD_LUSTRE_PIPE_H_INCLUDED */
