/* Slurm's commands, called without waiting for them: a bounded number at once, the others in the order they came, each
 * with a limit of time after which it is killed. A call that was killed may have been heeded all the same: it has not
 * answered, which is another thing than no. On the loop's thread. */
#ifndef TAPER_HARNESS_QUEUE_SLURM_CALLS_H
#define TAPER_HARNESS_QUEUE_SLURM_CALLS_H

#include <stdbool.h>

#include <uv.h>

enum { SLURM_CALLS_AT_ONCE = 4, SLURM_WORDS_MOST = 64 };

struct slurm_reply {
    bool answered;         /* it ended by itself; else it was killed, or could not be started */
    int code;              /* exit status; -1: a signal, or not answered */
    const char *out, *err; /* what it printed; live until the callback returns */
};

typedef void slurm_on_reply(void *arg, const struct slurm_reply *reply);

struct slurm_calls;

/* timeout: seconds for one call. */
struct slurm_calls *slurm_calls_create(uv_loop_t *loop, double timeout);

/* Kill what runs and forget the rest: no callback comes any more. The loop must run its closing callbacks after it. */
void slurm_calls_destroy(struct slurm_calls *c);

/* Begin a call; words (ending with NULL, at most SLURM_WORDS_MOST) are copied, the first is looked up in PATH. Exactly
 * one callback follows, from the loop. */
void slurm_call(struct slurm_calls *c, const char *const *words, slurm_on_reply *on_reply, void *arg);

/* The last line of what a call that failed printed, for people; `to` holds `room` bytes. Returns it. */
char *slurm_reply_text(const struct slurm_reply *reply, char *to, size_t room);

/* How many calls of a command were begun. */
int slurm_calls_count(const struct slurm_calls *c, const char *command);

#endif
