/* Schema and settings of the SQLite contender, shared with the process-per-commit program (sqlite_cli.c).
 *
 * WAL with synchronous=FULL: durable at each commit, one flush of the WAL per transaction. WITHOUT ROWID: one b-tree
 * fewer to touch per table (5 dirty pages a commit with rowid tables, 4 with these). The refs row carries the number of
 * its moves, so the reflog's key needs no second look-up. */
#ifndef WEFT_BENCH_SQLITE_SETTINGS_H
#define WEFT_BENCH_SQLITE_SETTINGS_H

#define WEFT_SQLITE_SCHEMA                                                                                          \
  "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;"                                                                 \
  "CREATE TABLE changes(id BLOB PRIMARY KEY, delta BLOB NOT NULL, parent BLOB, generation INTEGER NOT NULL,"        \
  "  body BLOB NOT NULL) WITHOUT ROWID;"                                                                            \
  "CREATE INDEX changes_by_delta ON changes(delta);"                                                                \
  "CREATE TABLE refs(name TEXT PRIMARY KEY, value BLOB NOT NULL, moves INTEGER NOT NULL) WITHOUT ROWID;"            \
  "CREATE TABLE reflog(ref TEXT NOT NULL, move INTEGER NOT NULL, old BLOB, new BLOB NOT NULL, time_ns INTEGER NOT " \
  "NULL,"                                                                                                           \
  "  PRIMARY KEY(ref, move)) WITHOUT ROWID;"

/* cache_size: 64 MiB. wal_autocheckpoint: 4,000 pages (16 MiB) instead of 1,000: fewer checkpoints, each of them in
 * some writer's commit; beyond that the WAL index costs the readers more than the writers gain. */
#define WEFT_SQLITE_CONNECTION                                                      \
  "PRAGMA synchronous=FULL; PRAGMA cache_size=-65536; PRAGMA mmap_size=1073741824;" \
  "PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=4000;"

#define WEFT_SQLITE_FIND_CHANGE "SELECT generation FROM changes WHERE id=?1"
#define WEFT_SQLITE_FIND_REF "SELECT value, moves FROM refs WHERE name=?1"
#define WEFT_SQLITE_PUT_CHANGE "INSERT INTO changes(id, delta, parent, generation, body) VALUES(?1,?2,?3,?4,?5)"
#define WEFT_SQLITE_PUT_REF \
  "INSERT INTO refs(name, value, moves) VALUES(?1,?2,1) ON CONFLICT(name) DO UPDATE SET value=?2, moves=moves+1"
#define WEFT_SQLITE_PUT_REFLOG "INSERT INTO reflog(ref, move, old, new, time_ns) VALUES(?1,?2,?3,?4,?5)"

#endif
