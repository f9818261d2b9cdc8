/* functions.c - the functions that edited text calls, where a pattern is no constant or strftime
 * can't do it. */
#include <string.h>

#include "data/value.h"
#include "engine/rows.h"
#include "sql/dialect.h"
#include "sql/java_time.h"

static const struct sl_type text_type = {
    .kind = SL_VARCHAR, .nullable = true, .length = SL_LENGTH_MAX};
static const struct sl_type time_type = {.kind = SL_TIMESTAMP, .nullable = true, .precision = 6};
static const struct sl_type zoned_type = {
    .kind = SL_TIMESTAMP_LTZ, .nullable = true, .precision = 6};
static const struct sl_type double_type = {.kind = SL_DOUBLE, .nullable = true};

/* The pattern of the row before, most often the same. */
struct last_pattern {
    sl_str text;
    struct sl_java_pattern p;
    bool known;
};

static int pattern_of(const struct sl_vector *v, size_t row, struct last_pattern *last, sl_err *err)
{
    sl_str text = sl_vector_bytes(v, row);

    if (last->known && sl_str_eq(text, last->text))
        return SL_OK;
    SL_TRY(sl_java_pattern_parse(text, &last->p, err));
    last->text = text;
    last->known = true;
    return SL_OK;
}

static int date_format(void *self, const struct sl_vector *args, size_t nargs, size_t rows,
                       struct sl_vector *out, sl_err *err)
{
    struct last_pattern last = {.known = false};
    struct sl_buf b = SL_BUF_INIT;
    int rc = SL_OK;

    (void)self;
    (void)nargs;
    for (size_t i = 0; i < rows; i++) {
        if (sl_vector_is_null(&args[0], i) || sl_vector_is_null(&args[1], i)) {
            SL_GO(sl_vector_set_null(out, i, err));
            continue;
        }
        SL_GO(pattern_of(&args[1], i, &last, err));
        sl_buf_reset(&b);
        sl_java_format(&last.p, ((const int64_t *)args[0].data)[i], &b);
        SL_GO(sl_buf_ok(&b, err));
        SL_GO(sl_vector_put_bytes(out, i, sl_buf_view(&b), err));
    }
done:
    sl_buf_release(&b);
    return rc;
}

static int to_timestamp_by(void *self, const struct sl_vector *args, size_t nargs, size_t rows,
                           struct sl_vector *out, sl_err *err)
{
    struct last_pattern last = {.known = false};

    (void)self;
    (void)nargs;
    for (size_t i = 0; i < rows; i++) {
        if (sl_vector_is_null(&args[0], i) || sl_vector_is_null(&args[1], i)) {
            SL_TRY(sl_vector_set_null(out, i, err));
            continue;
        }
        SL_TRY(pattern_of(&args[1], i, &last, err));
        int rc =
            sl_java_parse(&last.p, sl_vector_bytes(&args[0], i), &((int64_t *)out->data)[i], err);
        if (rc != SL_OK) {
            sl_err_hint(err, "TRY(TO_TIMESTAMP(...)) gives NULL instead");
            return rc;
        }
    }
    return SL_OK;
}

static int to_timestamp(void *self, const struct sl_vector *args, size_t nargs, size_t rows,
                        struct sl_vector *out, sl_err *err)
{
    struct sl_arena a = SL_ARENA_INIT;
    int rc = SL_OK;

    (void)self;
    (void)nargs;
    for (size_t i = 0; i < rows; i++) {
        struct sl_value v;

        if (sl_vector_is_null(&args[0], i)) {
            SL_GO(sl_vector_set_null(out, i, err));
            continue;
        }
        sl_str text = sl_str_trim(sl_vector_bytes(&args[0], i));
        if (!sl_value_from_text(&a, &time_type, text, &v) || v.null) {
            rc = sl_err_set(err, SL_EINPUT,
                            "the text '%.*s' is no time of the form 2024-01-02 03:04:05",
                            (int)(text.n > 80 ? 80 : text.n), text.p);
            goto done;
        }
        ((int64_t *)out->data)[i] = v.u.t.ms * 1000 + v.u.t.ns / 1000;
    }
done:
    sl_arena_release(&a);
    return rc;
}

/* DuckDB's own to_timestamp, seconds since 1970. */
static int from_seconds(void *self, const struct sl_vector *args, size_t nargs, size_t rows,
                        struct sl_vector *out, sl_err *err)
{
    (void)self;
    (void)nargs;
    for (size_t i = 0; i < rows; i++) {
        double micros =
            sl_vector_is_null(&args[0], i) ? 0 : ((const double *)args[0].data)[i] * 1e6;

        if (sl_vector_is_null(&args[0], i)) {
            SL_TRY(sl_vector_set_null(out, i, err));
            continue;
        }
        if (!(micros > -9.2e18 && micros < 9.2e18))
            return sl_err_set(err, SL_EINPUT, "TO_TIMESTAMP of %g seconds is out of range",
                              micros / 1e6);
        ((int64_t *)out->data)[i] = (int64_t)(micros < 0 ? micros - 0.5 : micros + 0.5);
    }
    return SL_OK;
}

int sl_dialect_register(struct sl_engine *e, sl_err *err)
{
    const struct sl_scalar all[] = {
        {.name = "sluice_date_format",
         .args = {&time_type, &text_type},
         .nargs = 2,
         .ret = &text_type,
         .fn = date_format},
        {.name = "sluice_to_timestamp",
         .args = {&text_type, &text_type},
         .nargs = 2,
         .ret = &time_type,
         .fn = to_timestamp_by},
        {.name = "sluice_to_timestamp",
         .args = {&text_type},
         .nargs = 1,
         .ret = &time_type,
         .fn = to_timestamp},
        {.name = "sluice_to_timestamp",
         .args = {&double_type},
         .nargs = 1,
         .ret = &zoned_type,
         .fn = from_seconds},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        SL_TRY(sl_scalar_register(e, &all[i], err));
    return SL_OK;
}
