/* The corpus "novels": Jane Austen's six, in the public domain, from Debian's package r-cran-janeaustenr (the texts of
 * Project Gutenberg as collected by J. Silge, MIT). Its chapters are the documents, its lines the novels' own. */
#ifndef TAPER_CORE_DATA_NOVELS_H
#define TAPER_CORE_DATA_NOVELS_H

#include "core/data/fetch_curl.h"

#define NOVELS_PACKAGE "r-cran-janeaustenr"

/* Download the package with apt-get, unpack it with dpkg-deb and write the novels to d->part, in which other files are
 * made on the way (d->part.apt/, removed). STATUS_FAILED with apt's words, or saying that this machine has no apt;
 * STATUS_BAD_INPUT when the package does not hold what it did. */
int novels_receive(struct fetch_download *d, struct error *err);

/* The text of the package's data file as a corpus: path "Rdata.rdb" -> a file with separator lines. */
int novels_write(const char *rdb, const char *to, struct error *err);

#endif
