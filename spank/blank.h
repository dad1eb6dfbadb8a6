/*
 * "--syscheck full", with a blank: the level of an option whose argument is optional has to stand
 * behind a "=", so Slurm takes the word for the script or the command. Pure: no Slurm.
 */
#ifndef SYSCHECK_BLANK_H
#define SYSCHECK_BLANK_H

#include <stdbool.h>
#include <stddef.h>

/* Room for any hint, its terminating NUL included. */
#define BLANK_HINT_SIZE 192

/*
 * The word right behind "--syscheck" in a command line, if it is a level as --syscheck=
 * takes it, and stands where it can be meant; else NULL. What is behind the script is its own.
 *
 *	line      the words, each with a NUL behind it, as in /proc/PID/cmdline
 *	size      bytes of it
 *	is_file   whether a word names a file that could be a script, or a command
 */
const char *blank_word(const char *line, size_t size, bool (*is_file)(const char *word));

/* One line, without a newline: what to write in place of a word that blank_word() has found. */
void blank_hint(char *out, size_t size, const char *word);

#endif
