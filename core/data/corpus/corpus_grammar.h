/* A small grammar for generated text: word lists and rules, compiled once, expanded with random choices.
 *
 * Source tables are NULL-terminated arrays of strings. "@toy name use" starts a list named toy whose records follow,
 * one a string, fields separated by '|'; in "@act name past=+ed" a record without that field has the first one's
 * regular past. "=lost" starts a rule whose alternatives follow, one a string. In these:
 *
 *   {toy} {toy.use}    field (the first by default) of a record of the list, drawn at the first mention and kept for
 *                      the rest of the story; {toy2}, {toy3}, {toy4} are other records; {toy*} is drawn each time. A
 *                      capital ({Toy}) capitalises.
 *   {he}               a short name of such a field; the table of them is in corpus_grammar.c.
 *   [a|b|c]            one of them, drawn each time.
 *   [key:a|b|c]        one of them, by a number drawn at the first mention of the key and kept for the rest of the
 *                      story. A key has as many alternatives wherever it is used.
 *   <rule>             an alternative of another rule. Rules cannot be recursive.
 *   newline            a new paragraph.
 *
 * "~big|large|huge" says that "big" in any rule, as a whole word, stands for one of the three, drawn each time.
 *
 * While writing, a space or paragraph break that doubles another part's is dropped, "a" becomes "an" (or the reverse)
 * where the next word wants it, and the first letter of a sentence or of quoted speech is made a capital. Not where
 * the sentence may go on: after '!"' or '?"', and in speech after a comma ('he said, "and now'). */
#ifndef TAPER_CORE_DATA_CORPUS_CORPUS_GRAMMAR_H
#define TAPER_CORE_DATA_CORPUS_CORPUS_GRAMMAR_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/rng.h"

struct corpus_grammar;

/* The tables of the built-in corpus, ended by NULL. Static. */
extern const char *const *const corpus_tables[];

/* Compile tables (kept by reference: they must outlive the grammar). NULL and STATUS_BAD_INPUT, with the rule and what
 * is wrong in it, when they do not compile. Rule "story" is where expansion starts. */
struct corpus_grammar *corpus_grammar_create(const char *const *const *tables, struct error *err);
void corpus_grammar_destroy(struct corpus_grammar *grammar);

/* An upper bound on the bytes of any expansion. */
size_t corpus_grammar_longest(const struct corpus_grammar *grammar);

/* Write one expansion, drawn from the stream, to out (room for corpus_grammar_longest bytes). Returns its bytes.
 * *ways is set to the product of the numbers of alternatives at each choice made. Attempts 0, 1 ... of a stream are
 * independent. Threads may share the grammar. */
size_t corpus_grammar_expand(const struct corpus_grammar *grammar, const struct rng_stream *stream, uint32_t attempt,
                             char *out, double *ways);

#endif
