/*
 * sys.h - what a program around the library needs: cancelling, the log, metrics, sizes in text, the doctor.
 *
 * Any thread, unless said otherwise.
 */
#ifndef SLUICE_SYS_H
#define SLUICE_SYS_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- time ---- */
SL_API int64_t sl_now_millis(void);  /* wall clock, epoch ms; SLUICE_FAKE_NOW (ms) sets it in test builds */
SL_API int64_t sl_mono_nanos(void);  /* monotonic */
SL_API void sl_sleep_millis(int64_t ms); /* ends early when sl_cancelled() becomes true */

/* ---- numbers in text: the whole view must be the number; false otherwise ---- */
SL_API bool sl_parse_i64(sl_str s, int64_t *out);    /* decimal, optional sign */
SL_API bool sl_parse_u64(sl_str s, uint64_t *out);
SL_API bool sl_parse_bytes(sl_str s, uint64_t *out); /* 4096, 256MB, 1 GB, 64KiB, "4,194,304"; k = 1024 */
SL_API bool sl_parse_millis(sl_str s, uint64_t *out); /* 10s, 500 ms, 1 h, 5 min, 1 d; a bare number is seconds */

/* S as a JSON string with its quotes; the caller's, sl_free; NULL if out of memory. */
SL_API char *sl_json_quote(sl_str s);

/* ---- cancel: a flag that long calls poll, and then end with SL_ECANCELLED ---- */
SL_API void sl_cancel(void);        /* may be called by a signal handler */
SL_API void sl_cancel_reset(void);
SL_API bool sl_cancelled(void);

/* ---- log: one sink for the process, none at first. Calls do not overlap; the sink must not log. ---- */
enum sl_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };
typedef void sl_log_fn(enum sl_level level, const char *area, const char *text, void *user);
SL_API void sl_log_sink(sl_log_fn *fn, void *user);

/* ---- metrics ---- */
/* Serve /metrics in Prometheus' text form on HOST:PORT by one background thread. Port 0 takes any; the one chosen
 * is logged in the area "metrics". */
struct sl_metrics_server;
SL_API int sl_metrics_serve(sl_str host_port, struct sl_metrics_server **out, sl_err *err) SL_WUR;
SL_API void sl_metrics_stop(struct sl_metrics_server *s); /* NULL is fine */

/* ---- what the file system under a folder promises, found by trying ---- */
struct sl_doctor {
    char fs_type[64];
    bool network, overlay;
    bool fsync_file, fsync_dir, link_new, rename_noreplace, ofd_lock, case_sensitive;
    uint64_t free_bytes, total_bytes;
    double fsync_millis; /* median of a few small ones */
};
SL_API int sl_store_doctor(sl_str dir, struct sl_doctor *out, sl_err *err) SL_WUR;

#ifdef __cplusplus
}
#endif
#endif
