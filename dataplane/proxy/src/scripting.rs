//! Runs DataScripts for exchanges: shows them what has come, and tells what they want.

pub(crate) mod entering;
mod lent;

use std::{rc::Rc, sync::Arc};

use weir_balance::HashKey;
use weir_rate::Beyond;
use weir_rules::{EditKind, Edits};
use weir_script::{Acts, BODY_BYTES_MAX, Chosen, Ending, Event, HeadEdit, Persist, Ran, Scripts, Seen};
use weir_snapshot::{Pool, PoolGroup, ServiceScripts, Snapshot};
use weir_wire::head::ResponseHead;

use crate::{error::Error, exchange::within::Within, io::Time, pool::Pools, records::Said};

use self::lent::Lent;

/// The scripts of a worker, and what they have said of the event that ran last.
pub(crate) struct Scripting {
    machine: Scripts,
    lent: Rc<Lent>,
    pub said: Said,
}

/// What scripts make of a request.
#[derive(Default)]
pub(crate) struct Steered {
    /// What they change of the head that goes to the server.
    pub edits: Edits<'static>,
    pub within: Within,
    pub pool: Option<Arc<Pool>>,
    /// The dense id of a server.
    pub server: Option<u32>,
    /// What pools go by that choose servers by a hash.
    pub key: Option<HashKey>,
    pub persist: Option<Persist>,
    /// Bytes of the request's body that scripts want to see; 0: nothing.
    pub collect: usize,
    /// Bytes of the client, or of its server, that scripts wait for; 0: for nothing.
    pub awaits: usize,
    /// What goes on in the place of the bytes that scripts have seen of a connection, if that is something else.
    pub bytes: Option<Vec<u8>>,
    /// What later events see.
    pub seen: Option<Box<Seen>>,
}

/// What scripts can see of the body of a request.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// Nothing, whatever comes.
    Unseen,
    /// There is none.
    Empty,
    /// So many bytes are kept anyway. The rest comes later.
    Comes { kept: usize },
}

/// What scripts make of a response whose head has come.
#[derive(Default)]
pub(crate) struct Responded {
    /// What they change of its head.
    pub edits: Edits<'static>,
    /// Bytes of its body that they want to see before the client gets any of it; 0: nothing.
    pub collect: usize,
}

/// Why a request or a response does not go on.
pub(crate) enum Halt {
    Failed,
    Ended(Ending, Option<Beyond>),
}

/// A response of a server that scripts have replaced, or on which they have failed.
pub(crate) struct Replaced {
    pub status: u16,
    pub ending: Option<Ending>,
}

impl Default for Scripting {
    fn default() -> Self {
        let lent = Rc::new(Lent::default());
        Self { machine: Scripts::asking(lent.clone()), lent, said: Said::default() }
    }
}

impl Scripting {
    /// Forgets the scripts that a new snapshot has not, when there are many.
    pub fn follow(&mut self, snapshot: &Snapshot) {
        if self.machine.is_crowded() {
            let scripts = snapshot.parts().filter_map(|service| service.scripts.as_deref());
            self.machine.keep(scripts.flat_map(ServiceScripts::all));
        }
    }

    /// Runs the scripts for a request. `see` shows it to them; `begun`: what those have kept that ran before the rules.
    pub fn ask(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        (body, begun): (Body, Option<Box<Seen>>),
        see: impl FnOnce(&mut Seen),
    ) -> Result<Steered, Halt> {
        let has_run = begun.is_some();
        let mut seen = begun.unwrap_or_else(|| self.machine.room());
        see(&mut seen);
        let mut steered = Steered::default();
        if scripts.on_request {
            self.steer(scripts, pools, (Event::Request, has_run), (&mut seen, &mut steered))?;
        }
        let asked = std::mem::take(&mut steered.collect);
        match body {
            Body::Comes { kept } if scripts.on_request_data => steered.collect = asked.max(kept).min(BODY_BYTES_MAX),
            Body::Empty if scripts.on_request_data && asked > 0 => {
                let event = (Event::RequestData, has_run || scripts.on_request);
                self.steer(scripts, pools, event, (&mut seen, &mut steered))?;
            }
            Body::Unseen | Body::Empty | Body::Comes { .. } => {}
        }
        if steered.collect > 0 || scripts.run_later() {
            steered.seen = Some(seen);
        } else {
            self.machine.give_back(seen);
        }
        Ok(steered)
    }

