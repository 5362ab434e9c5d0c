/* What a language model can learn from the corpus: words from the words before them, and late facts from early ones. */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/data/corpus/corpus.h"
#include "core/data/corpus/corpus_grammar.h"
#include "core/base/memory.h"

enum { TRAIN = 4000, HELD_OUT = 400, SLOTS = 1 << 22, MOST_WORDS = 1 << 14 };

/* Words by number: letters in a row, or one other character. */
struct vocabulary {
    char words[MOST_WORDS][24];
    int count, slots[4 * MOST_WORDS];
};

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
}

static int word_number(struct vocabulary *v, const char *text, size_t length)
{
    uint64_t h = 1;
    for (size_t i = 0; i < length; i++)
        h = mix(h + (unsigned char)text[i]);
    assert_true(length < sizeof v->words[0]);
    size_t slot = h % (4 * MOST_WORDS);
    for (; v->slots[slot]; slot = (slot + 1) % (4 * MOST_WORDS)) {
        const char *word = v->words[v->slots[slot] - 1];
        if (strlen(word) == length && !memcmp(word, text, length))
            return v->slots[slot] - 1;
    }
    assert_true(v->count < MOST_WORDS);
    memcpy(v->words[v->count], text, length);
    v->slots[slot] = ++v->count;
    return v->count - 1;
}

static size_t read_words(struct vocabulary *v, uint64_t index, int *out)
{
    char story[CORPUS_STORY_MAX];
    size_t length = corpus_story(2, index, story, sizeof story), count = 0;
    for (size_t i = 0; i < length;) {
        size_t n = 0;
        while (i + n < length && (isalpha((unsigned char)story[i + n]) || story[i + n] == '\''))
            n++;
        n += n == 0;
        if (story[i] != ' ')
            out[count++] = word_number(v, story + i, n);
        i += n;
    }
    return count;
}

/* Counts of word sequences of length 1 to 3 in one table, keyed by a hash of the sequence (collisions are too few to
 * matter), and for each context how often it and how many different words after it were seen. */
struct counts {
    uint64_t *keys;
    float *seen, *followers;
};

static size_t find_slot(struct counts *c, uint64_t key)
{
    size_t slot = key % SLOTS;
    while (c->keys[slot] && c->keys[slot] != key)
        slot = (slot + 1) % SLOTS;
    c->keys[slot] = key;
    return slot;
}

/* The key of the `order` words before words[i]. */
static uint64_t context_key(const int *words, size_t i, int order)
{
    uint64_t key = mix((uint64_t)order + 77);
    for (int k = 1; k <= order; k++)
        key = mix(key + (uint64_t)words[i - (size_t)k] + 1);
    return key | 1;
}

static void count_words(struct counts *c, const int *words, size_t count, int orders)
{
    for (size_t i = 0; i < count; i++)
        for (int order = 0; order <= orders && (size_t)order <= i; order++) {
            uint64_t context = context_key(words, i, order);
            size_t slot = find_slot(c, mix(context + 3 * (uint64_t)words[i] + 5) | 1);
            size_t above = find_slot(c, context);
            c->followers[above] += c->seen[slot] == 0;
            c->seen[above]++;
            c->seen[slot]++;
        }
}

/* Witten-Bell: P(w|context) = (n(context w) + followers * P(w|shorter context)) / (n(context) + followers). */
static double probability(struct counts *c, const int *words, size_t i, int orders)
{
    double p = 1.0 / MOST_WORDS;
    for (int order = 0; order <= orders && (size_t)order <= i; order++) {
        uint64_t context = context_key(words, i, order);
        size_t above = find_slot(c, context), slot = find_slot(c, mix(context + 3 * (uint64_t)words[i] + 5) | 1);
        double total = (double)c->seen[above] + (double)c->followers[above];
        if (total > 0)
            p = ((double)c->seen[slot] + (double)c->followers[above] * p) / total;
    }
    return p;
}

/* Bits a word on stories that were not counted. */
static double cross_entropy(struct counts *c, struct vocabulary *v, int orders)
{
    int words[CORPUS_STORY_MAX];
    double bits = 0, total = 0;
    for (uint64_t s = 0; s < HELD_OUT; s++) {
        size_t count = read_words(v, TRAIN + s, words);
        for (size_t i = 0; i < count; i++)
            bits -= log2(probability(c, words, i, orders));
        total += (double)count;
    }
    return bits / total;
}

