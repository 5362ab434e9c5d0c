#include "harness/worker/worker_beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/base/process.h"

/* A worker's process: `taper worker ... --device NAME ...`. Its children before an exec have the same words. */
struct worker_process {
    pid_t pid, parent;
    char *device;
};

/* The device of a worker's process, on the heap; NULL: it is none. */
static char *device_of(pid_t pid)
{
    char path[64], *word = NULL, *device = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *in = fopen(path, "re");
    bool worker = in != NULL, next = false;
    for (int i = 0; worker && !device && getdelim(&word, &room, '\0', in) > 0; i++) {
        worker = i == 0 ? strcmp(word, "taper") == 0 : i > 1 || strcmp(word, "worker") == 0;
        if (next)
            device = memory_string(word);
        next = i > 1 && strcmp(word, "--device") == 0;
    }
    if (in)
        fclose(in);
    free(word);
    return device;
}

static const struct worker_process *find(const struct worker_process *workers, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (workers[i].pid == pid)
            return &workers[i];
    return NULL;
}

/* The worker above us; NULL: none is. */
static const struct worker_process *own(const struct worker_process *workers, size_t count)
{
    struct process_row row;
    for (pid_t pid = getpid(); pid > 1 && process_read(pid, &row) == 0; pid = row.parent)
        if (find(workers, count, row.parent))
            return find(workers, count, row.parent);
    return NULL;
}

int worker_beside(bool cpu)
{
    size_t all, count = 0;
    int others = 0;
    struct process_row *rows = process_list(&all);
    struct worker_process *workers = memory_alloc(all + 1, sizeof *workers);
    for (size_t i = 0; i < all; i++) {
        char *device = device_of(rows[i].pid);
        if (device)
            workers[count++] = (struct worker_process){rows[i].pid, rows[i].parent, device};
    }
    const struct worker_process *us = own(workers, count);
    for (size_t i = 0; i < count; i++) {
        const bool other = &workers[i] != us && !find(workers, count, workers[i].parent);
        const bool same =
            us ? strcmp(workers[i].device, us->device) == 0 : (strcmp(workers[i].device, "cpu") == 0) == cpu;
        others += other && same;
    }
    for (size_t i = 0; i < count; i++)
        free(workers[i].device);
    free(workers);
    free(rows);
    return others;
}
