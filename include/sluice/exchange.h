/*
 * exchange.h - blocks of bytes between processes in Apache IoTDB's data exchange, no response larger than the payload limit.
 *
 * A node (sl_exchange) is server and client at once. The sending side opens a sink channel and sends blocks into it; the receiving side opens a
 * source handle and takes them out, in order. A block is any bytes, TsBlocks between IoTDB's nodes, up to 2^31-1 of them: it crosses in
 * as many responses as the limit asks for, from the sender's one copy into the receiver's one copy. Open the source handle before
 * the channel that sends to it: events for a handle that does not exist are lost, as the protocol has it.
 *
 * Any thread may use a node, a channel and a handle; none of them may be freed while a call on it runs. Calls that wait end early with
 * SL_ECANCELLED once sl_cancelled(), see sys.h.
 */
#ifndef SLUICE_EXCHANGE_H
#define SLUICE_EXCHANGE_H

#include "sluice/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bytes with counted references ---- */

struct sl_bytes;
typedef void sl_bytes_free_fn(void *p, size_t n, void *user);
SL_API int sl_bytes_new(size_t n, struct sl_bytes **out, sl_err *err) SL_WUR; /* N bytes, not initialised */
/* Memory of the caller's, mapped files for example; FREE_FN is called with the last reference. */
SL_API int sl_bytes_wrap(void *p, size_t n, sl_bytes_free_fn *free_fn, void *user, struct sl_bytes **out, sl_err *err) SL_WUR;
SL_API struct sl_bytes *sl_bytes_ref(struct sl_bytes *b); /* one reference more; returns B */
SL_API void sl_bytes_unref(struct sl_bytes *b);           /* NULL is fine */
SL_API unsigned char *sl_bytes_data(const struct sl_bytes *b);
SL_API size_t sl_bytes_size(const struct sl_bytes *b);

/* ---- a node ---- */

struct sl_exchange;

/* Files in PEM. A server with TLS takes only clients whose certificate CA_FILE signed; a client checks the server's in the same way. */
struct sl_exchange_tls {
    const char *cert_file, *key_file, *ca_file; /* all NULL: no TLS */
    bool any_client;                            /* the server does not ask clients for a certificate */
};

struct sl_exchange_opts {
    const char *listen;          /* HOST:PORT, port 0 takes any; NULL: no server, for receivers that poll */
    const char *settings_file;   /* properties with IoTDB's names, read again when it changes; NULL: the defaults */
    bool reload_on_sighup;       /* SIGHUP of the process reads the file again too */
    uint64_t memory_bytes;       /* of all blocks held; 0: 1 GiB */
    uint64_t query_memory_bytes; /* of one query; 0: as MEMORY_BYTES */
    struct sl_exchange_tls tls;
    bool plain_anywhere;         /* listen off loopback without TLS: for a network that is trusted as IoTDB's nodes trust theirs */
    unsigned attempts;           /* for each call; 0: 3 */
    int64_t pause_millis;        /* between attempts; 0: 1000 */
};

SL_API int sl_exchange_open(const struct sl_exchange_opts *opts, struct sl_exchange **out, sl_err *err) SL_WUR; /* OPTS may be NULL */
/* Channels and handles must be freed before. Ends all connections. NULL is fine. */
SL_API void sl_exchange_close(struct sl_exchange *x);
SL_API int sl_exchange_port(const struct sl_exchange *x); /* that it listens on; 0 without a server */
SL_API int sl_exchange_reload(struct sl_exchange *x, sl_err *err) SL_WUR;
SL_API uint64_t sl_exchange_memory_used(struct sl_exchange *x);
/* mpp_data_exchange_max_payload_size_in_bytes as it is in force now. */
SL_API uint64_t sl_exchange_max_payload(const struct sl_exchange *x);

/* Which instance of which part of which query: all three together are the name. */
struct sl_fragment_instance {
    sl_str query;
    int32_t fragment;
    sl_str instance;
};

/* ---- sending ---- */

struct sl_sink_channel;

struct sl_sink_opts {
    struct sl_fragment_instance source; /* this side */
    int32_t index;                      /* which of the instance's channels */
    const char *target_address;         /* HOST:PORT of the receiving node */
    struct sl_fragment_instance target;
    sl_str target_node;                 /* plan node id of the exchange in the target */
    uint64_t max_bytes;                 /* not acknowledged before send waits; 0: 32 MiB. One block may always be sent. */
};

/* Writes the N bytes of one block to TO. Called once a block, whatever is lost on the way. */
typedef int sl_serialize_fn(void *user, unsigned char *to, size_t n, sl_err *err);

SL_API int sl_sink_channel_open(struct sl_exchange *x, const struct sl_sink_opts *opts, struct sl_sink_channel **out, sl_err *err) SL_WUR;
/* Waits for room at most TIMEOUT_MILLIS (-1: for ever), then SL_EBUSY. SL_EINPUT for an empty block and one above 2^31-1 bytes; SL_ENOMEM for
 * one that the limits never let in; SL_ECANCELLED once the receiver closed the channel: it wants no more. */
SL_API int sl_sink_channel_send(struct sl_sink_channel *c, uint64_t n, sl_serialize_fn *serialize, void *user, int64_t timeout_millis,
                                sl_err *err) SL_WUR;
/* The same with bytes that are ready; takes a reference of its own. */
SL_API int sl_sink_channel_send_bytes(struct sl_sink_channel *c, struct sl_bytes *b, int64_t timeout_millis, sl_err *err) SL_WUR;
SL_API int sl_sink_channel_end(struct sl_sink_channel *c, sl_err *err) SL_WUR; /* no more blocks */
/* Until all blocks are acknowledged and the end is told, or the receiver closed the channel. SL_EBUSY: not in that time. */
SL_API int sl_sink_channel_wait(struct sl_sink_channel *c, int64_t timeout_millis, sl_err *err) SL_WUR;
SL_API void sl_sink_channel_abort(struct sl_sink_channel *c); /* drops all blocks; requests are answered with an empty list */
SL_API void sl_sink_channel_free(struct sl_sink_channel *c);  /* aborts what is not finished; NULL is fine */

/* ---- receiving ---- */

struct sl_source_handle;

struct sl_source_opts {
    struct sl_fragment_instance target; /* this side */
    sl_str target_node;
    const char *source_address;         /* HOST:PORT of the sending node */
    struct sl_fragment_instance source;
    int32_t index;
    uint64_t max_bytes;                 /* pulled before they are taken; 0: 32 MiB. One block is always pulled. */
    bool whole_blocks;                  /* ask without offset, as older nodes do: responses have no bound */
};

SL_API int sl_source_handle_open(struct sl_exchange *x, const struct sl_source_opts *opts, struct sl_source_handle **out, sl_err *err) SL_WUR;
/* The next block, the caller's and no longer counted in the memory of the node; NULL at the end. SL_EBUSY: none in that time. SL_ENOTFOUND: the
 * sender has no such channel any more. */
SL_API int sl_source_handle_next(struct sl_source_handle *h, int64_t timeout_millis, struct sl_bytes **out, sl_err *err) SL_WUR;
SL_API void sl_source_handle_close(struct sl_source_handle *h); /* no more is wanted: tells the sender */
SL_API void sl_source_handle_abort(struct sl_source_handle *h); /* the query is over: tells nobody */
SL_API void sl_source_handle_free(struct sl_source_handle *h);  /* aborts what is not finished; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
