/* sqlite_cli: one commit per process on SQLite, what `weft commit --parent REF --changes FILE --advance REF` is
 * compared with.
 *
 *   sqlite_cli --init DB
 *   sqlite_cli DB REF FILE [queue]
 *                               records FILE's bytes as a change on REF's value and moves REF to it, in one
 * transaction; waits with a busy handler, or on flock(2) of a file beside the database sqlite_cli --count DB prints the
 * number of changes
 *
 * Schema and settings are the contender's (sqlite_settings.h). One more that matters to short-lived processes: the WAL
 * is kept and not checkpointed when the last connection closes (or each lone process would flush it into the database
 * and delete it). */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "sqlite_settings.h"

static int fail(sqlite3* db, const char* what) {
  fprintf(stderr, "sqlite_cli: %s: %s\n", what, db ? sqlite3_errmsg(db) : "no database");
  return 1;
}

/* Sleeps 0.1 to 1 ms with jitter. */
static int on_busy(void* context, int count) {
  unsigned* random = context;
  *random = *random * 1664525u + 1013904223u;
  usleep(100 + (*random >> 8) % 900);
  return count < 600000;
}

/* Returns the descriptor that holds the lock. */
static int wait_for_turn(const char* db_path) {
  char path[4096];
  if (snprintf(path, sizeof(path), "%s.queue", db_path) >= (int)sizeof(path)) return -1;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return fd >= 0 && flock(fd, LOCK_EX) == 0 ? fd : -1;
}

static sqlite3_stmt* prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = NULL;
  return sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static int commit(sqlite3* db, const char* ref, const char* body, int body_bytes) {
  unsigned char id[64]; /* id and delta id */
  unsigned char parent[32];
  sqlite3_int64 generation = 1, moves = 0;
  int have_parent = 0;
  if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id)) return fail(NULL, "getrandom");
  if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK) return fail(db, "begin");
  sqlite3_stmt* find_ref = prepare(db, WEFT_SQLITE_FIND_REF);
  sqlite3_stmt* find_change = prepare(db, WEFT_SQLITE_FIND_CHANGE);
  sqlite3_stmt* put_change = prepare(db, WEFT_SQLITE_PUT_CHANGE);
  sqlite3_stmt* put_ref = prepare(db, WEFT_SQLITE_PUT_REF);
  sqlite3_stmt* put_reflog = prepare(db, WEFT_SQLITE_PUT_REFLOG);
  if (!find_ref || !find_change || !put_change || !put_ref || !put_reflog) return fail(db, "prepare");
  sqlite3_bind_text(find_ref, 1, ref, -1, SQLITE_STATIC);
  if (sqlite3_step(find_ref) == SQLITE_ROW && sqlite3_column_bytes(find_ref, 0) == 32) {
    memcpy(parent, sqlite3_column_blob(find_ref, 0), 32);
    moves = sqlite3_column_int64(find_ref, 1);
    have_parent = 1;
  }
  sqlite3_bind_blob(find_change, 1, id, 32, SQLITE_STATIC);
  if (sqlite3_step(find_change) == SQLITE_ROW) return fail(NULL, "change is not new");
  sqlite3_reset(find_change);
  if (have_parent) {
    sqlite3_bind_blob(find_change, 1, parent, 32, SQLITE_STATIC);
    if (sqlite3_step(find_change) != SQLITE_ROW) return fail(db, "parent not found");
    generation = sqlite3_column_int64(find_change, 0) + 1;
  }
  sqlite3_bind_blob(put_change, 1, id, 32, SQLITE_STATIC);
  sqlite3_bind_blob(put_change, 2, id + 32, 32, SQLITE_STATIC);
  if (have_parent) sqlite3_bind_blob(put_change, 3, parent, 32, SQLITE_STATIC);
  sqlite3_bind_int64(put_change, 4, generation);
  sqlite3_bind_blob(put_change, 5, body, body_bytes, SQLITE_STATIC);
  if (sqlite3_step(put_change) != SQLITE_DONE) return fail(db, "put change");
  sqlite3_bind_text(put_ref, 1, ref, -1, SQLITE_STATIC);
  sqlite3_bind_blob(put_ref, 2, id, 32, SQLITE_STATIC);
  if (sqlite3_step(put_ref) != SQLITE_DONE) return fail(db, "put ref");
  sqlite3_bind_text(put_reflog, 1, ref, -1, SQLITE_STATIC);
  sqlite3_bind_int64(put_reflog, 2, moves + 1);
  if (have_parent) sqlite3_bind_blob(put_reflog, 3, parent, 32, SQLITE_STATIC);
  sqlite3_bind_blob(put_reflog, 4, id, 32, SQLITE_STATIC);
  sqlite3_bind_int64(put_reflog, 5, 1);
  if (sqlite3_step(put_reflog) != SQLITE_DONE) return fail(db, "put reflog");
  sqlite3_finalize(find_ref);
  sqlite3_finalize(find_change);
  sqlite3_finalize(put_change);
  sqlite3_finalize(put_ref);
  sqlite3_finalize(put_reflog);
  return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, "commit");
}

int main(int argc, char** argv) {
  sqlite3* db = NULL;
  unsigned random = (unsigned)getpid() * 2654435761u;
  int yes = 1, result = 0;
  if (argc == 3 && strcmp(argv[1], "--init") == 0) {
    if (sqlite3_open(argv[2], &db) != SQLITE_OK) return fail(db, "open");
    if (sqlite3_exec(db, WEFT_SQLITE_SCHEMA, NULL, NULL, NULL) != SQLITE_OK) return fail(db, "schema");
    sqlite3_close(db);
    return 0;
  }
  const int counting = argc == 3 && strcmp(argv[1], "--count") == 0;
  const int queue = argc == 5 && strcmp(argv[4], "queue") == 0;
  if (argc != 4 && !counting && !queue) {
    fprintf(stderr, "usage: sqlite_cli DB REF FILE [queue] | --init DB | --count DB\n");
    return 2;
  }
  if (sqlite3_open_v2(argv[counting ? 2 : 1], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
    return fail(db, "open");
  }
  sqlite3_busy_handler(db, on_busy, &random);
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
  if (sqlite3_exec(db, WEFT_SQLITE_CONNECTION, NULL, NULL, NULL) != SQLITE_OK) return fail(db, "pragma");
  if (counting) {
    sqlite3_stmt* count = prepare(db, "SELECT count(*) FROM changes");
    if (!count || sqlite3_step(count) != SQLITE_ROW) return fail(db, "count");
    printf("%lld\n", (long long)sqlite3_column_int64(count, 0));
    sqlite3_finalize(count);
  } else {
    char body[65536];
    const int fd = open(argv[3], O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, body, sizeof(body));
    if (size < 0) return fail(NULL, argv[3]);
    close(fd);
    const int turn = queue ? wait_for_turn(argv[1]) : 0;
    if (turn < 0) return fail(NULL, "queue");
    result = commit(db, argv[2], body, (int)size);
    if (queue) close(turn);
  }
  sqlite3_close(db);
  return result;
}
