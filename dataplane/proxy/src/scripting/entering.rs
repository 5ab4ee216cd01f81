//! The scripts that run before a request may go on: before its token is looked at, and when that is good. What they change
//! and keep is there for the scripts behind the rules.

use weir_rules::Edits;
use weir_script::{Event, Seen};
use weir_snapshot::ServiceScripts;

use super::{Halt, Scripting, Steered};
use crate::pool::Pools;

/// What these scripts have made of a request so far.
#[derive(Default)]
pub(crate) struct Entering {
    /// `None`: it has its answer.
    pub seen: Option<Box<Seen>>,
    pub edits: Edits<'static>,
    pub halt: Option<Halt>,
}

impl Scripting {
    /// Runs the scripts for an event of these, if there are some. Returns whether the request goes on.
    pub fn enter(
        &mut self,
        scripts: Option<&ServiceScripts>,
        pools: &mut Pools,
        event: Event,
        entering: &mut Option<Entering>,
        see: &dyn Fn(&mut Seen),
    ) -> bool {
        let Some(scripts) = scripts else { return true };
        let runs = match event {
            Event::Authentication => scripts.on_authentication,
            _ => scripts.on_authenticated,
        };
        !runs || self.run_entry(scripts, pools, event, entering.get_or_insert_default(), see)
    }

    #[cold]
    fn run_entry(
        &mut self,
        scripts: &ServiceScripts,
        pools: &mut Pools,
        event: Event,
        entering: &mut Entering,
        see: &dyn Fn(&mut Seen),
    ) -> bool {
        let before = entering.seen.take();
        let goes_on = before.is_some();
        let mut seen = before.unwrap_or_else(|| {
            let mut seen = self.machine.room();
            see(&mut seen);
            seen
        });
        let mut steered = Steered::default();
        match self.steer(scripts, pools, (event, goes_on), (&mut seen, &mut steered)) {
            Ok(()) => {
                entering.edits.append(steered.edits);
                entering.seen = Some(seen);
                true
            }
            Err(halt) => {
                self.give_back(seen);
                entering.halt = Some(halt);
                false
            }
        }
    }
}
