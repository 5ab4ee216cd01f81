//! What scripts can ask of an exchange and do to it: the tables below `avi`. A function that is not served, and a name that
//! does not exist, raise an error that says so.

mod addresses;
mod attributes;
mod bodies;
mod bytes;
mod choose;
mod crypto;
mod groups;
mod hashes;
mod names;
mod rates;
mod read;
mod ssl;
mod tables;
mod text;
mod unserved;
mod variables;
mod vs;
mod write;

pub use bytes::FIRST_BYTES_MAX;

use std::{cell::RefCell, rc::Rc, sync::Arc};

use mlua::{Error, FromLuaMulti, IntoLuaMulti, Lua, Result, Table};

use crate::{
    acts::Acts,
    budget::Budget,
    event::Event,
    library::guarded,
    script::{ScriptSet, Served},
    seen::Seen,
    servers::Servers,
};

/// The event that runs.
pub(crate) struct Now {
    pub event: Event,
    pub seen: Box<Seen>,
    pub acts: Acts,
    /// `None`: no event runs.
    pub served: Option<Arc<Served>>,
    /// The place of the set of the script that runs.
    pub set_at: usize,
    /// `None`: there are no pools.
    pub servers: Option<Rc<dyn Servers>>,
}

impl Default for Now {
    fn default() -> Self {
        Self {
            event: Event::Request,
            seen: Box::default(),
            acts: Acts::default(),
            served: None,
            set_at: 0,
            servers: None,
        }
    }
}

impl Now {
    /// Of the script that runs.
    fn set(&self) -> Option<&ScriptSet> {
        Some(&**self.served.as_ref()?.sets.get(self.set_at)?)
    }
}

/// In which events a function is there.
type Events = &'static [Event];
const IN_ALL: Events = &Event::ALL;
/// In all but the one in which the engine answers for a server.
const BEFORE_FAILURE: Events = &[
    Event::Accepted,
    Event::BeforeTls,
    Event::ClientHello,
    Event::Handshaken,
    Event::FirstBytes,
    Event::FirstAnswer,
    Event::Authentication,
    Event::Authenticated,
    Event::Request,
    Event::RequestData,
    Event::Balanced,
    Event::Response,
    Event::ResponseData,
    Event::Unbalanced,
];
/// In which there is a request.
const OF_REQUESTS: Events = IN_ALL.split_at(6).1;
/// In which scripts see a head.
const WITH_HEAD: Events = BEFORE_FAILURE.split_at(6).1;
/// In which the client's TLS has been agreed on, if it has some.
const WITH_TLS: Events = BEFORE_FAILURE.split_at(3).1;
/// In which the server name of its TLS is known.
const WITH_HELLO: Events = BEFORE_FAILURE.split_at(2).1;
/// In which scripts change one.
const WITH_CHANGES: Events = &[
    Event::Authentication,
    Event::Authenticated,
    Event::Request,
    Event::RequestData,
    Event::Balanced,
    Event::Response,
];
/// In which they may close the connection of the client.
const WITH_CLOSE: Events = &[
    Event::Accepted,
    Event::BeforeTls,
    Event::ClientHello,
    Event::Handshaken,
    Event::FirstBytes,
    Event::FirstAnswer,
    Event::Authentication,
    Event::Authenticated,
    Event::Request,
    Event::RequestData,
    Event::Response,
    Event::ResponseData,
];
/// In which it is still open where a request goes.
const WITH_CHOICE: Events = &[Event::Request, Event::RequestData];
/// In which it may be open where a request or a connection goes.
const WITH_POOLS: Events = &[
    Event::Accepted,
    Event::BeforeTls,
    Event::ClientHello,
    Event::Handshaken,
    Event::FirstBytes,
    Event::Request,
    Event::RequestData,
];
/// In which its server is known.
const WITH_SERVER: Events = &[Event::FirstAnswer, Event::Balanced, Event::Response, Event::ResponseData];
/// In which scripts may answer.
const WITH_ANSWER: Events = &[
    Event::Authentication,
    Event::Authenticated,
    Event::Request,
    Event::RequestData,
    Event::Response,
    Event::ResponseData,
    Event::Failed,
    Event::Unbalanced,
];
const WITH_BYTES: Events = &[Event::FirstBytes, Event::FirstAnswer];
const IN_REQUEST: Events = &[Event::Request];
const IN_RESPONSE: Events = &[Event::Response];

