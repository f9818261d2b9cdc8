/*
 * node.h - what modules above need of a node beside include/sluice/exchange.h.
 */
#ifndef SL_EXCHANGE_NODE_H
#define SL_EXCHANGE_NODE_H

#include "exchange/mempool.h"
#include "exchange/server.h"
#include "exchange/settings.h"
#include "sluice/exchange.h"

/* Answers to the calls that are IoTDB's for a channel: SINK NULL stands for an instance that is unknown. */
int sl_exchange_answer_get(const struct sl_settings *settings, struct sl_sink *sink, const struct sl_mpp_get *get, struct sl_answer *answer,
                           sl_err *err) SL_WUR;


#endif
