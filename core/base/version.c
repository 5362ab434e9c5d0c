#include "core/base/version.h"

const char *version_string(void)
{
    return TAPER_VERSION;
}

const char *version_revision(void)
{
    return TAPER_REVISION;
}

const char *version_full(void)
{
    return TAPER_VERSION " (" TAPER_REVISION ")";
}
