/*
 * source.h - the inputs of a load in the order in which they are read, and the position in them.
 *
 * Standard input; files, and the files of folders; one file that grows and is rotated; folders that get new files. One
 * thread at a time. With an identity the files that are finished are listed in a log under the table's .sluice/ingest/,
 * whose length and hash stand in the position, so that the position itself stays small.
 */
#ifndef SL_INGEST_SOURCE_H
#define SL_INGEST_SOURCE_H

#include "ingest/place.h"
#include "sluice/ingest.h"
#include "store/store.h"

enum sl_source_kind { SL_SOURCE_STDIN, SL_SOURCE_FILES, SL_SOURCE_FOLLOW_FILE, SL_SOURCE_FOLLOW_FOLDER };

struct sl_rotated {
    struct sl_place start;          /* owned */
    int fd;                         /* kept open: its name may change at any time */
};

struct sl_source {
    enum sl_source_kind kind;
    SL_VEC(char *) inputs;          /* as given, absolute */
    SL_VEC(char *) queue;           /* files to read, from NEXT on */
    size_t next;
    int fd;                         /* of the file that is read; -1: none */
    bool regular;
    struct sl_place place;          /* of it; offset and lines are where reading began, until sl_source_position */
    uint64_t read_offset;           /* of the next byte that is read */
    struct sl_map *known;           /* path -> struct sl_place: read to there */
    struct sl_map *known_inodes;    /* device and inode -> the same places, borrowed */
    uint64_t total_bytes;           /* of the files of the queue when they were listed; 0 for a stream */
    int64_t rotated_at;             /* monotonic ns when the path was first seen to be another file, 0 = not */
    int64_t listed_at;              /* monotonic ns of the last look into the folder */
    /* of a followed file */
    SL_VEC(struct sl_rotated) rotated; /* files that come before the followed one, from ROTATED_NEXT on */
    size_t rotated_next;
    SL_VEC(struct sl_place) seen;   /* files beside it that were read, or are about to be, or are older than the load */
    bool beside_known, unlisted;
    bool whole_files;               /* Parquet: files are not read here, only their order is kept */
    /* with an identity */
    struct sl_store *store;         /* of the table; NULL: none */
    const char *identity;
    struct sl_hasher *hasher;       /* of standard input */
    struct sl_buf first;            /* its first bytes, when they were skipped: the header of CSV */
    char *log;                      /* path of the log under the store; NULL: none yet */
    uint64_t log_bytes;
    struct sl_hasher *log_hasher;
    struct sl_place last;           /* of the position that is gone on from, until a file is open */
    struct sl_buf log_pending;      /* lines not in it yet */
};

int sl_source_open(const struct sl_ingest_options *o, enum sl_ingest_format format, struct sl_store *store, const char *identity,
                   struct sl_source **out, sl_err *err) SL_WUR;
void sl_source_close(struct sl_source *s); /* NULL is fine */

/* Go on behind POSITION (its members as sl_source_position makes them). Before the first read. */
int sl_source_resume(struct sl_source *s, const json_t *position, sl_err *err) SL_WUR;
/* Go on at OFFSET of the one input, or at its end (UINT64_MAX). */
int sl_source_seek(struct sl_source *s, uint64_t offset, sl_err *err) SL_WUR;

enum sl_source_state {
    SL_SOURCE_DATA,     /* a file is open, there may be more of it */
    SL_SOURCE_WAIT,     /* nothing now, maybe later */
    SL_SOURCE_FINAL,    /* the open file has ended for good */
    SL_SOURCE_RESTART,  /* the open file was cut; it is read from its start again */
    SL_SOURCE_END,      /* no more input */
};
/* Open the next file; the one before is finished: OFFSET and LINES are its end. DATA, WAIT or END. */
int sl_source_next(struct sl_source *s, uint64_t offset, uint64_t lines, enum sl_source_state *state, sl_err *err) SL_WUR;
/* Up to N bytes; 0 with WAIT (also after a pause of a pipe), FINAL or RESTART. Waits at most 100 ms. */
int sl_source_read(struct sl_source *s, char *to, size_t n, size_t *got, enum sl_source_state *state, sl_err *err) SL_WUR;

/* The position behind OFFSET and LINES of the open file (if any), as members of a JSON object without braces. Finished files go to
 * the log first. CONSUMED: for standard input all bytes were given to sl_source_consumed. */
int sl_source_position(struct sl_source *s, uint64_t offset, uint64_t lines, struct sl_buf *out, sl_err *err) SL_WUR;
void sl_source_consumed(struct sl_source *s, sl_str bytes);
uint64_t sl_source_lag(const struct sl_source *s, uint64_t offset); /* bytes behind OFFSET of a followed input */
const char *sl_source_label(const struct sl_source *s);             /* of the open file, for people */

/* ---- inputs.c: what the operands name ---- */
int sl_inputs_list(struct sl_source *s, const sl_str *inputs, size_t n, bool follow, sl_err *err) SL_WUR;
/* Put the files of the folders that are not known yet into the queue. */
int sl_inputs_scan(struct sl_source *s, bool settled_only, sl_err *err) SL_WUR;
struct sl_paths {
    SL_VEC(char *) v;
};
void sl_paths_release(struct sl_paths *p);
/* The files beside PATH that are named as rotation names them, oldest first. */
int sl_inputs_rotated(const char *path, struct sl_paths *out, sl_err *err) SL_WUR;
const struct sl_place *sl_source_known(const struct sl_source *s, const char *path, uint64_t device, uint64_t inode);

/* ---- source.c, for follow.c ---- */
int sl_source_open_path(struct sl_source *s, const char *path, bool *opened, sl_err *err) SL_WUR; /* *OPENED is false if there is none (now) */
/* Read FD from START on. Takes over FD, also on failure, and START's path. */
int sl_source_take(struct sl_source *s, int fd, struct sl_place *start, sl_err *err) SL_WUR;
void sl_source_close_file(struct sl_source *s);
int sl_source_changed(const char *path, const char *why, sl_err *err); /* sets the error and returns its code */
bool sl_source_due(int64_t *last, int64_t millis);                     /* every so often; *LAST is 0 at first */

/* ---- follow.c: a file that grows and is rotated ---- */
void sl_follow_close(struct sl_source *s);
int sl_follow_see(struct sl_source *s, const struct sl_place *place, sl_err *err) SL_WUR; /* it is not to be read again */
/* Meet the files beside the followed one. READ: those not seen yet are read next, oldest first; else they are only seen. */
int sl_follow_look(struct sl_source *s, bool read, sl_err *err) SL_WUR;
int sl_follow_next(struct sl_source *s, bool *opened, sl_err *err) SL_WUR;
int sl_follow_end(struct sl_source *s, enum sl_source_state *state, sl_err *err) SL_WUR; /* no more bytes now: will there ever be? */
int sl_follow_resume(struct sl_source *s, const struct sl_place *at, sl_err *err) SL_WUR;

#endif
