/* What this build calls itself, as recorded with every run. Static strings, never NULL. */
#ifndef TAPER_CORE_BASE_VERSION_H
#define TAPER_CORE_BASE_VERSION_H

const char *version_string(void);   /* "0.1.0" */
const char *version_revision(void); /* the git revision, "-dirty" appended when it was; "unknown" outside git */
const char *version_full(void);     /* "0.1.0 (REVISION)" */

#endif
