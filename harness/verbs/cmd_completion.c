/* Completion scripts, made from the command table: verbs, and the options that their help lists. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/verbs/commands.h"
#include "harness/results/plot_figure.h"
#include "harness/results/table.h"

/* `valued`: the option takes a value, which the help names. */
typedef void each_option(const char *option, size_t length, bool valued, const char *text, size_t text_length);

/* Options stand at the beginning of a help line: "  -f, --follow ARG   what it does". */
static void for_each_option(const struct command *command, each_option *each)
{
    for (const char *line = command->help; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        size_t length = strcspn(line, "\n");
        const char *at = line + strspn(line, " ");
        if (at == line || *at != '-')
            continue;
        while (*at == '-') {
            size_t word = strcspn(at, " ,\n");
            const char *text = line + length;
            bool valued = false;
            for (const char *gap = at; gap + 1 < line + length; gap++) {
                valued = valued || (gap[0] == ' ' && gap[1] >= 'A' && gap[1] <= 'Z') || gap[1] == ':';
                if (gap[0] == ' ' && gap[1] == ' ') {
                    text = gap + strspn(gap, " ");
                    break;
                }
            }
            each(at, word, valued, text, (size_t)(line + length - text));
            at += word;
            at += *at == ',' ? 1 + strspn(at + 1, " ") : 0;
        }
    }
}

/* The words that a verb's first operand is one of; NULL ends them. */
static const char *word_at(const char *verb, int i)
{
    static const struct {
        const char *verb, *words[6];
    } fixed[] = {{"data", {"corpus", "tokenizer", "encode", "decode", "fetch"}},
                 {"debug", {"step", "train"}},
                 {"completion", {"bash", "zsh"}}};
    if (strcmp(verb, "help") == 0)
        return command_at(i) ? command_at(i)->name : i > 0 && command_at(i - 1) ? "config" : NULL;
    if (strcmp(verb, "table") == 0)
        return table_id(i) ? table_id(i) : i > 0 && table_id(i - 1) ? "all" : NULL;
    if (strcmp(verb, "plot") == 0)
        return plot_figure_id(i) ? plot_figure_id(i) : i > 0 && plot_figure_id(i - 1) ? "all" : NULL;
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
        if (strcmp(verb, fixed[k].verb) == 0 && i < 6)
            return fixed[k].words[i];
    return NULL;
}

static void print_words(const char *verb, const char *between)
{
    for (int i = 0; word_at(verb, i); i++)
        printf("%s%s", i ? between : "", word_at(verb, i));
}

static void bash_option(const char *option, size_t length, bool valued, const char *text, size_t text_length)
{
    (void)valued, (void)text, (void)text_length;
    printf(" %.*s", (int)length, option);
}

static void print_bash(void)
{
    printf("# bash completion for taper: source this, or put it into bash-completion's directory.\n"
           "_taper()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} home=() i\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (int i = 0; command_at(i); i++)
        printf("%s%s", i ? " " : "", command_at(i)->name);
    printf("' -- \"$word\"))\n        return\n    fi\n"
           "    for ((i = 2; i + 1 < COMP_CWORD; i++)); do\n"
           "        [ \"${COMP_WORDS[i]}\" = --home ] && home=(--home \"${COMP_WORDS[i + 1]}\")\n"
           "    done\n"
           "    if [[ $word == -* ]]; then\n        case $verb in\n");
    for (int i = 0; command_at(i); i++) {
        printf("        %s) COMPREPLY=($(compgen -W '--help", command_at(i)->name);
        for_each_option(command_at(i), bash_option);
        printf("' -- \"$word\")) ;;\n");
    }
    printf("        esac\n        return\n    fi\n"
           "    case $verb in\n"
           "    status|wait|cancel|retry|pause|resume)\n"
           "        COMPREPLY=($(compgen -W \"$(taper query \"${home[@]}\" --csv 'SELECT name FROM sweep' 2>/dev/null "
           "| tail -n +2)\""
           " -- \"$word\")) ;;\n"
           "    show|log)\n"
           "        COMPREPLY=($(compgen -W \"$(taper query \"${home[@]}\" --csv 'SELECT id FROM run' 2>/dev/null | "
           "tail -n +2)\""
           " -- \"$word\")) ;;\n");
    for (int i = 0; command_at(i); i++)
        if (word_at(command_at(i)->name, 0)) {
            printf("    %s) [ \"$COMP_CWORD\" -ne 2 ] || COMPREPLY=($(compgen -W '", command_at(i)->name);
            print_words(command_at(i)->name, " ");
            printf("' -- \"$word\")) ;;\n");
        }
    printf("    esac\n}\n"
           "complete -o bashdefault -o default -F _taper taper\n");
}

/* Inside single quotes of an _arguments specification: what would end it, or mean something to it, is escaped. */
static void zsh_text(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            printf("'\\''");
        else if (strchr("[]:\\", text[i]))
            printf("\\%c", text[i]);
        else
            putchar(text[i]);
    }
}

static void zsh_option(const char *option, size_t length, bool valued, const char *text, size_t text_length)
{
    printf(" '%.*s[", (int)length, option);
    zsh_text(text, text_length);
    printf(valued ? "]:value:_files'" : "]'");
}

static void print_zsh(void)
{
    printf("#compdef taper\n"
           "# zsh completion for taper: put this into a directory of $fpath as _taper.\n"
           "_taper() {\n    if (( CURRENT == 2 )); then\n        local -a verbs\n        verbs=(\n");
    for (int i = 0; command_at(i); i++) {
        printf("            '%s:", command_at(i)->name);
        zsh_text(command_at(i)->brief, strlen(command_at(i)->brief));
        printf("'\n");
    }
    printf("        )\n        _describe verb verbs\n        return\n    fi\n    shift words\n    (( CURRENT-- ))\n    "
           "case $words[1] in\n");
    for (int i = 0; command_at(i); i++) {
        printf("    %s) _arguments '--help[say more]'", command_at(i)->name);
        for_each_option(command_at(i), zsh_option);
        if (word_at(command_at(i)->name, 0)) {
            printf(" '1:operand:(");
            print_words(command_at(i)->name, " ");
            printf(")'");
        }
        printf(" '*:operand:_files' ;;\n");
    }
    printf("    esac\n}\n_taper \"$@\"\n");
}

static int completion_exec(int argc, char **argv, struct error *err)
{
    if (argc != 2)
        return command_usage(&cmd_completion, err, "wants the name of a shell");
    if (strcmp(argv[1], "bash") == 0)
        print_bash();
    else if (strcmp(argv[1], "zsh") == 0)
        print_zsh();
    else
        return command_usage(&cmd_completion, err, "no shell '%s'", argv[1]);
    return STATUS_OK;
}

const struct command cmd_completion = {"completion", "bash|zsh", "print a completion script for a shell",
                                       "bash: source <(taper completion bash)\n"
                                       "zsh:  taper completion zsh > DIRECTORY-OF-FPATH/_taper\n",
                                       completion_exec};
