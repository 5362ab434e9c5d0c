/* Many faults in one error, a line each, so that a wrong file is understood in one go. */
#ifndef TAPER_CORE_BASE_FAULTS_H
#define TAPER_CORE_BASE_FAULTS_H

#include "core/base/error.h"

/* Zero it but for err. When the error has no more room the rest is counted. */
struct faults {
    struct error *err; /* NULL drops the text */
    int count, hidden;
};

void faults_add(struct faults *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* STATUS_OK without faults, else STATUS_BAD_INPUT. */
int faults_end(struct faults *f);

#endif
