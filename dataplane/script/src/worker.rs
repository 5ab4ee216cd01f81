//! Runs the scripts of a worker. A script is loaded when it runs for the first time, and has a table of its own for the
//! globals that it sets, which is empty again after each event. An event never waits for anything, so one is over when the
//! next begins.

use std::{cell::RefCell, mem, rc::Rc, sync::Arc};

use foldhash::{HashMap, HashMapExt};
use mlua::{Function, Lua, LuaOptions, Result, Table, chunk::ChunkMode};

use crate::{
    acts::Acts,
    avi::{self, Now},
    budget::{self, Budget, Over, Used},
    event::Event,
    fault::Fault,
    library::{self, libraries},
    script::{Script, Served},
    seen::Seen,
    servers::Servers,
};

/// What has become of an event.
#[derive(Debug, Default)]
pub struct Ran {
    pub acts: Acts,
    /// A script has failed; the acts are those before.
    pub fault: Option<Fault>,
}

/// Needs nothing before the first script runs.
#[derive(Default)]
pub struct Scripts {
    machine: Option<Machine>,
    servers: Option<Rc<dyn Servers>>,
    #[expect(clippy::vec_box, reason = "exchanges keep them in boxes")]
    spare: Vec<Box<Seen>>,
}

/// More than exchanges of a worker that wait for a response mostly are.
const SPARE_MAX: usize = 64;
/// With more garbage from earlier events, it is collected before the next one, whose own memory is counted.
const GARBAGE_BYTES: usize = 256 << 10;

impl Scripts {
    /// Scripts that may ask for servers.
    pub fn asking(servers: Rc<dyn Servers>) -> Self {
        Self { servers: Some(servers), ..Self::default() }
    }

    /// Room for what scripts see of an exchange.
    pub fn room(&mut self) -> Box<Seen> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn give_back(&mut self, mut seen: Box<Seen>) {
        seen.end();
        if self.spare.len() < SPARE_MAX {
            self.spare.push(seen);
        }
    }

    /// Runs the scripts for `event`, set after set, until one answers or fails.
    pub fn run(&mut self, served: &Arc<Served>, event: Event, seen: &mut Box<Seen>) -> Ran {
        self.run_within(false, served, event, seen)
    }

    /// The same for an event that comes at once after the last one. Both have one budget, because the worker stands still for
    /// both.
    pub fn run_on(&mut self, served: &Arc<Served>, event: Event, seen: &mut Box<Seen>) -> Ran {
        self.run_within(true, served, event, seen)
    }

    fn run_within(&mut self, goes_on: bool, served: &Arc<Served>, event: Event, seen: &mut Box<Seen>) -> Ran {
        let machine = match &mut self.machine {
            Some(machine) => machine,
            none => match Machine::new(self.servers.clone()) {
                Ok(machine) => none.insert(machine),
                Err(error) => return Ran { fault: Some(Fault::of(&error, "DataScript")), ..Ran::default() },
            },
        };
        let before = if goes_on { machine.budget.used() } else { Used::default() };
        machine.run(before, served, event, seen)
    }

    /// Whether mostly scripts may be loaded that no snapshot has any more.
    pub fn is_crowded(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.loaded.len() > 2 * machine.kept + SPARE_MAX)
    }

    /// Forgets all scripts but these.
    pub fn keep<'s>(&mut self, scripts: impl Iterator<Item = &'s Script>) {
        if let Some(machine) = &mut self.machine {
            let mut kept = HashMap::with_capacity(machine.loaded.len());
            for script in scripts {
                kept.extend(machine.loaded.remove_entry(&script.id));
            }
            machine.kept = kept.len();
            machine.loaded = kept;
            machine.settle();
        }
    }
}

struct Machine {
    lua: Lua,
    now: Rc<RefCell<Now>>,
    budget: Rc<Budget>,
    loaded: HashMap<u64, Loaded>,
    /// For the tables with the globals of scripts, which find here what they have not.
    outer: Table,
    base_bytes: usize,
    /// How many scripts were left when some were forgotten.
    kept: usize,
}

