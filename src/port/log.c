/* The logger: one write for each line, so that lines of several ranks do not mix. */
#include "port/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum cio_log_level wanted(void)
{
    const char *value = getenv("TAMIO_LOG");

    if (value != NULL && strcmp(value, "quiet") == 0)
        return 0;
    return value != NULL && strcmp(value, "debug") == 0 ? CIO_LOG_DEBUG : CIO_LOG_NOTICE;
}

void cio_log(enum cio_log_level level, const char *format, ...)
{
    char text[1400];
    va_list args;

    if (level > wanted())
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "tamio: %s\n", text);
}
