#include "harness/store/intake_columns.h"

#include <stddef.h>

#define ROW(name, type)       {#name, VALUE_##type},
#define NAME(name, type)      ", " #name
#define PARAMETER(name, type) ", ?"

static const struct column steps[] = {STEP_COLUMNS(ROW){NULL, 0}};
static const struct column sites[] = {SITE_COLUMNS(ROW){NULL, 0}};
static const struct column evals[] = {EVAL_COLUMNS(ROW){NULL, 0}};
static const struct column benches[] = {BENCH_COLUMNS(ROW){NULL, 0}};

const struct intake_table intake_steps = {
    "step", steps, 2, "INSERT OR REPLACE INTO step (run" STEP_COLUMNS(NAME) ") VALUES (?1" STEP_COLUMNS(PARAMETER) ")"};
const struct intake_table intake_sites = {
    "site_step", sites, 3,
    "INSERT OR REPLACE INTO site_step (run, step" SITE_COLUMNS(NAME) ") VALUES (?1, ?2" SITE_COLUMNS(PARAMETER) ")"};
const struct intake_table intake_evals = {
    "eval", evals, 2, "INSERT OR REPLACE INTO eval (run" EVAL_COLUMNS(NAME) ") VALUES (?1" EVAL_COLUMNS(PARAMETER) ")"};
const struct intake_table intake_benches = {
    "bench", benches, 2,
    "INSERT OR REPLACE INTO bench (run" BENCH_COLUMNS(NAME) ") VALUES (?1" BENCH_COLUMNS(PARAMETER) ")"};