    /// Runs the scripts for the body of a request, which stands in `seen`.
    pub fn show_body(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        seen: &mut Box<Seen>,
    ) -> Result<Steered, Halt> {
        let mut steered = Steered::default();
        self.steer(scripts, pools, (Event::RequestData, false), (seen, &mut steered))?;
        Ok(steered)
    }

    /// `goes_on`: the event shares the budget of the last one.
    fn steer(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        (event, goes_on): (Event, bool),
        (seen, steered): (&mut Box<Seen>, &mut Steered),
    ) -> Result<(), Halt> {
        let lent = self.lent.clone();
        let loan = lent.lend(pools, scripts);
        let ran = match goes_on {
            true => self.machine.run_on(&scripts.served, event, seen),
            false => self.machine.run(&scripts.served, event, seen),
        };
        drop(loan);
        let acts = self.follow_ran(ran, seen)?;
        steered.follow(acts, seen, (scripts, event)).map_err(|fault| {
            self.say(&fault);
            Halt::Failed
        })
    }

    /// Runs the scripts for an event of a connection. `goes_on`: it comes at once after the last one. `see` shows it to them.
    pub fn meet(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        (event, goes_on): (Event, bool),
        see: impl FnOnce(&mut Seen),
    ) -> Result<Steered, Halt> {
        let mut seen = self.machine.room();
        see(&mut seen);
        let mut steered = Steered::default();
        let met = self.steer(scripts, pools, (event, goes_on), (&mut seen, &mut steered));
        self.machine.give_back(seen);
        met.map(|()| steered)
    }

    /// Runs the scripts for the choice of a server, which stands in `seen`; returns what they change of the head that it gets.
    pub fn show_choice(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        seen: &mut Box<Seen>,
    ) -> Result<Edits<'static>, Halt> {
        let mut steered = Steered::default();
        self.steer(scripts, pools, (Event::Balanced, false), (seen, &mut steered))?;
        Ok(steered.edits)
    }

    /// Runs the scripts for a response.
    pub fn respond(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        seen: &mut Box<Seen>,
        head: &ResponseHead<'_>,
        now: Time,
    ) -> Result<Responded, Halt> {
        seen.respond(head);
        seen.now_ns = now.nanos;
        let lent = self.lent.clone();
        let loan = lent.lend(pools, scripts);
        let ran = self.run(scripts, Event::Response, seen);
        drop(loan);
        let acts = ran?;
        let mut edits = Edits::default();
        push(&mut edits, acts.edits);
        Ok(Responded { edits, collect: if scripts.on_response_data { acts.collect } else { 0 } })
    }

    /// Runs the scripts for the body of a response, which stands in `seen`.
    pub fn show_content(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        seen: &mut Box<Seen>,
        now: Time,
    ) -> Result<(), Halt> {
        seen.now_ns = now.nanos;
        let lent = self.lent.clone();
        let loan = lent.lend(pools, scripts);
        let ran = self.run(scripts, Event::ResponseData, seen);
        drop(loan);
        seen.body = Vec::new();
        ran.map(drop)
    }

    /// Runs the scripts for a failure. Returns what the client gets instead of a page, if they say so.
    pub fn fail(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        mut seen: Box<Seen>,
        (cause, now): (&'static str, Time),
        is_shortage: bool,
    ) -> Option<Ending> {
        (seen.cause, seen.now_ns) = (cause, now.nanos);
        let lent = self.lent.clone();
        let loan = lent.lend(pools, scripts);
        let mut ran = Ok(Acts::default());
        let goes_on = is_shortage && scripts.on_shortage;
        if goes_on {
            ran = self.run(scripts, Event::Unbalanced, &mut seen);
        }
        if scripts.on_failure && !matches!(ran, Err(Halt::Ended(..))) {
            let failed = match goes_on {
                true => self.machine.run_on(&scripts.served, Event::Failed, &mut seen),
                false => self.machine.run(&scripts.served, Event::Failed, &mut seen),
            };
            ran = self.follow_ran(failed, &seen);
        }
        drop(loan);
        self.machine.give_back(seen);
        match ran {
            Err(Halt::Ended(ending, _)) => Some(ending),
            // The client gets the page for what has failed first.
            Ok(_) | Err(Halt::Failed) => None,
        }
    }

    pub fn give_back(&mut self, seen: Box<Seen>) {
        self.machine.give_back(seen);
    }

    fn run(&mut self, scripts: &ServiceScripts, event: Event, seen: &mut Box<Seen>) -> Result<Acts, Halt> {
        let ran = self.machine.run(&scripts.served, event, seen);
        self.follow_ran(ran, seen)
    }

    fn follow_ran(&mut self, mut ran: Ran, seen: &Seen) -> Result<Acts, Halt> {
        self.said.names = seen.names.clone();
        self.said.is_significant |= ran.acts.is_significant;
        if !ran.acts.log.is_empty() {
            self.say(&ran.acts.log);
        }
        if let Some(fault) = ran.fault {
            self.say(&fault.to_string());
            return Err(Halt::Failed);
        }
        match ran.acts.ending.take() {
            Some(ending) => Err(Halt::Ended(ending, ran.acts.beyond)),
            None => Ok(ran.acts),
        }
    }

    pub fn say(&mut self, line: &str) {
        self.said.say(line);
    }
}

