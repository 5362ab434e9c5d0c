/* taper data text: JSON lines as a text. */
#include <stdio.h>

#include "core/base/file.h"
#include "core/data/text.h"
#include "harness/base/options.h"
#include "harness/verbs/cmd_data.h"
#include "harness/verbs/commands.h"

/* Each document and its separator, as text.h says they are written. */
static int write_documents(const struct text *text, const char *path, struct error *err)
{
    struct file_writer w;
    int status = file_create(&w, path, err);
    if (status)
        return status;
    for (size_t i = 0; i < text->count && !status; i++) {
        const struct text_document *d = &text->documents[i];
        bool newlines_only = true;
        for (size_t k = 0; k < d->length && newlines_only; k++)
            newlines_only = d->bytes[k] == '\n';
        fwrite(d->bytes, 1, d->length, w.stream);
        fputs(newlines_only ? TEXT_SEPARATOR "\n" : "\n" TEXT_SEPARATOR "\n", w.stream);
        if (text_has_separator(d->bytes, d->length))
            status = error_set(err, STATUS_BAD_INPUT,
                               "%s: document %zu has a line " TEXT_SEPARATOR " of its own, which would cut it in two",
                               path, i + 1);
    }
    if (!status)
        return file_commit(&w, err);
    file_abandon(&w);
    return status;
}

int data_text(int argc, char **argv, struct error *err)
{
    const char *field = NULL;
    const struct option_spec specs[] = {{.name = "field", .value = &field}, {0}};
    struct text text;
    int operands;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 2 || !field)
        return command_usage(&cmd_data, err, "text wants --field NAME JSONLINES OUT");
    status = text_open_field(&text, argv[1], field, err);
    if (status)
        return status;
    status = write_documents(&text, argv[2], err);
    if (!status)
        printf("%zu documents, %llu bytes\n", text.count, (unsigned long long)text.bytes);
    text_close(&text);
    return status;
}

void data_warn(const struct text *text)
{
    if (text_warning(text))
        fprintf(stderr, "taper: warning: %s\n", text_warning(text));
}