static void test_words_depend_on_the_words_before(void **state)
{
    (void)state;
    struct vocabulary *v = memory_alloc(1, sizeof *v);
    struct counts c = {memory_alloc(SLOTS, 8), memory_alloc(SLOTS, sizeof(float)), memory_alloc(SLOTS, sizeof(float))};
    int words[CORPUS_STORY_MAX];
    for (uint64_t s = 0; s < TRAIN; s++)
        count_words(&c, words, read_words(v, s, words), 2);
    double one = cross_entropy(&c, v, 0), two = cross_entropy(&c, v, 1), three = cross_entropy(&c, v, 2);
    double put_in = 0, n = 0;
    for (uint64_t s = 0; s < HELD_OUT; s++) {
        put_in += corpus_story_bits(2, TRAIN + s);
        n += (double)read_words(v, TRAIN + s, words);
    }
    print_message("# %d words; bits a word: unigram %.2f, bigram %.2f, trigram %.2f; put in at most %.2f\n", v->count,
                  one, two, three, put_in / n);
    assert_true(v->count > 6000);
    assert_true(one > 7.5);
    assert_true(two < 0.7 * one);
    assert_true(three < 0.85 * two);
    assert_true(three > 1.3 * put_in / n); /* longer context still has something to give */
    assert_true(put_in / n > 0.5);         /* and the text is not a handful of templates */
    free(v);
    free(c.keys);
    free(c.seen);
    free(c.followers);
}

enum { WAYS = 128, PAIRED = 10000 };

/* The words of a list: the first field of its records. */
struct words {
    const char *text[WAYS];
    size_t length[WAYS];
    int count;
};

static const char *const *records_of(const char *list)
{
    for (const char *const *const *table = corpus_tables; *table; table++)
        for (const char *const *line = *table; *line; line++)
            if (!strncmp(*line, list, strlen(list)))
                return line + 1;
    fail_msg("no list %s", list);
    return NULL;
}

static struct words words_of(const char *list)
{
    const char *const *records = records_of(list);
    struct words w = {.count = 0};
    for (; *records && **records != '@'; records++, w.count++) {
        assert_true(w.count < WAYS);
        w.text[w.count] = *records;
        w.length[w.count] = strcspn(*records, "|");
    }
    return w;
}

/* Which of the words comes first (or last) in [begin, end), -1 when none does. */
static int find_word(const struct words *w, const char *begin, const char *end, bool final)
{
    int found = -1;
    for (const char *c = begin; c < end; c++) {
        if (!isalpha((unsigned char)*c) || (c > begin && isalpha((unsigned char)c[-1])))
            continue;
        for (int i = 0; i < w->count; i++) {
            size_t length = w->length[i];
            if (*c == w->text[i][0] && length < (size_t)(end - c) && !memcmp(c, w->text[i], length) &&
                !isalpha((unsigned char)c[length])) {
                found = i;
                break;
            }
        }
        if (found >= 0 && !final)
            break;
    }
    return found;
}

/* The mutual information, in bits, of early[i] and late[i + shift]. */
static double mutual_information(const int *early, const int *late, int shift)
{
    static double joint[WAYS][WAYS];
    double x_count[WAYS] = {0}, y_count[WAYS] = {0}, total = 0, bits = 0;
    memset(joint, 0, sizeof joint);
    for (int i = 0; i + shift < PAIRED; i++) {
        int x = early[i], y = late[i + shift];
        if (x < 0 || y < 0)
            continue;
        joint[x][y]++;
        x_count[x]++;
        y_count[y]++;
        total++;
    }
    assert_true(total > PAIRED / 40);
    for (int x = 0; x < WAYS; x++)
        for (int y = 0; y < WAYS; y++)
            if (joint[x][y] > 0)
                bits += joint[x][y] / total * log2(joint[x][y] * total / (x_count[x] * y_count[y]));
    return bits;
}

/* The first word of a list in a story's first half tells much about the last one in its second half. Halves of two
 * stories show how much of that comes from counting too few. */
