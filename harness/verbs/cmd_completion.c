/* Completion scripts for three shells, made from the command table and the rows of its options. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"
#include "harness/verbs/commands.h"
#include "harness/results/catalogue.h"

/* The words that a verb's first operand is one of; NULL ends them. */
static const char *word_at(const char *verb, int i)
{
    static const struct {
        const char *verb, *words[6];
    } fixed[] = {{"data", {"corpus", "tokenizer", "encode", "decode", "text", "fetch"}},
                 {"debug", {"step", "train"}},
                 {"completion", {"bash", "zsh", "fish"}}};
    if (strcmp(verb, "help") == 0)
        return command_at(i) ? command_at(i)->name : i > 0 && command_at(i - 1) ? "config" : NULL;
    if (strcmp(verb, "table") == 0)
        return catalogue_word(i, false);
    if (strcmp(verb, "plot") == 0)
        return catalogue_word(i, true);
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++)
        if (strcmp(verb, fixed[k].verb) == 0 && i < 6)
            return fixed[k].words[i];
    return NULL;
}

/* What a placeholder of a value stands for. */
enum value_kind { VALUE_NONE, VALUE_WORDS, VALUE_FILE, VALUE_DIR, VALUE_SWEEP, VALUE_KEY, VALUE_OTHER };

static enum value_kind kind_of(const struct option_row *row)
{
    static const struct {
        const char *value;
        enum value_kind kind;
    } kinds[] = {{"DIR", VALUE_DIR},      {"FILE", VALUE_FILE}, {"DIR|FILE", VALUE_FILE},
                 {"PROGRAM", VALUE_FILE}, {"KEY", VALUE_KEY},   {"KEY=VALUE", VALUE_KEY}};
    if (!row->value)
        return VALUE_NONE;
    if (strcmp(row->name, "sweep") == 0)
        return VALUE_SWEEP;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].value, row->value) == 0)
            return kinds[i].kind;
    return strchr(row->value, '|') ? VALUE_WORDS : VALUE_OTHER;
}

/* The names of all keys, each with that after it. */
static void print_keys(const char *after)
{
    int count;
    const struct config_key *keys = config_keys(&count);
    for (int i = 0; i < count; i++)
        printf("%s%s%s", i ? " " : "", keys[i].name, after);
}

/* The words of "cpu|cuda", or of the key table, with a "=" where a value comes next. */
static void print_values(const struct option_row *row)
{
    if (kind_of(row) == VALUE_WORDS)
        for (const char *at = row->value; *at; at++)
            putchar(*at == '|' ? ' ' : *at);
    if (kind_of(row) == VALUE_KEY)
        print_keys(strchr(row->value, '=') ? "=" : "");
}

static void print_operands(const char *verb)
{
    for (int i = 0; word_at(verb, i); i++)
        printf("%s%s", i ? " " : "", word_at(verb, i));
}

#define SWEEP_SQL "SELECT name FROM sweep"
#define RUN_SQL   "SELECT id FROM run UNION SELECT sweep || '/' || variant || '/' || seed FROM run_in_sweep"
#define ASK(sql)  "taper query \"${home[@]}\" --csv \"" sql "\" 2>/dev/null | tail -n +2"

