//! redb: one file, four tables, `Durability::Immediate` (its default: one-phase commit, checksums). Writers queue inside
//! it; each commit is one flush.
//!
//! `redb:processes` is its multi-writer mode (several processes, two-phase commits with the allocator state in each).
//! `redb:quick-repair` keeps the allocator state in each commit, so that opening after a kill need not walk the file.

use crate::*;
use redb::{
    Builder, ConcurrencyMode, MultimapTableDefinition, ReadOnlyMultimapTable, ReadOnlyTable, ReadableDatabase,
    ReadableTable, ReadableTableMetadata, TableDefinition,
};

const CHANGES: TableDefinition<&Id, &[u8; CHANGE_ROW]> = TableDefinition::new("changes");
const DELTAS: MultimapTableDefinition<&Id, &Id> = MultimapTableDefinition::new("deltas");
const REFS: TableDefinition<&[u8], &[u8; REF_ROW]> = TableDefinition::new("refs");
const REFLOG: TableDefinition<&[u8], &[u8; REFLOG_ROW]> = TableDefinition::new("reflog");

#[derive(Clone, Copy, PartialEq)]
pub enum Sharing {
    Threads,
    Processes,
    QuickRepair,
}

struct Redb {
    db: redb::Database,
    sharing: Sharing,
}

pub fn open(directory: &str, create: bool, sharing: Sharing) -> Outcome<Arc<dyn Database>> {
    let path = format!("{directory}/store.redb");
    let mut builder = Builder::new();
    if sharing == Sharing::Processes {
        builder.set_concurrency_mode(ConcurrencyMode::MultiWriter);
    }
    let db = if create { builder.create(path)? } else { builder.open(path)? };
    let store = Redb { db, sharing };
    if create {
        let txn = store.write()?;
        txn.open_table(CHANGES)?;
        txn.open_multimap_table(DELTAS)?;
        txn.open_table(REFS)?;
        txn.open_table(REFLOG)?;
        txn.commit()?;
    }
    Ok(Arc::new(store))
}

impl Redb {
    fn write(&self) -> Outcome<redb::WriteTransaction> {
        let mut txn = self.db.begin_write()?;
        if self.sharing == Sharing::QuickRepair {
            txn.set_quick_repair(true);
        }
        Ok(txn)
    }
}

impl Database for Redb {
    fn session(self: Arc<Self>) -> Outcome<Box<dyn Session>> {
        Ok(Box::new(RedbSession { store: self, reads: None }))
    }
    fn settle(&self) -> Outcome<()> {
        Ok(()) // compaction needs the database for itself, and rewrites what loading has just written in order
    }
}

struct Reads {
    changes: ReadOnlyTable<&'static Id, &'static [u8; CHANGE_ROW]>,
    deltas: ReadOnlyMultimapTable<&'static Id, &'static Id>,
}

struct RedbSession {
    store: Arc<Redb>,
    reads: Option<Reads>,
}

impl RedbSession {
    fn reads(&self) -> Outcome<&Reads> {
        Ok(self.reads.as_ref().ok_or("no read transaction")?)
    }
}

impl Session for RedbSession {
    fn commit(&mut self, commit: &Commit) -> Outcome<Reply> {
        let txn = self.store.write()?;
        {
            let mut changes = txn.open_table(CHANGES)?;
            let mut refs = txn.open_table(REFS)?;
            let mut generation = 1;
            if commit.change.parent != NONE {
                let parent = changes.get(&commit.change.parent)?.ok_or("the parent is not there")?;
                generation = generation_of(parent.value())? + 1;
            }
            let before = match refs.get(commit.name)? {
                Some(row) => RefRow::decode(row.value())?,
                None => RefRow::absent(),
            };
            if commit.expected.is_some_and(|expected| *expected != before.value) {
                return Ok(Reply { landed: false, busy: 0 });
            }
            if changes.insert(&commit.change.id, &commit.change.row(generation))?.is_some() {
                return Err("the change is there already".into());
            }
            txn.open_multimap_table(DELTAS)?.insert(&commit.change.delta, &commit.change.id)?;
            let after = RefRow { value: commit.change.id, moves: before.moves + 1 };
            refs.insert(commit.name, &after.encode())?;
            let key = reflog_key(commit.name, after.moves);
            let row = reflog_row(&before.value, &after.value, commit.change.time_ns);
            txn.open_table(REFLOG)?.insert(key.as_slice(), &row)?;
        }
        txn.commit()?;
        Ok(Reply { landed: true, busy: 0 })
    }

    fn read_ref(&mut self, name: &[u8]) -> Outcome<Option<Id>> {
        let refs = self.store.db.begin_read()?.open_table(REFS)?;
        refs.get(name)?.map(|row| Ok(RefRow::decode(row.value())?.value)).transpose()
    }

    fn load(&mut self, loaded: &[Change]) -> Outcome<()> {
        let txn = self.store.write()?;
        {
            let mut changes = txn.open_table(CHANGES)?;
            let mut deltas = txn.open_multimap_table(DELTAS)?;
            for change in loaded {
                changes.insert(&change.id, &change.row(1))?;
                deltas.insert(&change.delta, &change.id)?;
            }
        }
        txn.commit()?;
        Ok(())
    }

    fn begin_reads(&mut self) -> Outcome<()> {
        let txn = self.store.db.begin_read()?;
        self.reads = Some(Reads { changes: txn.open_table(CHANGES)?, deltas: txn.open_multimap_table(DELTAS)? });
        Ok(())
    }
    fn end_reads(&mut self) {
        self.reads = None;
    }
    fn find_id(&mut self, id: &Id) -> Outcome<Option<u64>> {
        Ok(self.reads()?.changes.get(id)?.map(|row| touched(row.value())))
    }
    fn find_prefix(&mut self, prefix: &[u8]) -> Outcome<Option<u64>> {
        let mut low = NONE;
        low[..prefix.len()].copy_from_slice(prefix);
        match self.reads()?.changes.range::<&Id>(&low..)?.next() {
            Some(entry) => {
                let (key, _) = entry?;
                Ok(key.value().starts_with(prefix).then_some(key.value().len() as u64))
            }
            None => Ok(None),
        }
    }
    fn find_delta(&mut self, delta: &Id) -> Outcome<Option<u64>> {
        Ok(self.reads()?.deltas.get(delta)?.next().transpose()?.map(|id| touched(id.value())))
    }
    fn find_fresh(&mut self, id: &Id) -> Outcome<Option<u64>> {
        let changes = self.store.db.begin_read()?.open_table(CHANGES)?;
        Ok(changes.get(id)?.map(|row| touched(row.value())))
    }
    fn count(&mut self) -> Outcome<u64> {
        Ok(self.store.db.begin_read()?.open_table(CHANGES)?.len()?)
    }
}
