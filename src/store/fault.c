#include "store/store_priv.h"

#ifdef SL_FAILPOINTS

#include <stdatomic.h>
#include <stdlib.h>

static atomic_llong steps;
static atomic_llong fail_at; /* the step that fails; 0 = none */
static atomic_int fail_code;

void sl_store_fail_nth(int64_t n, int code)
{
    atomic_store(&fail_code, code);
    atomic_store(&fail_at, n > 0 ? atomic_load(&steps) + n : 0);
}

__attribute__((constructor)) static void read_environment(void)
{
    sl_str text = sl_str_c(getenv("SLUICE_FAIL_STORE"));
    ptrdiff_t colon = sl_str_find(text, SL_LIT(":nospc"));
    int64_t n;

    if (sl_parse_i64(sl_str_sub(text, 0, colon < 0 ? text.n : (size_t)colon), &n))
        sl_store_fail_nth(n, colon < 0 ? SL_EIO : SL_ENOSPC);
}

int sl_store__fault(const char *full, sl_err *err)
{
    if (atomic_fetch_add(&steps, 1) + 1 != atomic_load(&fail_at))
        return SL_OK;
    return sl_err_set(err, atomic_load(&fail_code), "injected failure at \"%s\"", full);
}

#endif
