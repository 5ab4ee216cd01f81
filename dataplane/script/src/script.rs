//! A script, compiled, and the set that it belongs to.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use mlua::chunk::Compiler;
use weir_rate::{Gauge, Limit, Tally};
use weir_rules::{AddressGroup, Criterion, Excess, StringGroup};

use crate::{event::Event, fault::Fault, store::Store, tokens};

/// A longer script is refused.
pub const SOURCE_BYTES_MAX: usize = 64 << 10;
/// What may work on long texts between two steps that are counted: a script without loops can hold as many as are written
/// in it.
const UNCOUNTED_MAX: usize = 512;

/// Functions of Lua that the compiler would otherwise build in. Built in, they are no step, although they take as long as
/// their arguments are.
const NOT_BUILT_IN: [&str; 7] =
    ["string.sub", "string.byte", "string.char", "tonumber", "tostring", "table.unpack", "table.insert"];

/// What scripts call the function that tells how many connections are open: these are counted only where a script has it.
pub(crate) const OPEN: &str = "get_open_conns";
/// What scripts call the functions about the names of requests: these are made only where a script has one of them.
pub(crate) const NAMES: [&str; 4] = ["get_request_id", "get_userid", "set_userid", "get_access_token"];

#[derive(Debug)]
pub struct Script {
    /// Of its own among all scripts of the process.
    pub(crate) id: u64,
    pub event: Event,
    /// As faults have it: the set and the event.
    pub(crate) name: String,
    /// What the virtual machine of Lua takes. Only [`Script::compile`] makes it. Error: the script is broken, and each event
    /// fails when its turn comes.
    pub(crate) code: Result<Box<[u8]>, Fault>,
    /// It has the name of `get_open_conns` in it.
    names_open: bool,
    /// The same of one of [`NAMES`].
    asks_names: bool,
}

static IDS: AtomicU64 = AtomicU64::new(0);

impl Script {
    pub fn compile(set: &str, event: Event, source: &str) -> Self {
        // Lua takes a name that begins so for something else than a name, and one with a line break for two.
        let set = set.replace(|c: char| c.is_control() || c == ':', "_");
        let name = format!("{set} {}", event.name());
        let code = code_of(&name, source);
        let names_open = source.contains(OPEN);
        let asks_names = NAMES.iter().any(|function| source.contains(function));
        Self { id: IDS.fetch_add(1, Ordering::Relaxed), event, name, code, names_open, asks_names }
    }

    /// Why the script cannot run.
    pub fn fault(&self) -> Option<&Fault> {
        self.code.as_ref().err()
    }
}

fn code_of(name: &str, source: &str) -> Result<Box<[u8]>, Fault> {
    if source.len() > SOURCE_BYTES_MAX {
        let bytes = source.len();
        return Err(Fault::new(format!("{name}: has {bytes} bytes; a script may have {SOURCE_BYTES_MAX}")));
    }
    if source.contains('\0') {
        return Err(Fault::new(format!("{name}: has a character NUL, at which the compiler would stop to read")));
    }
    let uncounted = tokens::joins_and_compares(source);
    if uncounted > UNCOUNTED_MAX {
        let message = format!("joins and compares in {uncounted} places; a script may in {UNCOUNTED_MAX}");
        return Err(Fault::new(format!("{name}: {message}")));
    }
    let compiler = Compiler::new().set_optimization_level(1).set_disabled_builtins(NOT_BUILT_IN);
    compiler.compile(source).map(Into::into).map_err(|error| Fault::of(&error, name))
}

/// The scripts of a virtual service, and what they share.
#[derive(Default, Debug)]
pub struct Served {
    /// In their order.
    pub sets: Box<[Arc<ScriptSet>]>,
    /// What they keep from one request to the next.
    pub store: Arc<Store>,
    /// How many engines serve the virtual service.
    pub engines: u32,
    /// What the limits of the sets, and the one below, have counted. `None`: there are none.
    pub tally: Option<Tally>,
    /// The open connections of the virtual service on the engine. `None`: nobody counts them.
    pub open: Option<Gauge>,
    /// Of texts that scripts give without the name of a limit, and what becomes of a request beyond it.
    pub limit: Option<(Limit, Excess)>,
}

/// What some pools of a group are called.
#[derive(Clone, Debug)]
pub struct Label {
    /// Empty: they have no label.
    pub text: String,
    /// Where they stand among the labeled pools of the set.
    pub at: usize,
}

/// Scripts, and what they may name.
#[derive(Debug, Default)]
pub struct ScriptSet {
    pub uuid: String,
    pub name: String,
    pub scripts: Vec<Script>,
    /// The names of pools, and of groups of pools.
    pub pools: Vec<String>,
    pub pool_groups: Vec<String>,
    /// The labels of pools in each of these groups.
    pub labels: Vec<Vec<Label>>,
    pub string_groups: Vec<Arc<StringGroup>>,
    pub address_groups: Vec<Arc<AddressGroup>>,
    /// By their names.
    pub limits: Vec<(String, Limit)>,
}

impl ScriptSet {
    /// Whether the open connections are to be counted for its scripts.
    pub fn counts_open(&self) -> bool {
        self.scripts.iter().any(|script| script.names_open)
    }

    /// Whether its scripts may ask for the names of a request.
    pub fn asks_names(&self) -> bool {
        self.scripts.iter().any(|script| script.asks_names)
    }

    pub fn has(&self, event: Event) -> bool {
        self.of(event).next().is_some()
    }

    pub(crate) fn of(&self, event: Event) -> impl Iterator<Item = &Script> {
        self.scripts.iter().filter(move |script| script.event == event)
    }

    /// Makes the string groups ready for what these sources seem to compare, so that no request waits for it.
    pub fn prepare<'s>(&self, sources: impl Iterator<Item = &'s str> + Clone) {
        let functions = [
            ("beginswith", Criterion::BeginsWith),
            ("contains", Criterion::Contains),
            ("endswith", Criterion::EndsWith),
            ("equals", Criterion::Equals),
        ];
        for (function, criterion) in functions {
            let exact = format!("{function}_CASE");
            let is_named = sources.clone().any(|source| source.contains(function));
            let is_exact = sources.clone().any(|source| source.contains(&exact));
            for group in &self.string_groups {
                for small in [true, false] {
                    if if small { is_named } else { is_exact } {
                        // A group that is too large matches nothing in this way, as the call then says.
                        let _ = group.prepare(criterion, small);
                    }
                }
            }
        }
    }
}
