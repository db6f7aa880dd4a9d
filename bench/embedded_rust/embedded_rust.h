/* redb, fjall and sled behind one C interface (src/lib.rs). Strings end with a zero byte, ids have 32 bytes. A call that
 * fails returns null or a negative number; er_error() then has the sentence, for the calling thread, until its next
 * failure. A database is shared by threads, a session belongs to one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ER_BODY_BYTES = 200 };

struct er_change {
  uint8_t id[32];
  uint8_t delta[32];
  uint8_t parent[32]; /* zeros: none */
  uint8_t body[ER_BODY_BYTES];
  int64_t time_ns;
};

typedef struct er_database er_database;
typedef struct er_session er_session;

const char* er_error(void);

/* kind: redb, redb:processes, redb:quick-repair, fjall, sled. */
er_database* er_open(const char* kind, const char* directory, bool create);
void er_close(er_database* database);
int32_t er_settle(er_database* database);
er_session* er_session_new(er_database* database);
void er_session_end(er_session* session);

/* expected: the id the ref must hold (zeros: it must not exist); null: move it from whatever it holds.
 * 1: landed; 0: the compare-and-swap lost. */
int32_t er_commit(er_session* session, const struct er_change* change, const uint8_t* name, size_t name_bytes,
                  const uint8_t* expected, uint32_t* busy);
/* 1: found; 0: there is none. */
int32_t er_read_ref(er_session* session, const uint8_t* name, size_t name_bytes, uint8_t* id);
/* Changes without a ref, one transaction. */
int32_t er_load(er_session* session, const struct er_change* changes, size_t count);

int32_t er_begin_reads(er_session* session);
void er_end_reads(er_session* session);
enum { ER_BY_ID = 0, ER_BY_PREFIX = 1, ER_BY_DELTA = 2, ER_FRESH = 3 };
/* Bytes touched; -1: not there; -2: an error. */
int64_t er_find(er_session* session, uint32_t what, const uint8_t* key, size_t key_bytes);
int64_t er_count(er_session* session);

#ifdef __cplusplus
}
#endif
