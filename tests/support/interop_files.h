/* Files for the tests of export and import. All fail the test when they fail. */
#ifndef TAPER_TESTS_SUPPORT_INTEROP_FILES_H
#define TAPER_TESTS_SUPPORT_INTEROP_FILES_H

#include "core/model/model.h"

/* The path of a golden folder, or with `file` of a file in it; the caller frees it. */
char *interop_golden(const char *name, const char *file);

void interop_copy_file(const char *from_folder, const char *to_folder, const char *name);

/* A checkpoint of the model as it stands, without an optimizer. */
void interop_write_model(const char *path, const struct model *m);

#endif
