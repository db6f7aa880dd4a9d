//! sled 0.34 (the last one with transactions over several trees): four trees, one transaction, flushed before it returns.
//! Its flush is `sync_file_range`, which empties no disk cache and writes no metadata: what it acknowledges survives a
//! kill, not a loss of power. It has no other. So its writing is no equal of the others' (`slow_flush` does slow it).
//! Snapshots it has none: a reader sees the newest state at each lookup, also what is not flushed yet.

use crate::*;
use sled::transaction::{ConflictableTransactionError, TransactionError, Transactional};
use sled::{Batch, Tree};

struct Sled {
    db: sled::Db,
    changes: Tree,
    deltas: Tree,
    refs: Tree,
    reflog: Tree,
}

pub fn open(directory: &str) -> Outcome<Arc<dyn Database>> {
    let db = sled::Config::new()
        .path(format!("{directory}/store.sled"))
        .cache_capacity(1 << 30)
        .flush_every_ms(None)
        .open()?;
    let (changes, deltas, refs, reflog) =
        (db.open_tree("changes")?, db.open_tree("deltas")?, db.open_tree("refs")?, db.open_tree("reflog")?);
    Ok(Arc::new(Sled { db, changes, deltas, refs, reflog }))
}

impl Database for Sled {
    fn session(self: Arc<Self>) -> Outcome<Box<dyn Session>> {
        Ok(Box::new(SledSession { store: self }))
    }
    fn settle(&self) -> Outcome<()> {
        self.db.flush()?;
        Ok(())
    }
}

struct SledSession {
    store: Arc<Sled>,
}

enum Refusal {
    Lost,
    Broken(Failure),
}

fn broken(error: impl Into<Failure>) -> ConflictableTransactionError<Refusal> {
    ConflictableTransactionError::Abort(Refusal::Broken(error.into()))
}

impl Session for SledSession {
    fn commit(&mut self, commit: &Commit) -> Outcome<Reply> {
        let store = &*self.store;
        let tries = std::cell::Cell::new(0u32);
        let result = (&store.changes, &store.deltas, &store.refs, &store.reflog).transaction(
            |(changes, deltas, refs, reflog)| {
                tries.set(tries.get() + 1);
                let mut generation = 1;
                if commit.change.parent != NONE {
                    let parent = changes.get(commit.change.parent)?.ok_or_else(|| broken("the parent is not there"))?;
                    generation = generation_of(&parent).map_err(broken)? + 1;
                }
                let before = match refs.get(commit.name)? {
                    Some(row) => RefRow::decode(&row).map_err(broken)?,
                    None => RefRow::absent(),
                };
                if commit.expected.is_some_and(|expected| *expected != before.value) {
                    return Err(ConflictableTransactionError::Abort(Refusal::Lost));
                }
                if changes.insert(&commit.change.id, &commit.change.row(generation)[..])?.is_some() {
                    return Err(broken("the change is there already"));
                }
                deltas.insert(&commit.change.delta_key()[..], &[])?;
                let after = RefRow { value: commit.change.id, moves: before.moves + 1 };
                refs.insert(commit.name, &after.encode()[..])?;
                let row = reflog_row(&before.value, &after.value, commit.change.time_ns);
                reflog.insert(reflog_key(commit.name, after.moves), &row[..])?;
                changes.flush();
                Ok(())
            },
        );
        let busy = tries.get().saturating_sub(1);
        match result {
            Ok(()) => Ok(Reply { landed: true, busy }),
            Err(TransactionError::Abort(Refusal::Lost)) => Ok(Reply { landed: false, busy }),
            Err(TransactionError::Abort(Refusal::Broken(error))) => Err(error),
            Err(TransactionError::Storage(error)) => Err(error.into()),
        }
    }

    fn read_ref(&mut self, name: &[u8]) -> Outcome<Option<Id>> {
        self.store.refs.get(name)?.map(|row| Ok(RefRow::decode(&row)?.value)).transpose()
    }

    fn load(&mut self, loaded: &[Change]) -> Outcome<()> {
        let (mut changes, mut deltas) = (Batch::default(), Batch::default());
        for change in loaded {
            changes.insert(&change.id, &change.row(1)[..]);
            deltas.insert(&change.delta_key()[..], &[]);
        }
        self.store.changes.apply_batch(changes)?;
        self.store.deltas.apply_batch(deltas)?;
        self.store.db.flush()?;
        Ok(())
    }

    fn begin_reads(&mut self) -> Outcome<()> {
        Ok(())
    }
    fn end_reads(&mut self) {}
    fn find_id(&mut self, id: &Id) -> Outcome<Option<u64>> {
        Ok(self.store.changes.get(id)?.map(|row| touched(&row)))
    }
    fn find_prefix(&mut self, prefix: &[u8]) -> Outcome<Option<u64>> {
        Ok(self.store.changes.scan_prefix(prefix).next().transpose()?.map(|(key, _)| key.len() as u64))
    }
    fn find_delta(&mut self, delta: &Id) -> Outcome<Option<u64>> {
        Ok(self.store.deltas.scan_prefix(delta).next().transpose()?.map(|(key, _)| touched(&key[32..])))
    }
    fn find_fresh(&mut self, id: &Id) -> Outcome<Option<u64>> {
        self.find_id(id)
    }
    fn count(&mut self) -> Outcome<u64> {
        Ok(self.store.changes.iter().count() as u64)
    }
}
