/*
 * The one logger. Notices go to standard error as "tamio: ..."; the environment variable TAMIO_LOG
 * chooses how much is said: "quiet", "notice" (default) or "debug".
 */
#ifndef CIO_PORT_LOG_H
#define CIO_PORT_LOG_H

enum cio_log_level { CIO_LOG_NOTICE = 1, CIO_LOG_DEBUG = 2 };

void cio_log(enum cio_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
