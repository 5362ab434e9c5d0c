/* taper data: corpora, tokenizers and token files. */
#include "harness/verbs/cmd_data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/parallel.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

#define SUBVERBS "corpus, tokenizer, encode, decode, text, fetch"

static const struct {
    const char *name;
    int (*exec)(int argc, char **argv, struct error *err);
} subverbs[] = {
    {"corpus", data_corpus}, {"tokenizer", data_tokenizer}, {"encode", data_encode},
    {"decode", data_decode}, {"text", data_text},           {"fetch", data_fetch},
};

static int data_exec(int argc, char **argv, struct error *err)
{
    if (argc < 2)
        return command_usage(&cmd_data, err, "wants one of " SUBVERBS);
    for (size_t i = 0; i < sizeof subverbs / sizeof subverbs[0]; i++)
        if (strcmp(subverbs[i].name, argv[1]) == 0)
            return subverbs[i].exec(argc - 1, argv + 1, err);
    return command_usage(&cmd_data, err, "no '%s'; wants one of " SUBVERBS, argv[1]);
}

int data_threads(const char *text, int *threads, struct error *err)
{
    long long value = parallel_processors();
    int status = text ? options_integer("--threads", text, 1, 256, &value, err) : STATUS_OK;
    *threads = (int)(value < 256 ? value : 256);
    return status;
}

static void draw(void *arg, const char *what, uint64_t done, uint64_t total)
{
    (void)arg;
    if (total)
        fprintf(stderr, "\r\033[K%s: %.0f %%", what, 100.0 * (double)done / (double)total);
    else
        fprintf(stderr, "\r\033[K%s: %.1f MB", what, (double)done / 1e6);
}

struct progress data_progress(void)
{
    return (struct progress){.report = isatty(STDERR_FILENO) ? draw : NULL};
}

void data_progress_end(const struct progress *progress)
{
    if (progress->report)
        fputs("\r\033[K", stderr);
}

static const struct option_row data_options[] = {
    {"size", 0, "SIZE", "corpus: how much"},
    {"seed", 0, "N", "corpus: another text (1)"},
    {"vocab", 0, "N", "tokenizer: entries of the vocabulary"},
    {"threads", 0, "N", "corpus, tokenizer, encode: how many threads (the processors there are)"},
    {"field", 0, "NAME", "tokenizer, encode, text: TEXT is JSON lines, and this field of each a document"},
    {"split", 0, "train|valid", "fetch: only this file"},
    {"url", 0, "BASE", "fetch: where the files are (or TAPER_TINYSTORIES_URL, TAPER_NOVELS_URL)"},
    {"sha256", 0, "SPLIT=HEX",
     "fetch: the file's SHA-256. Without it, the published one is asked of a set's own address, and anything that can "
     "be "
     "a text taken from another. The sum is recorded beside the file, and later uses are checked against that"},
    {0},
};

const struct command cmd_data = {
    .name = "data",
    .operands = "corpus|tokenizer|encode|decode|text|fetch ...",
    .brief = "make corpora, tokenizers and token files, fetch public text",
    .about = "  taper data corpus --size 10M [--seed 1] OUT  write the built-in corpus (short stories) of that "
             "size;\n"
             "                                               OUT may be - for standard output; a smaller size "
             "gives a beginning\n"
             "  taper data tokenizer --vocab N TEXT OUTDIR   train a byte-level BPE vocabulary of N tokens: the "
             "256 bytes,\n"
             "                                               <|endoftext|> and merges; writes vocab.json and "
             "merges.txt\n"
             "  taper data encode TOKENIZER TEXT OUT         write TEXT as a token file\n"
             "  taper data decode TOKENIZER TOKENS           write a token file's text to standard output, byte "
             "for byte\n"
             "  taper data text --field NAME JSONLINES OUT   write JSON lines as a text: that field of each a "
             "document\n"
             "  taper data fetch tinystories|novels          download the public text into the cache, or check "
             "what is there;\n"
             "                                               prints the paths. novels: Jane Austen's six, 4 MB, "
             "from Debian's\n"
             "                                               package r-cran-janeaustenr, where there is apt-get\n"
             "\n"
             "TEXT is a file or a directory of files; a line <|endoftext|> separates documents. TOKENIZER is a "
             "directory with\n"
             "GPT-2's vocab.json and merges.txt, or a tokenizer.json.\n",
    .options = data_options,
    .notes = "The cache is TAPER_CACHE, else $XDG_CACHE_HOME/taper, else ~/.cache/taper. An interrupted download "
             "continues.\n",
    .exec = data_exec,
};
