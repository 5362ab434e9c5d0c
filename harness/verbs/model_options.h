/* Options that the verbs on a trained model share. */
#ifndef TAPER_HARNESS_VERBS_MODEL_OPTIONS_H
#define TAPER_HARNESS_VERBS_MODEL_OPTIONS_H

#include "core/decode/decoder.h"
#include "core/train/journal.h"
#include "core/trained/loaded_model.h"

/* "fp32" or "bf16"; NULL leaves *out alone. */
int model_option_weights(const char *text, enum decoder_weights *out, struct error *err);

/* "cpu" or "cuda"; NULL leaves *out alone. */
int model_option_device(const char *text, enum load_device *out, struct error *err);

/* 1 to 1024; NULL leaves *out alone. */
int model_option_threads(const char *text, int *out, struct error *err);

/* Append one line to a run's journal, as of its latest attempt. The reference is taken. */
int model_journal_line(const char *path, const char *table, json_t *object, struct error *err);

#endif