/// What the functions of a table are made with.
pub(crate) struct Maker<'m> {
    lua: &'m Lua,
    now: &'m Rc<RefCell<Now>>,
    budget: &'m Rc<Budget>,
    path: &'static str,
    table: Table,
}

impl<'m> Maker<'m> {
    fn table(lua: &'m Lua, now: &'m Rc<RefCell<Now>>, budget: &'m Rc<Budget>, path: &'static str) -> Result<Self> {
        Ok(Self { lua, now, budget, path, table: guarded(lua, path, "does not exist")? })
    }

    /// Adds a function. What it raises gets its name.
    fn put<A, R>(&self, name: &'static str, events: Events, function: fn(&Lua, &mut Now, A) -> Result<R>) -> Result<()>
    where
        A: FromLuaMulti + 'static,
        R: IntoLuaMulti + 'static,
    {
        let (now, path) = (self.now.clone(), self.path);
        let made = self.lua.create_function(move |lua, args: A| {
            let mut now = now.borrow_mut();
            if !events.contains(&now.event) {
                return Err(Error::runtime(format!("{path}.{name} is not there in {}", now.event.name())));
            }
            function(lua, &mut now, args).map_err(|error| named(error, path, name))
        })?;
        self.table.raw_set(name, made)
    }

    /// Adds a function that ends the scripts of the event, if it answers or says that they are done.
    fn put_last<A, R>(
        &self,
        name: &'static str,
        events: Events,
        function: fn(&Lua, &mut Now, A) -> Result<R>,
    ) -> Result<()>
    where
        A: FromLuaMulti + 'static,
        R: IntoLuaMulti + 'static,
    {
        let (now, path, budget) = (self.now.clone(), self.path, self.budget.clone());
        let made = self.lua.create_function(move |lua, args: A| {
            let mut now = now.borrow_mut();
            if !events.contains(&now.event) {
                return Err(Error::runtime(format!("{path}.{name} is not there in {}", now.event.name())));
            }
            let result = function(lua, &mut now, args).map_err(|error| named(error, path, name))?;
            if now.acts.done || now.acts.ending.is_some() {
                return Err(now.finish(&budget));
            }
            Ok(result)
        })?;
        self.table.raw_set(name, made)
    }
}

#[cold]
fn named(error: Error, path: &str, name: &str) -> Error {
    match error {
        Error::RuntimeError(message) => Error::runtime(format!("{path}.{name}: {message}")),
        other => other,
    }
}

/// Adds the functions of a table.
type Fill = fn(&Maker<'_>) -> Result<()>;

/// Makes `avi` before the state is sandboxed.
pub(crate) fn fit(lua: &Lua, now: &Rc<RefCell<Now>>, budget: &Rc<Budget>) -> Result<()> {
    let avi = guarded(lua, "avi", "does not exist")?;
    let tables: [(&str, &'static str, Fill); 10] = [
        ("vs", "avi.vs", vs::fill),
        ("http", "avi.http", |maker| {
            read::fill(maker)?;
            write::fill(maker)?;
            bodies::fill(maker)?;
            names::fill(maker)?;
            attributes::fill(maker)
        }),
        ("pool", "avi.pool", choose::fill_pool),
        ("poolgroup", "avi.poolgroup", choose::fill_group),
        ("stringgroup", "avi.stringgroup", groups::fill_strings),
        ("ipgroup", "avi.ipgroup", groups::fill_addresses),
        ("ssl", "avi.ssl", ssl::fill),
        ("utils", "avi.utils", hashes::fill),
        ("crypto", "avi.crypto", crypto::fill),
        ("l4", "avi.l4", bytes::fill),
    ];
    for (name, path, fill) in tables {
        let maker = Maker::table(lua, now, budget, path)?;
        fill(&maker)?;
        unserved::fill(&maker)?;
        maker.table.set_readonly(true);
        avi.raw_set(name, maker.table)?;
    }
    // Scripts give these to functions, by these names or as texts.
    let names = ["QUERY_TABLE", "HTTP_REQUEST", "HTTP_RESPONSE", vs::SIGNIFICANT].into_iter();
    for name in names.chain(ssl::NAMES.map(|name| name.0)).chain(crypto::NAMES).chain(rates::NAMES) {
        avi.raw_set(name, format!("avi.{name}"))?;
    }
    avi.set_readonly(true);
    lua.globals().raw_set("require", bytes::require(lua)?)?;
    lua.globals().raw_set("avi", avi)
}
