/* What programs find in place of the system's; everything else in the library is hidden. */
#ifndef TAMIO_POSIX_EXPORT_H
#define TAMIO_POSIX_EXPORT_H

#define EXPORT __attribute__((visibility("default")))
#define SAME_AS(name) EXPORT __attribute__((alias(#name)))

/* The code that called this function. */
#define CALLER __builtin_return_address(0)

#endif
