#include "harness/base/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { WIDTH = 118, USAGE_INDENT = 7 };

/* Words after one another, in lines of WIDTH that begin at `indent`; at: the column that is reached. */
static void put_word(FILE *out, const char *word, size_t length, int indent, int *at)
{
    if (*at > indent && *at + 1 + (int)length > WIDTH) {
        fprintf(out, "\n%*s", indent, "");
        *at = indent;
    } else if (*at > indent) {
        fputc(' ', out);
        ++*at;
    }
    fwrite(word, 1, length, out);
    *at += (int)length;
}

char *command_usage_text(const struct command *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int at = fprintf(out, "usage: taper %s", command->name);
    if (command->operands[0])
        put_word(out, command->operands, strlen(command->operands), USAGE_INDENT, &at);
    for (const struct option_row *r = command->options; r && r->name; r++) {
        char *word = memory_format("[--%s%s%s]", r->name, r->value ? " " : "", r->value ? r->value : "");
        put_word(out, word, strlen(word), USAGE_INDENT, &at);
        free(word);
    }
    fclose(out);
    return text;
}

/* "  -f, --format FORMAT" */
static char *option_head(const struct option_row *r, bool letters)
{
    char letter[8] = "";
    if (letters)
        snprintf(letter, sizeof letter, r->letter ? "-%c, " : "    ", r->letter);
    return memory_format("  %s--%s%s%s", letter, r->name, r->value ? " " : "", r->value ? r->value : "");
}

static void print_options(const struct option_row *rows, FILE *out)
{
    bool letters = false;
    int column = 0;
    for (const struct option_row *r = rows; r->name; r++)
        letters |= r->letter != 0;
    for (const struct option_row *r = rows; r->name; r++) {
        char *head = option_head(r, letters);
        column = (int)strlen(head) > column ? (int)strlen(head) : column;
        free(head);
    }
    column = (column < 30 ? column : 30) + 2;
    for (const struct option_row *r = rows; r->name; r++) {
        char *head = option_head(r, letters);
        int at = column;
        fprintf(out, (int)strlen(head) + 2 > column ? "%s\n%*s" : "%s%*s", head,
                (int)strlen(head) + 2 > column ? column : column - (int)strlen(head), "");
        for (const char *word = r->help; *word; word += strspn(word, " ")) {
            size_t length = strcspn(word, " ");
            put_word(out, word, length, column, &at);
            word += length;
        }
        fputc('\n', out);
        free(head);
    }
}

void command_print_help(const struct command *command, FILE *out)
{
    char *usage = command_usage_text(command);
    fprintf(out, "%s\n\n%s\n", usage, command->brief);
    free(usage);
    if (command->about)
        fprintf(out, "\n%s", command->about);
    if (command->list) {
        fputc('\n', out);
        command->list(out);
    }
    if (command->options) {
        fputc('\n', out);
        print_options(command->options, out);
    }
    if (command->notes)
        fprintf(out, "\n%s", command->notes);
}

int command_usage(const struct command *command, struct error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *usage = command_usage_text(command);
    int status = error_set(err, STATUS_BAD_INPUT, "%s: %s\n%s\n'taper help %s' says more", command->name, text, usage,
                           command->name);
    free(usage);
    return status;
}
