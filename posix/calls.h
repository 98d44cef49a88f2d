/* What has to be done to the calls of programs before files are taken. */
#ifndef TAMIO_POSIX_CALLS_H
#define TAMIO_POSIX_CALLS_H

/* After MPI_Init. */
void calls_begin(void);

#endif
