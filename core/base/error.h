/* Errors: a negative status returned, and an object that collects the context on the way out.
 *
 * A function that can fail takes `struct error *err` last and returns a status. The innermost failure calls
 * error_set(); each caller that knows more calls error_wrap(), so that the text reads from the outside in:
 * "run 17: load w.safetensors: tensor blocks.0.attn.qkv.weight: want 4096 bytes, got 512".
 * The caller owns the object; it holds no heap memory and needs no release. Passing NULL drops the text. */
#ifndef TAPER_CORE_BASE_ERROR_H
#define TAPER_CORE_BASE_ERROR_H

enum status {
    STATUS_OK = 0,
    STATUS_FAILED = -1,    /* the machine or the run failed: exit status 1 */
    STATUS_BAD_INPUT = -2, /* a file, key or argument is wrong: exit status 2 */
    STATUS_STOPPED = -3,   /* asked to stop, state saved: exit status 3 */
    STATUS_DIVERGED = -4,  /* a training was not finite, and would be so again: exit status 4 */
    STATUS_MEMORY = -5,    /* the host's or a GPU's memory ran out: exit status 5 */
    STATUS_DISK = -6,      /* a file cannot be written, it is full or broken: exit status 6 */
    STATUS_PAUSED = -7,    /* trained up to the step that was asked for, state saved: exit status 7 */
};

struct error {
    int status;      /* the first status set; STATUS_OK when nothing failed */
    char text[8192]; /* one or more lines, no newline at the end */
};

/* Set status and text (printf-style). Returns status, so that `return error_set(err, ...)` reads well. */
int error_set(struct error *err, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* error_set with ": " and the text of errno (as errno_value) appended. Where status is STATUS_FAILED and errno says
 * that memory or the disk was at fault, it is STATUS_MEMORY or STATUS_DISK. */
int error_errno(struct error *err, int status, int errno_value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Add a fault to those already there, on a line of its own. Returns the status first set. */
int error_add(struct error *err, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Put "context: " before the text. Returns the status already there (STATUS_FAILED when none is). */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The process exit status for a status: 0 to 6. */
int error_exit_code(int status);

#endif