struct Loaded {
    function: Function,
    globals: Table,
}

impl Machine {
    fn new(servers: Option<Rc<dyn Servers>>) -> Result<Self> {
        let lua = Lua::new_with(libraries(), LuaOptions::default())?;
        let now = Rc::new(RefCell::new(Now { servers, ..Now::default() }));
        let budget = Rc::new(Budget::new());
        library::fit(&lua)?;
        avi::fit(&lua, &now, &budget)?;
        let outer = lua.create_table()?;
        outer.raw_set("__index", lua.globals())?;
        outer.raw_set("__metatable", false)?;
        outer.set_readonly(true);
        let asked = budget.clone();
        lua.set_interrupt(move |lua| asked.check(lua));
        lua.sandbox(true)?;
        let mut machine = Self { lua, now, budget, loaded: HashMap::new(), outer, base_bytes: 0, kept: 0 };
        machine.settle();
        Ok(machine)
    }

    fn run(&mut self, before: Used, served: &Arc<Served>, event: Event, seen: &mut Box<Seen>) -> Ran {
        if self.lua.used_memory() > self.base_bytes + GARBAGE_BYTES {
            self.budget.lift();
            // Fails only if a finalizer does, and there is none.
            let _ = self.lua.gc_collect();
        }
        {
            let mut now = self.now.borrow_mut();
            mem::swap(&mut now.seen, seen);
            (now.event, now.served) = (event, Some(served.clone()));
        }
        let fault = self.run_each(before, served, event);
        let mut now = self.now.borrow_mut();
        mem::swap(&mut now.seen, seen);
        now.served = None;
        Ran { acts: mem::take(&mut now.acts), fault }
    }

    fn run_each(&mut self, before: Used, Served { sets, .. }: &Served, event: Event) -> Option<Fault> {
        // Before the first one runs, because loading lifts the budget.
        for script in sets.iter().flat_map(|set| set.of(event)) {
            if let Ok(code) = &script.code
                && let Err(error) = self.load(script, code)
            {
                return Some(Fault::of(&error, &script.name));
            }
        }
        self.budget.begin(before);
        for (at, set) in sets.iter().enumerate() {
            for script in set.of(event) {
                self.now.borrow_mut().set_at = at;
                let Some(Loaded { function, globals }) = self.loaded.get(&script.id) else {
                    return script.fault().cloned();
                };
                let ended = function.call::<()>(());
                // Not if the script has set none. It fails only for a table that may not be written.
                let _ = globals.clear();
                let acts = &self.now.borrow().acts;
                if acts.done || acts.ending.is_some() {
                    return None;
                }
                if let Err(error) = ended {
                    return Some(Fault::of(&error, &script.name));
                }
            }
        }
        None
    }

    fn load(&mut self, script: &Script, code: &[u8]) -> Result<()> {
        if self.loaded.contains_key(&script.id) {
            return Ok(());
        }
        self.budget.lift();
        self.lua.set_memory_limit(0)?;
        let globals = self.lua.create_table()?;
        globals.set_metatable(Some(self.outer.clone()))?;
        // No script can replace a function that it finds outside, so loading looks them up for good.
        globals.set_safeenv(true);
        let chunk = self.lua.load(code).set_mode(ChunkMode::Binary).set_name(format!("={}", script.name));
        let function = chunk.set_environment(globals.clone()).into_function()?;
        self.loaded.insert(script.id, Loaded { function, globals });
        self.settle();
        Ok(())
    }

    /// Counts what is there as not being that of an event.
    fn settle(&mut self) {
        self.budget.lift();
        let _ = self.lua.gc_collect();
        self.base_bytes = self.lua.used_memory();
        self.budget.set_base(self.base_bytes);
        let _ = self.lua.set_memory_limit(self.base_bytes + budget::BYTES);
    }
}

impl Now {
    /// Ends the scripts of this event: nothing of them runs any more.
    pub(crate) fn finish(&mut self, budget: &Budget) -> mlua::Error {
        budget.end(Over::Done);
        mlua::Error::runtime("the script has ended")
    }
}
