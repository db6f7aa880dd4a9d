//! redb, fjall and sled behind one C interface (`embedded_rust.h`), so that `bw` runs them as it runs the others: the
//! same transaction (`contender.h`), the same rows, durable when `commit` returns.
//!
//! Threading: a database is shared by threads; a session belongs to one. Errors: a negative result, the sentence in
//! `er_error`, one per thread.

mod fjall_store;
mod redb_store;
mod sled_store;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

pub type Id = [u8; 32];
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Outcome<T> = Result<T, Failure>;

pub const NONE: Id = [0; 32];
pub const BODY_BYTES: usize = 200;
pub const CHANGE_ROW: usize = 32 + 32 + 8 + BODY_BYTES;
pub const REF_ROW: usize = 32 + 8;
pub const REFLOG_ROW: usize = 32 + 32 + 8;

/// `er_change` of the header.
#[repr(C)]
pub struct Change {
    pub id: Id,
    pub delta: Id,
    pub parent: Id,
    pub body: [u8; BODY_BYTES],
    pub time_ns: i64,
}

impl Change {
    pub fn row(&self, generation: u64) -> [u8; CHANGE_ROW] {
        let mut row = [0; CHANGE_ROW];
        row[..32].copy_from_slice(&self.delta);
        row[32..64].copy_from_slice(&self.parent);
        row[64..72].copy_from_slice(&generation.to_le_bytes());
        row[72..].copy_from_slice(&self.body);
        row
    }
    /// Key of a table that maps delta ids to any number of changes.
    pub fn delta_key(&self) -> [u8; 64] {
        let mut key = [0; 64];
        key[..32].copy_from_slice(&self.delta);
        key[32..].copy_from_slice(&self.id);
        key
    }
}

pub fn generation_of(row: &[u8]) -> Outcome<u64> {
    Ok(u64::from_le_bytes(row.get(64..72).ok_or("a change row is too short")?.try_into()?))
}

pub struct RefRow {
    pub value: Id,
    pub moves: u64,
}

impl RefRow {
    pub fn absent() -> Self {
        RefRow { value: NONE, moves: 0 }
    }
    pub fn decode(row: &[u8]) -> Outcome<Self> {
        if row.len() != REF_ROW {
            return Err("a ref row has a wrong size".into());
        }
        Ok(RefRow { value: row[..32].try_into()?, moves: u64::from_le_bytes(row[32..].try_into()?) })
    }
    pub fn encode(&self) -> [u8; REF_ROW] {
        let mut row = [0; REF_ROW];
        row[..32].copy_from_slice(&self.value);
        row[32..].copy_from_slice(&self.moves.to_le_bytes());
        row
    }
}

/// The name, a zero byte, the number of the move (big-endian): a ref's rows lie in order.
pub fn reflog_key(name: &[u8], moves: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 9);
    key.extend_from_slice(name);
    key.push(0);
    key.extend_from_slice(&moves.to_be_bytes());
    key
}

pub fn reflog_row(before: &Id, after: &Id, time_ns: i64) -> [u8; REFLOG_ROW] {
    let mut row = [0; REFLOG_ROW];
    row[..32].copy_from_slice(before);
    row[32..64].copy_from_slice(after);
    row[64..].copy_from_slice(&time_ns.to_le_bytes());
    row
}

pub struct Commit<'a> {
    pub change: &'a Change,
    pub name: &'a [u8],
    /// None: from whatever the ref holds.
    pub expected: Option<&'a Id>,
}

pub struct Reply {
    pub landed: bool,
    pub busy: u32,
}

pub trait Session {
    fn commit(&mut self, commit: &Commit) -> Outcome<Reply>;
    fn read_ref(&mut self, name: &[u8]) -> Outcome<Option<Id>>;
    fn load(&mut self, changes: &[Change]) -> Outcome<()>;
    fn begin_reads(&mut self) -> Outcome<()>;
    fn end_reads(&mut self);
    /// Bytes of the record plus its first byte; None: not there.
    fn find_id(&mut self, id: &Id) -> Outcome<Option<u64>>;
    fn find_prefix(&mut self, prefix: &[u8]) -> Outcome<Option<u64>>;
    fn find_delta(&mut self, delta: &Id) -> Outcome<Option<u64>>;
    fn find_fresh(&mut self, id: &Id) -> Outcome<Option<u64>>;
    fn count(&mut self) -> Outcome<u64>;
}

pub trait Database: Send + Sync {
    fn session(self: Arc<Self>) -> Outcome<Box<dyn Session>>;
    fn settle(&self) -> Outcome<()>;
}

