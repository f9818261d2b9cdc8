/*
 * dialect.h - what DuckDB's dialect does not have, as edits of the user's text.
 *
 * Backticks, typographic quotes, sum(*), DATE_FORMAT and TO_TIMESTAMP by Java's patterns; and time
 * travel in all its spellings, which is taken out of the text and told: t AT (VERSION => n), t AT
 * (TIMESTAMP => x)                         DuckDB t VERSION AS OF n, t TIMESTAMP AS OF x Spark t
 * FOR SYSTEM_TIME AS OF x, t FOR SYSTEM_VERSION AS OF n            Flink t with a hint
 * OPTIONS('scan.snapshot-id' = 'n')                    Flink
 */
#ifndef SL_SQL_DIALECT_H
#define SL_SQL_DIALECT_H

#include "sql/lex.h"
#include "sql/statement.h"
#include "sql/text.h"

struct sl_travel {
    size_t first;    /* token that it begins at */
    size_t from, to; /* bytes */
    bool hint;       /* the text of the token FIRST says all */
    bool timestamp;  /* else a version: an id or a tag */
    struct sl_range expr;
    bool used;
};

struct sl_dialect {
    struct sl_edits edits;
    SL_VEC(struct sl_travel) travel;
};

/* Adds the edits for the tokens of R. The arena of OUT->edits is set by the caller. */
int sl_dialect_edit(const struct sl_tokens *t, struct sl_range r, struct sl_dialect *out,
                    sl_err *err) SL_WUR;
void sl_dialect_release(struct sl_dialect *d);

/* Registers sluice_date_format and sluice_to_timestamp, which edited text calls. */
struct sl_engine;
int sl_dialect_register(struct sl_engine *e, sl_err *err) SL_WUR;

#endif
