/*
 * Records for TAMIO_POSIX_STATS ("stderr" or a path): one line of JSON (tcio/report.h) for each
 * time that a process closes a file, and one for each process at the end. Counts of transfers to
 * and from the file are of the process, for all files, until then.
 */
#ifndef TAMIO_POSIX_STATS_H
#define TAMIO_POSIX_STATS_H

#include "tcio/space.h"

/* `why`: passed through from here on; or NULL. */
void stats_file(const char *key, const struct cio_tcio *f, const char *why);

void stats_end(void);

#endif