/* What the home's names a verb's operands are of: NULL for other verbs. */
static const char *names_of(const char *verb)
{
    static const struct {
        const char *verb, *sql;
    } asked[] = {{"status", SWEEP_SQL}, {"runs", SWEEP_SQL},  {"best", SWEEP_SQL},  {"wait", SWEEP_SQL},
                 {"cancel", SWEEP_SQL}, {"retry", SWEEP_SQL}, {"pause", SWEEP_SQL}, {"resume", SWEEP_SQL},
                 {"forget", SWEEP_SQL}, {"show", RUN_SQL},    {"compare", RUN_SQL}, {"log", RUN_SQL}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        if (strcmp(asked[i].verb, verb) == 0)
            return asked[i].sql;
    return NULL;
}

/* One case a verb and option that takes a value: what is offered after it. */
static void bash_values(const struct command *command)
{
    for (const struct option_row *r = command->options; r && r->name; r++) {
        const enum value_kind kind = kind_of(r);
        if (kind == VALUE_NONE || kind == VALUE_OTHER)
            continue;
        printf("    %s:--%s", command->name, r->name);
        if (r->letter)
            printf("|%s:-%c", command->name, r->letter);
        if (kind == VALUE_FILE || kind == VALUE_DIR) {
            printf(") COMPREPLY=($(compgen -%c -- \"$word\")); return ;;\n", kind == VALUE_DIR ? 'd' : 'f');
        } else if (kind == VALUE_SWEEP) {
            printf(") COMPREPLY=($(compgen -W \"$(" ASK(SWEEP_SQL) ")\" -- \"$word\")); return ;;\n");
        } else {
            printf(") %sCOMPREPLY=($(compgen -W '",
                   kind == VALUE_KEY && strchr(r->value, '=') ? "compopt -o nospace; " : "");
            print_values(r);
            printf("' -- \"$word\")); return ;;\n");
        }
    }
}

static void print_bash(void)
{
    printf(
        "# bash completion for taper: source this, or put it into bash-completion's directory.\n"
        "_taper()\n{\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD-1]} home=() i\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        COMPREPLY=($(compgen -W '");
    for (int i = 0; command_at(i); i++)
        printf("%s%s", i ? " " : "", command_at(i)->name);
    printf("' -- \"$word\"))\n        return\n    fi\n"
           "    for ((i = 2; i + 1 < COMP_CWORD; i++)); do\n"
           "        [ \"${COMP_WORDS[i]}\" = --home ] && home=(--home \"${COMP_WORDS[i + 1]}\")\n"
           "    done\n"
           "    case $verb:$before in\n"
           "    help:config) COMPREPLY=($(compgen -W '");
    print_keys("");
    printf("' -- \"$word\")); return ;;\n");
    for (int i = 0; command_at(i); i++)
        bash_values(command_at(i));
    printf("    esac\n"
           "    if [[ $word == -* ]]; then\n        case $verb in\n");
    for (int i = 0; command_at(i); i++) {
        printf("        %s) COMPREPLY=($(compgen -W '--help", command_at(i)->name);
        for (const struct option_row *r = command_at(i)->options; r && r->name; r++)
            printf(r->letter ? " -%2$c --%1$s" : " --%1$s", r->name, r->letter);
        printf("' -- \"$word\")) ;;\n");
    }
    printf("        esac\n        return\n    fi\n"
           "    case $verb in\n");
    for (int i = 0; command_at(i); i++)
        if (names_of(command_at(i)->name))
            printf("    %s) COMPREPLY=($(compgen -W \"$(taper query \"${home[@]}\" --csv \"%s\" 2>/dev/null | "
                   "tail -n +2)\" -- \"$word\")) ;;\n",
                   command_at(i)->name, names_of(command_at(i)->name));
    for (int i = 0; command_at(i); i++)
        if (word_at(command_at(i)->name, 0)) {
            printf("    %s) [ \"$COMP_CWORD\" -ne 2 ] || COMPREPLY=($(compgen -W '", command_at(i)->name);
            print_operands(command_at(i)->name);
            printf("' -- \"$word\")) ;;\n");
        }
    printf("    esac\n}\n"
           "complete -o bashdefault -o default -F _taper taper\n");
}

/* Inside single quotes of an _arguments specification: what would end it, or mean something to it, is escaped. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(const struct option_row *r, const char *dashes, const char *name, size_t length)
{
    printf(" '%s%.*s[", dashes, (int)length, name);
    zsh_text(r->help);
    putchar(']');
    switch (kind_of(r)) {
    case VALUE_NONE:
        break;
    case VALUE_DIR:
        printf(":directory:_files -/");
        break;
    case VALUE_WORDS:
    case VALUE_KEY:
        printf(":value:(");
        print_values(r);
        putchar(')');
        break;
    case VALUE_SWEEP:
        printf(":sweep:{_taper_names \"" SWEEP_SQL "\"}");
        break;
    default:
        printf(":value:_files");
    }
    putchar('\'');
}

/* The quotes of the SQL stand within those of the specification. */
static void zsh_names(const char *sql)
{
    printf(" '*:name:{_taper_names \"");
    for (; *sql; sql++)
        printf(*sql == '\'' ? "'\\''" : "%c", *sql);
    printf("\"}'");
}

static void zsh_help(void)
{
    printf(" '2:key:(");
    print_keys("");
    printf(")'");
}

static void print_zsh(void)
{
    printf("#compdef taper\n"
           "# zsh completion for taper: put this into a directory of $fpath as _taper.\n"
           "_taper_names() {\n    local -a names home\n"
           "    local at=${words[(i)--home]}\n"
           "    (( at < $#words )) && home=(--home ${words[at + 1]})\n"
           "    names=(${(f)\"$(taper query $home --csv $1 2>/dev/null | tail -n +2)\"})\n"
           "    compadd -a names\n}\n"
           "_taper() {\n    if (( CURRENT == 2 )); then\n        local -a verbs\n        verbs=(\n");
    for (int i = 0; command_at(i); i++) {
        printf("            '%s:", command_at(i)->name);
        zsh_text(command_at(i)->brief);
        printf("'\n");
    }
    printf("        )\n        _describe verb verbs\n        return\n    fi\n    shift words\n    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (int i = 0; command_at(i); i++) {
        printf("    %s) _arguments '--help[say more]'", command_at(i)->name);
        for (const struct option_row *r = command_at(i)->options; r && r->name; r++) {
            zsh_option(r, "--", r->name, strlen(r->name));
            if (r->letter)
                zsh_option(r, "-", &r->letter, 1);
        }
        if (word_at(command_at(i)->name, 0)) {
            printf(" '1:operand:(");
            print_operands(command_at(i)->name);
            printf(")'");
        }
        if (names_of(command_at(i)->name))
            zsh_names(names_of(command_at(i)->name));
        else if (strcmp(command_at(i)->name, "help") == 0)
            zsh_help();
        else
            printf(" '*:operand:_files'");
        printf(" ;;\n");
    }
    printf("    esac\n}\n_taper \"$@\"\n");
}

/* Inside single quotes of fish. */
static void fish_text(const char *text)
{
    for (; *text; text++)
        printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* What the home has: asked when it is wanted. */
static void fish_names(const char *sql)
{
    printf(" -x -a '(taper query --csv \"");
    fish_text(sql);
    printf("\" 2>/dev/null | tail -n +2)'");
}

static void print_fish(void)
{
    printf("# fish completion for taper: put this into ~/.config/fish/completions/taper.fish.\n");
    for (int i = 0; command_at(i); i++) {
        const struct command *c = command_at(i);
        printf("complete -c taper -n __fish_use_subcommand -f -a %s -d '", c->name);
        fish_text(c->brief);
        printf("'\n");
        for (const struct option_row *r = c->options; r && r->name; r++) {
            const enum value_kind kind = kind_of(r);
            printf("complete -c taper -n '__fish_seen_subcommand_from %s' -l %s", c->name, r->name);
            if (r->letter)
                printf(" -s %c", r->letter);
            if (kind == VALUE_WORDS || kind == VALUE_KEY) {
                printf(" -x -a '");
                print_values(r);
                putchar('\'');
            } else if (kind == VALUE_SWEEP) {
                fish_names(SWEEP_SQL);
            } else if (kind != VALUE_NONE) {
                printf(" -r");
            }
            printf(" -d '");
            fish_text(r->help);
            printf("'\n");
        }
        if (word_at(c->name, 0)) {
            printf("complete -c taper -n '__fish_seen_subcommand_from %s' -a '", c->name);
            print_operands(c->name);
            printf("'\n");
        }
        if (names_of(c->name)) {
            printf("complete -c taper -n '__fish_seen_subcommand_from %s'", c->name);
            fish_names(names_of(c->name));
            putchar('\n');
        }
    }
    printf("complete -c taper -n '__fish_seen_subcommand_from help; and __fish_seen_subcommand_from config' -f -a '");
    print_keys("");
    printf("'\n");
}

static int completion_exec(int argc, char **argv, struct error *err)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    if (argc != 2)
        return command_usage(&cmd_completion, err, "wants the name of a shell");
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(argv[1], shells[i].shell) == 0) {
            shells[i].print();
            return STATUS_OK;
        }
    return command_usage(&cmd_completion, err, "no shell '%s'", argv[1]);
}

const struct command cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .brief = "print a completion script for a shell",
    .about = "bash: source <(taper completion bash)\n"
             "zsh:  taper completion zsh > DIRECTORY-OF-FPATH/_taper\n"
             "fish: taper completion fish > ~/.config/fish/completions/taper.fish\n",
    .exec = completion_exec,
};
