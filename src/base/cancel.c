#include "base/sys.h"

static atomic_bool cancelled; /* lock-free, so a signal handler may set it */

void sl_cancel(void)
{
    atomic_store(&cancelled, true);
}

void sl_cancel_reset(void)
{
    atomic_store(&cancelled, false);
}

bool sl_cancelled(void)
{
    return atomic_load_explicit(&cancelled, memory_order_relaxed);
}

int sl_cancel_check(sl_err *err)
{
    return sl_cancelled() ? sl_err_set(err, SL_ECANCELLED, "interrupted") : SL_OK;
}
