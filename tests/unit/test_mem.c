#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void sizes(void **state)
{
    size_t n;

    (void)state;
    assert_true(sl_size_add(1, 2, &n) && n == 3);
    assert_false(sl_size_add(SIZE_MAX, 1, &n));
    assert_true(sl_size_mul(3, 4, &n) && n == 12);
    assert_false(sl_size_mul(SIZE_MAX / 2, 3, &n));
    assert_null(sl_calloc(SIZE_MAX / 2, 3));
    assert_null(sl_reallocarray(NULL, SIZE_MAX / 2, 3));
}

static void copies(void **state)
{
    char *a = sl_strdup("abc"), *b = sl_strndup("abcdef", 2), *c = sl_str_dup((sl_str){NULL, 0});
    char *d = sl_asprintf("%s-%d", "x", 42), *e = sl_malloc(0);

    (void)state;
    assert_string_equal(a, "abc");
    assert_string_equal(b, "ab");
    assert_string_equal(c, "");
    assert_string_equal(d, "x-42");
    assert_non_null(e);
    sl_free(a);
    sl_free(b);
    sl_free(c);
    sl_free(d);
    sl_free(e);
    sl_free(NULL);
}

static void failing(void **state)
{
    (void)state;
    sl_mem_fail_nth(2);
    void *first = sl_malloc(1), *second = sl_malloc(1), *third = sl_malloc(1);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    sl_mem_fail_nth(1);
    void *same = sl_realloc(first, 100);
    assert_null(same); /* FIRST stays valid */
    sl_free(first);
    sl_free(third);
    int64_t before = sl_mem_count();
    sl_free(sl_malloc(1));
    assert_int_equal(sl_mem_count(), before + 1);
}

/* Every allocation of a piece of work fails once: an error each time, nothing leaks. */
static bool some_work(void)
{
    struct sl_map *m = sl_map_new();
    struct sl_buf b = SL_BUF_INIT;
    struct sl_arena a = SL_ARENA_INIT;
    bool ok = m != NULL;

    for (int i = 0; ok && i < 40; i++) {
        char *text = sl_arena_printf(&a, "key %d", i);
        void **slot = text ? sl_map_at(m, sl_str_c(text)) : NULL;

        ok = slot != NULL;
        if (ok)
            *slot = text;
        sl_buf_printf(&b, "%0200d", i);
    }
    ok = ok && sl_buf_ok(&b, NULL) == SL_OK;
    sl_map_free(m, NULL);
    sl_buf_release(&b);
    sl_arena_release(&a);
    return ok;
}

static void every_allocation_fails(void **state)
{
    int failures = 0;

    (void)state;
    for (int n = 1; n < 1000; n++) {
        sl_mem_fail_nth(n);
        if (some_work())
            break;
        failures++;
    }
    sl_mem_fail_nth(0);
    assert_true(failures > 40 && failures < 999);
}

static void arenas(void **state)
{
    struct sl_arena a = SL_ARENA_INIT;
    char *seen[200];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            size_t n = (size_t)i * 37 + 1;

            seen[i] = sl_arena_alloc(&a, n);
            assert_non_null(seen[i]);
            assert_int_equal((uintptr_t)seen[i] % 16, 0);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(seen[i][k], 0);
            memset(seen[i], i, n);
        }
        for (int i = 0; i < 200; i++)
            assert_int_equal((unsigned char)seen[i][i * 37], i);
        assert_true(a.used >= 200 * 199 / 2 * 37);
        sl_arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    assert_string_equal(sl_arena_strdup(&a, SL_LIT("abc")), "abc");
    sl_str s = sl_arena_str(&a, SL_LIT("xyz"));
    assert_int_equal(s.n, 3);
    assert_string_equal(sl_arena_printf(&a, "%d%%", 5), "5%");
    assert_non_null(sl_arena_alloc(&a, 10 << 20)); /* larger than any block */
    char *small = sl_arena_alloc(&a, 10);
    assert_non_null(small);
    assert_null(sl_arena_alloc(&a, SIZE_MAX - 3));
    assert_null(sl_arena_array(&a, SIZE_MAX / 2, 4));
    sl_arena_release(&a);
    assert_null(a.head);
    sl_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(copies), cmocka_unit_test(failing),
                                       cmocka_unit_test(every_allocation_fails), cmocka_unit_test(arenas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