/// What a lookup reports of a value it touched.
pub fn touched(value: &[u8]) -> u64 {
    value.len() as u64 + value.first().copied().unwrap_or(0) as u64
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn report<T>(result: Outcome<T>, on_error: T) -> T {
    result.unwrap_or_else(|error| {
        let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
        ERROR.with(|slot| *slot.borrow_mut() = text);
        on_error
    })
}

fn open(kind: &str, directory: &str, create: bool) -> Outcome<Arc<dyn Database>> {
    match kind {
        "redb" => redb_store::open(directory, create, redb_store::Sharing::Threads),
        "redb:processes" => redb_store::open(directory, create, redb_store::Sharing::Processes),
        "redb:quick-repair" => redb_store::open(directory, create, redb_store::Sharing::QuickRepair),
        "fjall" => fjall_store::open(directory),
        "sled" => sled_store::open(directory),
        _ => Err(format!("no store {kind}").into()),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn er_error() -> *const c_char {
    ERROR.with(|slot| slot.borrow().as_ptr())
}

/// # Safety
/// Both strings end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_open(
    kind: *const c_char,
    directory: *const c_char,
    create: bool,
) -> *mut Arc<dyn Database> {
    let text = |raw| unsafe { CStr::from_ptr(raw) }.to_str().map_err(Failure::from);
    let opened = text(kind).and_then(|kind| Ok((kind, text(directory)?))).and_then(|(kind, at)| open(kind, at, create));
    report(opened.map(|database| Box::into_raw(Box::new(database))), std::ptr::null_mut())
}

/// # Safety
/// `database` came from er_open, its sessions are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_close(database: *mut Arc<dyn Database>) {
    drop(unsafe { Box::from_raw(database) });
}

/// # Safety
/// `database` came from er_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_settle(database: *mut Arc<dyn Database>) -> i32 {
    report(unsafe { &*database }.settle().map(|()| 0), -1)
}

/// # Safety
/// `database` came from er_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_session_new(database: *mut Arc<dyn Database>) -> *mut Box<dyn Session> {
    let session = unsafe { &*database }.clone().session();
    report(session.map(|session| Box::into_raw(Box::new(session))), std::ptr::null_mut())
}

/// # Safety
/// `session` came from er_session_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_session_end(session: *mut Box<dyn Session>) {
    drop(unsafe { Box::from_raw(session) });
}

/// 1: landed, 0: the compare-and-swap lost.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_commit(
    session: *mut Box<dyn Session>,
    change: *const Change,
    name: *const u8,
    name_bytes: usize,
    expected: *const Id,
    busy: *mut u32,
) -> i32 {
    let commit = unsafe {
        Commit { change: &*change, name: std::slice::from_raw_parts(name, name_bytes), expected: expected.as_ref() }
    };
    let reply = unsafe { &mut *session }.commit(&commit).map(|reply| {
        unsafe { *busy = reply.busy };
        i32::from(reply.landed)
    });
    report(reply, -1)
}

/// 1: found, 0: there is none.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_read_ref(
    session: *mut Box<dyn Session>,
    name: *const u8,
    name_bytes: usize,
    value: *mut Id,
) -> i32 {
    let name = unsafe { std::slice::from_raw_parts(name, name_bytes) };
    let found = unsafe { &mut *session }.read_ref(name).map(|found| match found {
        Some(id) => {
            unsafe { *value = id };
            1
        }
        None => 0,
    });
    report(found, -1)
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_load(session: *mut Box<dyn Session>, changes: *const Change, count: usize) -> i32 {
    let changes = unsafe { std::slice::from_raw_parts(changes, count) };
    report(unsafe { &mut *session }.load(changes).map(|()| 0), -1)
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_begin_reads(session: *mut Box<dyn Session>) -> i32 {
    report(unsafe { &mut *session }.begin_reads().map(|()| 0), -1)
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_end_reads(session: *mut Box<dyn Session>) {
    unsafe { &mut *session }.end_reads();
}

/// What to look up: 0 by id, 1 by prefix, 2 by delta id, 3 by id in a fresh view. Bytes touched, -1: not there, -2: an
/// error.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_find(session: *mut Box<dyn Session>, what: u32, key: *const u8, key_bytes: usize) -> i64 {
    let session = unsafe { &mut *session };
    let key = unsafe { std::slice::from_raw_parts(key, key_bytes) };
    let find = || -> Outcome<Option<u64>> {
        match what {
            1 => session.find_prefix(key),
            0 => session.find_id(key.try_into()?),
            2 => session.find_delta(key.try_into()?),
            _ => session.find_fresh(key.try_into()?),
        }
    };
    let mut find = find;
    report(find().map(|found| found.map_or(-1, |bytes| bytes as i64)), -2)
}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn er_count(session: *mut Box<dyn Session>) -> i64 {
    report(unsafe { &mut *session }.count().map(|count| count as i64), -1)
}
