/*
 * node_priv.h - the inside of a node, for node.c (server, registry), channel.c (sending) and handle.c (receiving).
 */
#ifndef SL_EXCHANGE_NODE_PRIV_H
#define SL_EXCHANGE_NODE_PRIV_H

#include <pthread.h>

#include "exchange/client.h"
#include "exchange/node.h"
#include "exchange/server.h"
#include "exchange/settings.h"
#include "exchange/tasks.h"

struct sl_exchange {
    struct sl_settings *settings; /* all of these owned */
    struct sl_mempool *pool;
    struct sl_tasks *tasks;
    struct sl_client *client;
    struct sl_server *server; /* NULL: none */
    unsigned attempts;
    int64_t pause_millis;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t wake;
    struct sl_map *sinks;   /* owned; instance -> first of its channels */
    struct sl_map *sources; /* owned; instance and plan node -> handle */
    size_t closing;         /* close events under way */
};

/* An instance, and optionally a plan node, as a key of the maps, in the arena; names with any bytes stay apart. */
int sl_exchange_key(struct sl_arena *a, const struct sl_mpp_instance *id, const sl_str *node, sl_str *out, sl_err *err);
/* Copies in the arena. */
int sl_exchange_instance(struct sl_arena *a, const struct sl_fragment_instance *id, struct sl_mpp_instance *out, sl_err *err);
char *sl_exchange_address(struct sl_arena *a, const char *address, sl_err *err); /* checked copy; NULL with the error set */

struct sl_sink_channel {
    struct sl_exchange *x;        /* borrowed */
    struct sl_sink *sink;         /* a reference */
    struct sl_arena arena;        /* owned; of the names */
    struct sl_mpp_instance source, target;
    sl_str target_node;
    const char *target_address;
    int32_t index;
    sl_str key;                   /* in the node's map */
    struct sl_sink_channel *next; /* of the same instance; of the node's lock */
    struct sl_interrupt interrupt;
    struct sl_task task;          /* tells the news */
    int32_t told;                 /* of the task, as `tries` */
    unsigned tries;
    pthread_mutex_t lock;         /* below */
    pthread_cond_t wake;
    bool telling, again;          /* the task is submitted or runs; there is more */
};

struct sl_source_handle {
    struct sl_exchange *x;        /* borrowed */
    struct sl_intake *source;     /* owned */
    struct sl_arena arena;        /* owned; of the names */
    struct sl_mpp_instance source_id, target;
    sl_str target_node;
    const char *address;
    int32_t index;
    sl_str key;                   /* in the node's map */
    size_t busy;                  /* events under way; of the node's lock */
    struct sl_interrupt interrupt;
    struct sl_task pull, ack;
    int32_t ack_start, ack_end;   /* of the ack task, as `ack_tries` */
    unsigned ack_tries;
    bool ack_started;
};

#endif
