/* catalog.c - databases and tables as folders of a warehouse. */
#include "table/catalog.h"

#include <string.h>

#include "base/sys.h"
#include "format/paimon.h"
#include "table/evolve.h"
#include "table/log/create.h"

struct sl_catalog {
    struct sl_store *store; /* owned */
};

int sl_catalog_open(sl_str warehouse, struct sl_catalog **out, sl_err *err)
{
    struct sl_catalog *c = sl_calloc(1, sizeof *c);

    *out = NULL;
    if (!c)
        return sl_err_nomem(err);
    int rc = sl_store_open_local(warehouse, &c->store, err);
    if (rc != SL_OK) {
        sl_free(c);
        return rc;
    }
    *out = c;
    return SL_OK;
}

void sl_catalog_close(struct sl_catalog *c)
{
    if (!c)
        return;
    sl_store_close(c->store);
    sl_free(c);
}

struct sl_store *sl_catalog_store(struct sl_catalog *c)
{
    return c->store;
}

const char *sl_catalog_warehouse(const struct sl_catalog *c)
{
    return sl_store_root(c->store);
}

/* ---- names ---- */

void sl_names_release(struct sl_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        sl_free(names->v[i]);
    sl_free(names->v);
    *names = (struct sl_names){NULL, 0, 0};
}

int sl_names_add(struct sl_names *names, sl_str name, sl_err *err)
{
    char **to = sl_vec_push(names);

    if (to && (*to = sl_str_dup(name)))
        return SL_OK;
    if (to)
        names->n--;
    return sl_err_nomem(err);
}

static int check_name(const char *what, sl_str name, sl_err *err)
{
    enum { NAME_MAX_BYTES = 200 };
    size_t bad;

    if (name.n == 0)
        return sl_err_set(err, SL_EINPUT, "the name of the %s is empty", what);
    if (name.n > NAME_MAX_BYTES)
        return sl_err_set(err, SL_EINPUT, "the name of the %s is longer than %d bytes", what, NAME_MAX_BYTES);
    if (!sl_utf8_valid(name, &bad))
        return sl_err_set(err, SL_EINPUT, "the name of the %s is not valid UTF-8 text", what);
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < 0x20 || strchr("/\\$", name.p[i]))
            return sl_err_set(err, SL_EINPUT, "the name \"" SL_STRF "\" of the %s contains a character that is not allowed in it",
                              SL_STRV(name), what);
    if (name.p[0] == '.')
        return sl_err_set(err, SL_EINPUT, "the name \"" SL_STRF "\" of the %s starts with a dot", SL_STRV(name), what);
    return SL_OK;
}

static bool is_default(sl_str db)
{
    return sl_str_eqc(db, SL_DEFAULT_DATABASE);
}

static int db_path(sl_str db, struct sl_buf *out, sl_err *err)
{
    SL_TRY(check_name("database", db, err));
    sl_buf_printf(out, SL_STRF ".db", SL_STRV(db));
    return sl_buf_ok(out, err);
}

static int table_path(sl_str db, sl_str table, const char *below, struct sl_buf *out, sl_err *err)
{
    SL_TRY(check_name("database", db, err));
    SL_TRY(check_name("table", table, err));
    sl_buf_printf(out, SL_STRF ".db/" SL_STRF "%s", SL_STRV(db), SL_STRV(table), below);
    return sl_buf_ok(out, err);
}

int sl_catalog_table_path(struct sl_catalog *c, sl_str db, sl_str table, struct sl_buf *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc = table_path(db, table, "", &path, err);

    if (rc == SL_OK)
        rc = sl_store_path(c->store, sl_buf_view(&path), out, err);
    sl_buf_release(&path);
    return rc;
}

/* ---- databases ---- */

