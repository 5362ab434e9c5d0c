/* The connection itself, for `taper query` alone, which runs SQL that people bring. Everything else reads through
 * store.h and store_rows.h; tests/rooms.sh holds to that. */
#ifndef TAPER_HARNESS_STORE_STORE_CONNECTION_H
#define TAPER_HARNESS_STORE_STORE_CONNECTION_H

#include <sqlite3.h>

#include "harness/store/store.h"

/* Never write through it. */
sqlite3 *store_connection(struct store *s);

#endif
