/* view_priv.h - what the two files of the view share: the files that were listed, and what plans say of groups. */
#ifndef SL_TABLE_LOG_VIEW_PRIV_H
#define SL_TABLE_LOG_VIEW_PRIV_H

#include "table/log/view.h"

struct sl_found {
    struct sl_log_file file;
    size_t partition;
    bool is_log;
};

/* What instants say of a file group. */
struct sl_group_mark {
    int64_t pending;    /* of a compaction */
    int64_t replaced;   /* completed, and the view sees it */
};

struct sl_listing {
    struct sl_view *v;
    const struct sl_view_spec *spec;
    SL_VEC(struct sl_view_partition) partitions;
    SL_VEC(struct sl_found) files;
    struct sl_map *marks;   /* "<partition>\n<file id>" -> struct sl_group_mark of the view's arena */
};

int sl_view__plans(struct sl_listing *l, sl_err *err) SL_WUR;   /* view_plans.c */
int sl_view__groups(struct sl_listing *l, sl_err *err) SL_WUR;  /* view_groups.c */
/* NULL if nothing was said. */
const struct sl_group_mark *sl_view__mark(const struct sl_listing *l, const char *partition, sl_str file_id);

#endif
