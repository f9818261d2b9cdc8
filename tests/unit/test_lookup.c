/* Looking keys up in many sources: what is skipped by range and by filter, what is opened, and that answers never differ. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sys.h"
#include "index/lookup.h"

enum { SOURCES = 12, EACH = 40 };

struct world {
    struct sl_arena arena;
    sl_str keys[SOURCES][EACH];
    struct sl_lookup_source sources[SOURCES];
    int found[SOURCES * EACH * 2]; /* source + 1 of each key that is looked for */
    size_t reads[SOURCES];
};

static sl_str text(struct sl_arena *a, const char *fmt, int n)
{
    return sl_str_c(sl_arena_printf(a, fmt, n));
}

/* Source s holds the keys s * 1000 + 0, 2, 4, ... */
static void make(struct world *w, const char *fmt, bool indexed, double fpp)
{
    sl_err err = SL_ERR_INIT;

    for (int s = 0; s < SOURCES; s++) {
        for (int i = 0; i < EACH; i++)
            w->keys[s][i] = text(&w->arena, fmt, s * 1000 + 2 * i);
        w->sources[s].indexed = indexed;
        w->sources[s].cost = (uint64_t)(SOURCES - s);
        if (indexed)
            assert_ok(sl_hudi_index_build(&w->arena, w->keys[s], EACH, fpp, &w->sources[s].index, &err), err);
    }
}

static int read_source(void *user, size_t i, const sl_str *wanted, size_t n, sl_lookup_take_fn *take, void *to, sl_err *err)
{
    struct world *w = user;

    (void)wanted;
    assert_true(n > 0);
    w->reads[i]++;
    for (size_t k = 0; k < EACH; k++)
        SL_TRY(take(to, w->keys[i][k], err));
    return SL_OK;
}

static int hit(void *user, size_t k, size_t i, sl_err *err)
{
    struct world *w = user;

    (void)err;
    w->found[k] = (int)i + 1;
    return SL_OK;
}

static int key_order(const void *a, const void *b)
{
    return sl_str_cmp(*(const sl_str *)a, *(const sl_str *)b);
}

static struct sl_lookup_stats look(struct world *w, sl_str *keys, size_t n)
{
    struct sl_lookup_stats stats = {0};
    struct sl_lookup l = {.keys = keys, .nkeys = n, .sources = w->sources, .nsources = SOURCES, .read = read_source, .hit = hit, .user = w};
    sl_err err = SL_ERR_INIT;

    memset(w->found, 0, sizeof w->found);
    memset(w->reads, 0, sizeof w->reads);
    qsort(keys, n, sizeof *keys, key_order);
    assert_ok(sl_lookup_run(&l, &stats, &err), err);
    assert_int_equal(stats.sources, SOURCES);
    assert_int_equal(stats.by_range + stats.by_filter + stats.known + stats.opened, SOURCES);
    return stats;
}

/* Every second of the keys is there. */
static void check_answers(struct world *w, const char *fmt)
{
    sl_str keys[SOURCES * EACH * 2];
    size_t n = 0;

    for (int s = 0; s < SOURCES; s++)
        for (int i = 0; i < 2 * EACH; i++)
            keys[n++] = text(&w->arena, fmt, s * 1000 + i);
    look(w, keys, n);
    for (size_t k = 0; k < n; k++) {
        int want = 0;

        for (int s = 0; s < SOURCES && !want; s++)
            for (int i = 0; i < EACH && !want; i++)
                want = sl_str_eq(w->keys[s][i], keys[k]) ? s + 1 : 0;
        assert_int_equal(w->found[k], want);
    }
}

static void test_answers(void **state)
{
    /* The characters from U+E000 on and those behind U+FFFF stand in another order in UTF-16. */
    static const char *const forms[] = {"%05d", "k%d", "\xef\xbf\xbd%d", "\xf0\x9f\x98\x80%d", "\xee\x80\x80%05d"};

    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        for (int mode = 0; mode < 3; mode++) {
            struct world *w = sl_calloc(1, sizeof *w);

            make(w, forms[f], mode > 0, mode == 2 ? 1e-4 : 0);
            check_answers(w, forms[f]);
            sl_arena_release(&w->arena);
            sl_free(w);
        }
    }
}

static void test_what_is_opened(void **state)
{
    struct world *w = sl_calloc(1, sizeof *w);
    sl_str keys[EACH];
    struct sl_lookup_stats stats;

    (void)state;
    make(w, "%05d", true, 1e-9);
    for (int i = 0; i < EACH; i++)
        keys[i] = text(&w->arena, "%05d", 90000 + i);
    stats = look(w, keys, EACH);
    assert_int_equal(stats.by_range, SOURCES);
    for (int i = 0; i < EACH - 1; i++)
        keys[i] = text(&w->arena, "%05d", 3000 + 2 * i + 1); /* within the range of one, and not there */
    stats = look(w, keys, EACH - 1);
    assert_int_equal(stats.by_range, SOURCES - 1);
    assert_int_equal(stats.by_filter, 1);
    assert_int_equal(stats.tested, EACH - 1);
    keys[0] = text(&w->arena, "%05d", 3004);
    stats = look(w, keys, 1);
    assert_int_equal(stats.opened, 1);
    assert_int_equal(w->reads[3], 1);
    assert_int_equal(stats.false_positives, 0);
    sl_arena_release(&w->arena);
    sl_free(w);
}

static void test_unknown_sources(void **state)
{
    struct world *w = sl_calloc(1, sizeof *w);
    sl_str keys[1];
    struct sl_lookup_stats stats;

    (void)state;
    make(w, "%05d", false, 0);
    keys[0] = text(&w->arena, "%05d", 11000); /* in the cheapest, so the others are not opened */
    stats = look(w, keys, 1);
    assert_int_equal(stats.opened, 1);
    assert_int_equal(stats.unindexed, 1);
    assert_int_equal(stats.known, SOURCES - 1);
    sl_arena_release(&w->arena);
    sl_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_what_is_opened), cmocka_unit_test(test_unknown_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
