/* Completion scripts, made from the command table: verbs, and the options that their help lists. */
#include <stdio.h>
#include <string.h>

#include "harness/commands.h"

typedef void each_option(const char *option, size_t length, const char *text, size_t text_length);

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
            for (const char *gap = at; gap + 1 < line + length; gap++)
                if (gap[0] == ' ' && gap[1] == ' ') {
                    text = gap + strspn(gap, " ");
                    break;
                }
            each(at, word, text, (size_t)(line + length - text));
            at += word;
            at += *at == ',' ? 1 + strspn(at + 1, " ") : 0;
        }
    }
}

static void bash_option(const char *option, size_t length, const char *text, size_t text_length)
{
    (void)text, (void)text_length;
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
           " -- \"$word\")) ;;\n"
           "    help) COMPREPLY=($(compgen -W '");
    for (int i = 0; command_at(i); i++)
        printf("%s ", command_at(i)->name);
    printf("config' -- \"$word\")) ;;\n"
           "    completion) COMPREPLY=($(compgen -W 'bash zsh' -- \"$word\")) ;;\n"
           "    esac\n}\n"
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

static void zsh_option(const char *option, size_t length, const char *text, size_t text_length)
{
    printf(" '%.*s[", (int)length, option);
    zsh_text(text, text_length);
    printf("]'");
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
    printf("        )\n        _describe verb verbs\n        return\n    fi\n    case $words[2] in\n");
    for (int i = 0; command_at(i); i++) {
        printf("    %s) _arguments '--help[say more]'", command_at(i)->name);
        for_each_option(command_at(i), zsh_option);
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
