/* What text.c and text_lines.c share; nobody else includes it. */
#ifndef TAPER_CORE_DATA_TEXT_INTERNAL_H
#define TAPER_CORE_DATA_TEXT_INTERNAL_H

#include "core/base/file.h"
#include "core/data/text.h"

void text_add_document(struct text *text, const unsigned char *bytes, size_t length);

/* Free this with the text. */
void text_keep(struct text *text, void *memory);

/* A document for each line of a file of JSON objects: its field. */
int text_cut_lines(struct text *text, const char *path, const struct file_map *map, const char *field,
                   struct error *err);

#endif
