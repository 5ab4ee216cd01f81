//! What scripts want done with an exchange.

use weir_rate::Beyond;
use weir_rules::EditKind;

use crate::persist::Persist;

/// A change of the head of a request, or of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeadEdit {
    pub kind: EditKind,
    pub name: String,
    /// The name is that of a cookie.
    pub cookie: bool,
    /// `None`: whatever it is. Only of removals.
    pub value: Option<Vec<u8>>,
}

/// Where a request goes. The first number is the place of the set among those of the virtual service, the second that of
/// the pool or group among those of the set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chosen {
    Pool {
        set: usize,
        pool: usize,
        /// `address`, or `address:port`, or the name of a server.
        server: Option<String>,
    },
    Group {
        set: usize,
        group: usize,
        /// The pools with a label, by their place among those of the set. `None`: all pools of the group.
        labeled: Option<usize>,
    },
}

/// What the client gets instead of a server's response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    Close { reset: bool },
    Respond { status: u16, fields: Vec<(String, Vec<u8>)>, content: Vec<u8> },
    Redirect { status: u16, location: Vec<u8> },
}

#[derive(Default, PartialEq, Eq, Debug)]
pub struct Acts {
    pub edits: Vec<HeadEdit>,
    /// Path and query were changed. Those of `Seen` are the new ones.
    pub target_changed: bool,
    pub host_changed: bool,
    pub chosen: Option<Chosen>,
    /// A script binds the request to a server by a key of its own.
    pub persist: Option<Persist>,
    /// What pools hash that choose servers by a hash.
    pub hashed: Option<Vec<u8>>,
    /// Bytes of the body that a script wants to see; 0: nothing.
    pub collect: usize,
    /// Bytes of the client, or of its server, that a script waits for; 0: for nothing. The event runs again when they are there.
    pub awaits: usize,
    /// The bytes of `Seen` are to go on instead of those that have come.
    pub bytes_changed: bool,
    pub ending: Option<Ending>,
    /// The ending is that of a limit.
    pub beyond: Option<Beyond>,
    /// What scripts log, one line each.
    pub log: String,
    /// The record is significant, because a script says so.
    pub is_significant: bool,
    /// No further script runs for the event.
    pub(crate) done: bool,
}

/// Bytes of what is logged in one event.
pub(crate) const LOG_BYTES_MAX: usize = 1024;
/// How often one event may change heads, and how many bytes that adds.
pub(crate) const EDITS_MAX: usize = 64;
pub(crate) const EDIT_BYTES_MAX: usize = 16 << 10;
/// Bytes of what a script answers.
pub(crate) const CONTENT_BYTES_MAX: usize = 64 << 10;

impl Acts {
    /// Whether the request and the response go on as if no script had run.
    pub fn is_nothing(&self) -> bool {
        self.edits.is_empty()
            && !self.target_changed
            && !self.host_changed
            && self.chosen.is_none()
            && self.ending.is_none()
    }

    pub(crate) fn edit_bytes(&self) -> usize {
        self.edits.iter().map(|edit| edit.name.len() + edit.value.as_ref().map_or(0, Vec::len)).sum()
    }

    /// A new line. Beyond the bound the rest of it is missing.
    pub(crate) fn log(&mut self, line: &str) {
        if self.log.len() >= LOG_BYTES_MAX {
            return;
        }
        if !self.log.is_empty() {
            self.log.push('\n');
        }
        let room = LOG_BYTES_MAX - self.log.len();
        let end = (0..=room.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        self.log.push_str(&line[..end]);
    }
}
