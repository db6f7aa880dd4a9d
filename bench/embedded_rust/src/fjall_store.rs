//! fjall: an optimistic transactional database, four keyspaces, each commit with `PersistMode::SyncData` (fdatasync under
//! the lock of its journal: one flush a commit). A conflict is tried again. Bloom filters on, as point reads want.

use crate::*;
use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, PersistMode, Readable, Snapshot};

struct Fjall {
    db: OptimisticTxDatabase,
    changes: OptimisticTxKeyspace,
    deltas: OptimisticTxKeyspace,
    refs: OptimisticTxKeyspace,
    reflog: OptimisticTxKeyspace,
}

pub fn open(directory: &str) -> Outcome<Arc<dyn Database>> {
    let db = OptimisticTxDatabase::builder(format!("{directory}/store.fjall")).cache_size(1 << 30).open()?;
    let keyspace = |name| db.keyspace(name, KeyspaceCreateOptions::default);
    let (changes, deltas, refs, reflog) =
        (keyspace("changes")?, keyspace("deltas")?, keyspace("refs")?, keyspace("reflog")?);
    Ok(Arc::new(Fjall { db, changes, deltas, refs, reflog }))
}

impl Database for Fjall {
    fn session(self: Arc<Self>) -> Outcome<Box<dyn Session>> {
        Ok(Box::new(FjallSession { store: self, reads: None }))
    }
    fn settle(&self) -> Outcome<()> {
        for keyspace in [&self.changes, &self.deltas] {
            keyspace.inner().rotate_memtable_and_wait()?;
            keyspace.inner().major_compact()?;
        }
        Ok(())
    }
}

struct FjallSession {
    store: Arc<Fjall>,
    reads: Option<Snapshot>,
}

impl FjallSession {
    fn reads(&self) -> Outcome<&Snapshot> {
        Ok(self.reads.as_ref().ok_or("no snapshot")?)
    }
    fn first_with(&self, keyspace: &OptimisticTxKeyspace, prefix: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let entry = self.reads()?.prefix(keyspace, prefix).next();
        Ok(entry.map(|guard| guard.key()).transpose()?.map(|key| key.to_vec()))
    }
}

impl Session for FjallSession {
    fn commit(&mut self, commit: &Commit) -> Outcome<Reply> {
        let store = &*self.store;
        let mut busy = 0;
        loop {
            let mut txn = store.db.write_tx()?.durability(Some(PersistMode::SyncData));
            let mut generation = 1;
            if commit.change.parent != NONE {
                let parent = txn.get(&store.changes, commit.change.parent)?.ok_or("the parent is not there")?;
                generation = generation_of(&parent)? + 1;
            }
            let before = match txn.get(&store.refs, commit.name)? {
                Some(row) => RefRow::decode(&row)?,
                None => RefRow::absent(),
            };
            if commit.expected.is_some_and(|expected| *expected != before.value) {
                return Ok(Reply { landed: false, busy });
            }
            if txn.contains_key(&store.changes, commit.change.id)? {
                return Err("the change is there already".into());
            }
            txn.insert(&store.changes, commit.change.id, commit.change.row(generation));
            txn.insert(&store.deltas, commit.change.delta_key(), []);
            let after = RefRow { value: commit.change.id, moves: before.moves + 1 };
            txn.insert(&store.refs, commit.name, after.encode());
            let row = reflog_row(&before.value, &after.value, commit.change.time_ns);
            txn.insert(&store.reflog, reflog_key(commit.name, after.moves), row);
            if txn.commit()?.is_ok() {
                return Ok(Reply { landed: true, busy });
            }
            busy += 1;
        }
    }

    fn read_ref(&mut self, name: &[u8]) -> Outcome<Option<Id>> {
        self.store.refs.get(name)?.map(|row| Ok(RefRow::decode(&row)?.value)).transpose()
    }

    fn load(&mut self, loaded: &[Change]) -> Outcome<()> {
        let mut batch = self.store.db.inner().batch().durability(Some(PersistMode::SyncData));
        for change in loaded {
            batch.insert(self.store.changes.inner(), change.id, change.row(1));
            batch.insert(self.store.deltas.inner(), change.delta_key(), []);
        }
        batch.commit()?;
        Ok(())
    }

    fn begin_reads(&mut self) -> Outcome<()> {
        self.reads = Some(self.store.db.read_tx());
        Ok(())
    }
    fn end_reads(&mut self) {
        self.reads = None;
    }
    fn find_id(&mut self, id: &Id) -> Outcome<Option<u64>> {
        Ok(self.reads()?.get(&self.store.changes, id)?.map(|row| touched(&row)))
    }
    fn find_prefix(&mut self, prefix: &[u8]) -> Outcome<Option<u64>> {
        Ok(self.first_with(&self.store.changes, prefix)?.map(|key| key.len() as u64))
    }
    fn find_delta(&mut self, delta: &Id) -> Outcome<Option<u64>> {
        Ok(self.first_with(&self.store.deltas, delta)?.map(|key| touched(&key[32..])))
    }
    fn find_fresh(&mut self, id: &Id) -> Outcome<Option<u64>> {
        Ok(self.store.db.read_tx().get(&self.store.changes, id)?.map(|row| touched(&row)))
    }
    fn count(&mut self) -> Outcome<u64> {
        Ok(self.store.db.read_tx().len(&self.store.changes)? as u64)
    }
}
