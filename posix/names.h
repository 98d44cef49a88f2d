/* Which files are taken, by name. */
#ifndef TAMIO_POSIX_NAMES_H
#define TAMIO_POSIX_NAMES_H

/*
 * Whether a name matches one of the shell patterns of TAMIO_POSIX (separated by ':'), by itself
 * made absolute, or by its last component. In a pattern, `*` also matches slashes.
 */
int names_match(const char *name);

/* The real path of a descriptor, to be freed; NULL if it has none. */
char *names_of_descriptor(int fd);

/* The real path of a name that exists, or of what it is a symbolic link to; to be freed; NULL. */
char *names_of_path(int dir, const char *name, int follow);

#endif
