/* GPUs that are given no more runs until somebody takes them back: what a restart must not forget. When one is set
 * aside is the scheduler's to say (harness/queue/scheduler_devices.c). */
#ifndef TAPER_HARNESS_STORE_STORE_DEVICE_H
#define TAPER_HARNESS_STORE_STORE_DEVICE_H

#include "harness/store/store.h"

enum { STORE_DEVICE = 96 }; /* room for a GPU's id */

/* Set it aside, and why, now; *since is that (UTC us). An event says so. One that is aside already stays as it is. */
int store_device_set_aside(struct store *s, const char *device, const char *why, int64_t *since, struct error *err);

/* Take it back, by its id or the start of one: the whole id goes into `device` (room bytes). An event says so.
 * STATUS_BAD_INPUT, with those that are aside, when the word means none or several of them. */
int store_device_use(struct store *s, const char *word, char *device, size_t room, struct error *err);

/* Called for each one that is aside, by id; the texts are borrowed, and the store must not be changed meanwhile. */
typedef void store_aside_each(void *arg, const char *device, const char *why, int64_t since);
int store_devices_aside(struct store *s, store_aside_each *each, void *arg, struct error *err);

#endif