int sl_catalog_databases(struct sl_catalog *c, struct sl_names *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    bool has_default = false;
    int rc;

    SL_GO(sl_store_list(c->store, SL_LIT(""), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        sl_str name = sl_str_c(all.v[i].name);

        if (!all.v[i].is_dir || name.n <= 3 || name.p[0] == '.' || !sl_str_ends(name, ".db"))
            continue;
        name = sl_str_sub(name, 0, name.n - 3);
        has_default = has_default || is_default(name);
        SL_GO(sl_names_add(out, name, err));
    }
    if (!has_default) {
        SL_GO(sl_names_add(out, SL_LIT(SL_DEFAULT_DATABASE), err));
        for (size_t i = out->n - 1; i > 0 && strcmp(out->v[i - 1], out->v[i]) > 0; i--) {
            char *other = out->v[i - 1];

            out->v[i - 1] = out->v[i];
            out->v[i] = other;
        }
    }
done:
    sl_entries_release(&all);
    return rc;
}

/* A name that cannot be one names nothing. */
static int no_name(int rc, sl_err *err)
{
    if (rc != SL_EINPUT)
        return rc;
    sl_err_clear(err);
    return SL_OK;
}

int sl_catalog_has_database(struct sl_catalog *c, sl_str db, bool *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_stat st = {0};
    int rc = SL_OK;

    *out = is_default(db);
    if (*out)
        return SL_OK;
    rc = db_path(db, &path, err);
    if (rc != SL_OK) {
        rc = no_name(rc, err);
        goto done;
    }
    rc = sl_store_stat(c->store, sl_buf_view(&path), &st, err);
    *out = rc == SL_OK && st.is_dir;
    if (rc == SL_ENOTFOUND) {
        sl_err_clear(err);
        rc = SL_OK;
    }
done:
    sl_buf_release(&path);
    return rc;
}

static int no_database(sl_str db, sl_err *err)
{
    return sl_err_set(err, SL_ENOTFOUND, "there is no database \"" SL_STRF "\"", SL_STRV(db));
}

int sl_catalog_create_database(struct sl_catalog *c, sl_str db, bool if_not_exists, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    bool has;
    int rc;

    SL_GO(db_path(db, &path, err));
    SL_GO(sl_catalog_has_database(c, db, &has, err));
    if (has) {
        if (!if_not_exists)
            rc = sl_err_set(err, SL_EEXISTS, "the database \"" SL_STRF "\" exists already", SL_STRV(db));
        goto done;
    }
    SL_GO(sl_store_mkdirs(c->store, sl_buf_view(&path), err));
done:
    sl_buf_release(&path);
    return rc;
}

/* Take a folder out of sight in one step, then remove what is in it. */
static int drop_tree(struct sl_catalog *c, sl_str path, sl_str parent, sl_err *err)
{
    struct sl_buf away = SL_BUF_INIT;
    char uuid[37];
    int rc;

    sl_uuid(uuid);
    sl_buf_printf(&away, ".sluice/dropped-%s", uuid);
    SL_GO(sl_buf_ok(&away, err));
    SL_GO(sl_store_mkdirs(c->store, SL_LIT(".sluice"), err));
    SL_GO(sl_store_rename(c->store, path, sl_buf_view(&away), err));
    SL_GO(sl_store_sync_dir(c->store, parent, err));
    SL_GO(SL_FAILPOINT("drop.after_rename", err));
    SL_GO(sl_store_remove_tree(c->store, sl_buf_view(&away), err));
done:
    sl_buf_release(&away);
    return rc;
}

int sl_catalog_drop_database(struct sl_catalog *c, sl_str db, bool if_exists, bool cascade, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    struct sl_names tables = {NULL, 0, 0};
    bool has;
    int rc;

    SL_GO(db_path(db, &path, err));
    SL_GO(sl_store_exists(c->store, sl_buf_view(&path), &has, err));
    if (!has) {
        if (!if_exists && !is_default(db))
            rc = no_database(db, err);
        goto done;
    }
    SL_GO(sl_catalog_tables(c, db, &tables, err));
    if (tables.n && !cascade) {
        rc = sl_err_set(err, SL_EINPUT, "the database \"" SL_STRF "\" has %zu table%s, the first is \"%s\"", SL_STRV(db), tables.n,
                        tables.n == 1 ? "" : "s", tables.v[0]);
        sl_err_hint(err, "DROP DATABASE ... CASCADE drops them too");
        goto done;
    }
    SL_GO(drop_tree(c, sl_buf_view(&path), SL_LIT(""), err));
done:
    sl_buf_release(&path);
    sl_names_release(&tables);
    return rc;
}

/* ---- tables ---- */

bool sl_numbered_name(const char *name, const char *prefix, int64_t *out)
{
    sl_str s = sl_str_c(name);

    if (!sl_str_starts(s, prefix))
        return false;
    s = sl_str_sub(s, strlen(prefix), s.n);
    if (s.n == 0 || s.p[0] < '0' || s.p[0] > '9')
        return false;
    return sl_parse_i64(s, out);
}

/* The greatest N of a schema-N in FOLDER; -1 if there is none. */
static int newest_schema(struct sl_store *store, sl_str folder, int64_t *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    int64_t id;

    *out = -1;
    int rc = sl_store_list(store, folder, false, &all, err);
    for (size_t i = 0; i < all.n && rc == SL_OK; i++)
        if (sl_numbered_name(all.v[i].name, "schema-", &id) && id > *out)
            *out = id;
    sl_entries_release(&all);
    return rc;
}

/* FOLDER: "" or with a '/' at its end. A Hudi table exists once its properties do; while they are replaced their backup stands for them. */
static int kind_of(struct sl_store *store, const char *folder, enum sl_table_kind *out, sl_err *err)
{
    static const char *const files[] = {".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup"};
    struct sl_buf path = SL_BUF_INIT;
    int64_t id = -1;
    bool is = false;
    int rc;

    *out = SL_TABLE_NONE;
    sl_buf_printf(&path, "%sschema", folder);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(newest_schema(store, sl_buf_view(&path), &id, err));
    if (id >= 0)
        *out = SL_TABLE_APPEND;
    for (size_t i = 0; i < 2 && *out == SL_TABLE_NONE; i++) {
        sl_buf_reset(&path);
        sl_buf_printf(&path, "%s%s", folder, files[i]);
        SL_GO(sl_buf_ok(&path, err));
        SL_GO(sl_store_exists(store, sl_buf_view(&path), &is, err));
        if (is)
            *out = SL_TABLE_LOG;
    }
done:
    sl_buf_release(&path);
    return rc;
}

int sl_catalog_table_kind(struct sl_catalog *c, sl_str db, sl_str table, enum sl_table_kind *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT;
    int rc = table_path(db, table, "/", &path, err);

    *out = SL_TABLE_NONE;
    if (rc == SL_OK)
        rc = kind_of(c->store, path.p, out, err);
    else
        rc = no_name(rc, err);
    sl_buf_release(&path);
    return rc;
}

int sl_catalog_has_table(struct sl_catalog *c, sl_str db, sl_str table, bool *out, sl_err *err)
{
    enum sl_table_kind kind;
    const int rc = sl_catalog_table_kind(c, db, table, &kind, err);

    *out = rc == SL_OK && kind != SL_TABLE_NONE;
    return rc;
}

int sl_table_kind_of_path(sl_str path, enum sl_table_kind *out, sl_err *err)
{
    struct sl_store *store = NULL;
    int rc;

    *out = SL_TABLE_NONE;
    rc = sl_store_open_local(path, &store, err);
    if (rc == SL_OK)
        rc = kind_of(store, "", out, err);
    sl_store_close(store);
    return rc;
}

int sl_catalog_tables(struct sl_catalog *c, sl_str db, struct sl_names *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf path = SL_BUF_INIT;
    bool has;
    int rc;

    SL_GO(db_path(db, &path, err));
    SL_GO(sl_catalog_has_database(c, db, &has, err));
    if (!has) {
        rc = no_database(db, err);
        goto done;
    }
    SL_GO(sl_store_list(c->store, sl_buf_view(&path), false, &all, err));
    for (size_t i = 0; i < all.n; i++) {
        if (!all.v[i].is_dir || all.v[i].name[0] == '.')
            continue;
        SL_GO(sl_catalog_has_table(c, db, sl_str_c(all.v[i].name), &has, err));
        if (has)
            SL_GO(sl_names_add(out, sl_str_c(all.v[i].name), err));
    }
done:
    sl_entries_release(&all);
    sl_buf_release(&path);
    return rc;
}

static int exists_already(sl_str db, sl_str table, sl_err *err)
{
    return sl_err_set(err, SL_EEXISTS, "the table \"" SL_STRF "." SL_STRF "\" exists already", SL_STRV(db), SL_STRV(table));
}

static int no_table(sl_str db, sl_str table, sl_err *err)
{
    return sl_err_set(err, SL_ENOTFOUND, "there is no table \"" SL_STRF "." SL_STRF "\"", SL_STRV(db), SL_STRV(table));
}

int sl_catalog_create_table(struct sl_catalog *c, sl_str db, sl_str table, const struct sl_table_def *def, bool if_not_exists,
                            bool *created, sl_err *err)
{
    struct sl_schema schema;
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    bool has;
    int rc;

    if (created)
        *created = false;
    memset(&schema, 0, sizeof schema);
    SL_GO(table_path(db, table, "/schema/schema-0", &path, err));
    SL_GO(sl_catalog_has_database(c, db, &has, err));
    if (!has) {
        rc = no_database(db, err);
        goto done;
    }
    SL_GO(sl_catalog_has_table(c, db, table, &has, err));
    if (has) {
        rc = if_not_exists ? SL_OK : exists_already(db, table, err);
        goto done;
    }
    if (sl_log_create_wanted(def)) {
        rc = sl_log_create(c->store, sl_str_sub(sl_buf_view(&path), 0, path.n - strlen("/schema/schema-0")), db, table, def, err);
    } else {
        SL_GO(sl_schema_make(def, &schema, err));
        SL_GO(sl_paimon_schema_encode(&schema, &json, err));
        rc = sl_store_put_new(c->store, sl_buf_view(&path), sl_buf_view(&json), err);
    }
    if (rc == SL_OK && created)
        *created = true;
    if (rc == SL_EEXISTS)
        rc = if_not_exists ? SL_OK : exists_already(db, table, err);
done:
    sl_schema_release(&schema);
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

int sl_catalog_drop_table(struct sl_catalog *c, sl_str db, sl_str table, bool if_exists, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, parent = SL_BUF_INIT;
    bool has;
    int rc;

    SL_GO(table_path(db, table, "", &path, err));
    SL_GO(db_path(db, &parent, err));
    SL_GO(sl_catalog_has_table(c, db, table, &has, err));
    if (!has) {
        rc = if_exists ? SL_OK : no_table(db, table, err);
        goto done;
    }
    rc = drop_tree(c, sl_buf_view(&path), sl_buf_view(&parent), err);
    if (rc == SL_ENOTFOUND)
        rc = if_exists ? SL_OK : no_table(db, table, err);
done:
    sl_buf_release(&path);
    sl_buf_release(&parent);
    return rc;
}

/* ---- alter ---- */

enum { SCHEMA_BYTES_MAX = 64 << 20 };

static int read_schema(struct sl_catalog *c, sl_str folder, int64_t id, struct sl_schema *out, sl_err *err)
{
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    int rc;

    sl_buf_printf(&path, SL_STRF "/schema-%lld", SL_STRV(folder), (long long)id);
    SL_GO(sl_buf_ok(&path, err));
    SL_GO(sl_store_get(c->store, sl_buf_view(&path), SCHEMA_BYTES_MAX, &json, err));
    rc = sl_paimon_schema_decode(sl_buf_view(&json), out, err);
    if (rc != SL_OK)
        sl_err_ctx(err, "\"%s/" SL_STRF "\"", sl_catalog_warehouse(c), SL_STRV(sl_buf_view(&path)));
done:
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

static int has_snapshot(struct sl_catalog *c, sl_str db, sl_str table, bool *out, sl_err *err)
{
    struct sl_entries all = {NULL, 0, 0};
    struct sl_buf path = SL_BUF_INIT;
    int64_t id;
    int rc;

    *out = false;
    SL_GO(table_path(db, table, "/snapshot", &path, err));
    SL_GO(sl_store_list(c->store, sl_buf_view(&path), false, &all, err));
    for (size_t i = 0; i < all.n && !*out; i++)
        *out = sl_numbered_name(all.v[i].name, "snapshot-", &id);
done:
    sl_entries_release(&all);
    sl_buf_release(&path);
    return rc;
}

/* One try on the newest schema; *LOST if another was faster. */
static int alter_once(struct sl_catalog *c, sl_str folder, int64_t newest, bool has_data, const struct sl_change *changes, size_t n,
                      bool *lost, sl_err *err)
{
    struct sl_schema from, to;
    struct sl_buf path = SL_BUF_INIT, json = SL_BUF_INIT;
    bool changed = false;
    int rc;

    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    SL_GO(read_schema(c, folder, newest, &from, err));
    if (from.nprimary) {
        rc = sl_err_set(err, SL_EUNSUPPORTED, "the table has a primary key: Paimon's primary-key tables are not supported");
        goto done;
    }
    SL_GO(sl_schema_change(&from, changes, n, has_data, &to, &changed, err));
    if (!changed)
        goto done;
    SL_GO(sl_paimon_schema_encode(&to, &json, err));
    sl_buf_printf(&path, SL_STRF "/schema-%lld", SL_STRV(folder), (long long)to.id);
    SL_GO(sl_buf_ok(&path, err));
    rc = sl_store_put_new(c->store, sl_buf_view(&path), sl_buf_view(&json), err);
    *lost = rc == SL_EEXISTS;
done:
    sl_schema_release(&from);
    sl_schema_release(&to);
    sl_buf_release(&path);
    sl_buf_release(&json);
    return rc;
}

int sl_catalog_alter_table(struct sl_catalog *c, sl_str db, sl_str table, const struct sl_change *changes, size_t n, sl_err *err)
{
    struct sl_buf folder = SL_BUF_INIT;
    enum sl_table_kind kind;
    int64_t newest;
    bool has_data, lost;
    int rc;

    SL_GO(table_path(db, table, "/schema", &folder, err));
    do {
        lost = false;
        SL_GO(sl_cancel_check(err));
        SL_GO(newest_schema(c->store, sl_buf_view(&folder), &newest, err));
        SL_GO(sl_catalog_table_kind(c, db, table, &kind, err));
        if (kind == SL_TABLE_LOG) {
            rc = sl_err_set(err, SL_EUNSUPPORTED, "\"" SL_STRF "." SL_STRF "\" is a log table, for which ALTER TABLE is not supported",
                            SL_STRV(db), SL_STRV(table));
            goto done;
        }
        if (newest < 0) {
            rc = no_table(db, table, err);
            goto done;
        }
        SL_GO(has_snapshot(c, db, table, &has_data, err));
        rc = alter_once(c, sl_buf_view(&folder), newest, has_data, changes, n, &lost, err);
    } while (lost);
done:
    sl_buf_release(&folder);
    return rc;
}