impl Steered {
    /// Error: a script names a server that its pool has not.
    fn follow(&mut self, acts: Acts, seen: &Seen, on: (&ServiceScripts, Event)) -> Result<(), String> {
        let (scripts, event) = on;
        match acts.chosen {
            None => {}
            Some(Chosen::Pool { set, pool, server }) => {
                let Some(pool) = scripts.pool(set, pool) else { return Err("its pool is not there".to_owned()) };
                if let Some(named) = server {
                    let found = ServiceScripts::server(pool, &named);
                    let found = found.ok_or_else(|| {
                        let set = scripts.served.sets.get(set).map_or("", |set| &set.name);
                        let (event, pool) = (event.name(), &pool.name);
                        format!("{set} {event}: avi.pool.select: the pool {pool} has no server {named}")
                    })?;
                    self.server = Some(found.id);
                } else {
                    self.server = None;
                }
                (self.pool, self.within) = (Some(pool.clone()), Within::Pool);
            }
            Some(Chosen::Group { set, group, labeled }) => {
                let group: &Arc<PoolGroup> =
                    scripts.group(set, group, labeled).ok_or_else(|| "its pool group is not there".to_owned())?;
                (self.within, self.pool, self.server) = (Within::Group(group.clone()), None, None);
            }
        }
        (self.collect, self.awaits) = (acts.collect, acts.awaits);
        self.bytes = acts.bytes_changed.then(|| seen.body.clone());
        self.persist = acts.persist.or(self.persist.take());
        self.key = acts.hashed.as_deref().map(HashKey::of).or(self.key);
        push(&mut self.edits, acts.edits);
        if acts.target_changed {
            self.edits.set_target(seen.target.clone());
        }
        if acts.host_changed {
            self.edits.set_host(seen.host.clone());
        }
        Ok(())
    }
}

fn push(edits: &mut Edits<'static>, all: Vec<HeadEdit>) {
    for HeadEdit { kind, name, cookie, value } in all {
        edits.push(kind, cookie, name, value);
    }
}

/// Follows what rules change.
pub(crate) fn follow_rules(seen: &mut Seen, edits: &Edits<'_>) {
    if let Some(target) = edits.target() {
        seen.target = target.to_vec();
    }
    if let Some(host) = edits.host() {
        seen.host = host.to_vec();
        let (name, value) = ("Host".to_owned(), Some(host.to_vec()));
        seen.request.apply(&HeadEdit { kind: EditKind::Replace, name, cookie: false, value }, true);
    }
    for (kind, cookie, name, value) in edits.changes() {
        let edit = HeadEdit { kind, name: name.to_owned(), cookie, value: value.map(<[u8]>::to_vec) };
        seen.request.apply(&edit, true);
    }
}

impl From<&Halt> for Error {
    fn from(halt: &Halt) -> Self {
        match halt {
            Halt::Failed => Error::Script,
            Halt::Ended(..) => Error::Scripted,
        }
    }
}