static void test_late_words_depend_on_early_ones(void **state)
{
    (void)state;
    enum { LISTS = 5 };
    static const char *const names[LISTS] = {"@color ", "@toy ", "@fruit ", "@animal ", "@place "};
    static int early[LISTS][PAIRED], late[LISTS][PAIRED];
    struct words lists[LISTS];
    for (int k = 0; k < LISTS; k++)
        lists[k] = words_of(names[k]);
    for (int i = 0; i < PAIRED; i++) {
        char story[CORPUS_STORY_MAX];
        size_t length = corpus_story(3, (uint64_t)i, story, sizeof story);
        for (int k = 0; k < LISTS; k++) {
            early[k][i] = find_word(&lists[k], story, story + length / 2, false);
            late[k][i] = find_word(&lists[k], story + length / 2, story + length, true);
        }
    }
    for (int k = 0; k < LISTS; k++) {
        double same = mutual_information(early[k], late[k], 0), other = mutual_information(early[k], late[k], 1);
        print_message("# %s: early and late in a story share %.2f bits; in two stories %.2f\n", names[k] + 1, same,
                      other);
        assert_true(same > other + 0.4);
    }
}

static bool has_name(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if (!isalpha((unsigned char)at[length]))
            return true;
    return false;
}

/* Nobody new turns up in the last paragraph, and most often it names somebody from the first. */
static void test_names_stay(void **state)
{
    (void)state;
    const char *const *records = records_of("@child ");
    int stories = 3000, kept = 0;
    for (int i = 0; i < stories; i++) {
        char story[CORPUS_STORY_MAX + 1];
        story[corpus_story(6, (uint64_t)i, story, CORPUS_STORY_MAX) - strlen(CORPUS_SEPARATOR)] = '\0';
        char *first = strstr(story, "\n\n"), *final = first;
        for (char *next = first; next; next = strstr(next + 2, "\n\n"))
            final = next;
        assert_non_null(first);
        *first = *final = '\0';
        bool same = false;
        for (int r = 0; records[r] && records[r][0] != '@'; r++) {
            char name[32];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(records[r], "|"), records[r]);
            if (!has_name(final + 1, name))
                continue;
            same = same || has_name(story, name);
            if (!has_name(story, name) && !has_name(first + 1, name))
                fail_msg("%s only in the last paragraph: %s", name, final + 1);
        }
        kept += same;
    }
    print_message("# the last paragraph names somebody from the first in %.1f%% of stories\n", 100.0 * kept / stories);
    assert_true(kept > stories * 8 / 10);
}

static int number_at(const char *text)
{
    static const char *const numbers[] = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                          "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    for (int i = 0; i <= 12; i++)
        if (!strncasecmp(text, numbers[i], strlen(numbers[i])) && !isalpha((unsigned char)text[strlen(numbers[i])]))
            return i;
    return -1;
}

/* The number written after `phrase`, -1 when it is not in the text. */
static int number_after(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);
    return at ? number_at(at + strlen(phrase)) : -1;
}

/* Seeds sown = seeds taken + seeds left, and as many plants as seeds left; coins had = price + coins left. */
static void test_sums_come_out(void **state)
{
    (void)state;
    int seeds = 0, coins = 0;
    for (uint64_t i = 0; i < 6000; i++) {
        char story[CORPUS_STORY_MAX + 1];
        story[corpus_story(8, i, story, CORPUS_STORY_MAX)] = '\0';
        int sown = number_after(story, "There had been "), left = number_after(story, " had only "), taken = -1;
        left = left < 0 ? number_after(story, " had just ") : left;
        static const char *const ways[] = {" and ate ", " and washed ", " and munched ", " and gobbled ", " and took "};
        if (sown >= 0) {
            for (size_t k = 0; k < sizeof ways / sizeof ways[0] && taken < 0; k++)
                taken = number_after(story, ways[k]);
            if (taken < 1 || left < 1 || sown != taken + left)
                fail_msg("%d = %d + %d? %s", sown, taken, left, story);
            int plants = number_after(story, "at the end of summer there stood ");
            plants = plants < 0 ? number_after(story, "at the end of summer there were ") : plants;
            if (plants != left)
                fail_msg("%d plants of %d? %s", plants, left, story);
            seeds++;
        }
        int price = number_after(story, "costs ");
        const char *rest = strstr(story, "You have ");
        if (rest && strstr(rest, " left,\"") && price > 0) {
            const char *purse = strstr(story, " coins in a");
            while (purse && purse > story && purse[-1] != ' ')
                purse--;
            assert_non_null(purse);
            if (number_at(purse) != price + number_at(rest + strlen("You have ")))
                fail_msg("coins? %s", story);
            coins++;
        }
    }
    print_message("# sums in %d stories of seeds and %d of coins\n", seeds, coins);
    assert_true(seeds > 100 && coins > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_depend_on_the_words_before),
        cmocka_unit_test(test_late_words_depend_on_early_ones),
        cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_sums_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
