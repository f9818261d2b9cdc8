/* describe.c - log files described, read piece by piece. */
#include "table/log/describe.h"

#include <string.h>

#include "base/sys.h"
#include "format/hudi_describe.h"
#include "format/hudi_names.h"

struct file {
    struct sl_store *store;
    sl_str name;
    struct sl_buf piece;
};

static int read_piece(void *user, int64_t offset, size_t n, char *to, sl_err *err)
{
    struct file *f = user;

    SL_TRY(sl_cancel_check(err));
    SL_TRY(sl_store_get_range(f->store, f->name, (uint64_t)offset, n, &f->piece, err));
    memcpy(to, f->piece.p, n);
    return SL_OK;
}

bool sl_log_file_is(struct sl_store *s, sl_str name)
{
    struct sl_hudi_log_name parsed;
    struct sl_buf head = SL_BUF_INIT;
    sl_err quiet = SL_ERR_INIT;

    if (sl_hudi_log_parse(name, &parsed))
        return true;
    bool is = sl_store_get_range(s, name, 0, 6, &head, &quiet) == SL_OK && sl_str_eqc(sl_buf_view(&head), "#HUDI#");
    sl_buf_release(&head);
    return is;
}

int sl_log_file_inspect(struct sl_store *s, sl_str name, bool json, struct sl_buf *out, sl_err *err)
{
    struct file f = {.store = s, .name = name};
    struct sl_hudi_source source = {.read = read_piece, .user = &f};
    struct sl_stat st;
    json_t *doc = NULL;
    int rc;

    SL_GO(sl_store_stat(s, name, &st, err));
    source.size = (int64_t)st.size;
    SL_GO(sl_hudi_log_describe(&source, &doc, err));
    if (json) {
        sl_json_dump(out, doc, true);
        sl_buf_ch(out, '\n');
    } else {
        sl_hudi_log_text(name, doc, out);
    }
    rc = sl_buf_ok(out, err);
done:
    json_decref(doc);
    sl_buf_release(&f.piece);
    return rc;
}
