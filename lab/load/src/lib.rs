//! weir-load: requests at a server, at full speed or at a fixed rate, and how they fared.
//!
//! Flow: `flags` → `task` (what to send where; `script`: the bytes) → a `runner` per thread over the data plane's own
//! reactor, TLS and parsers, with a `speaker` per connection; for datagrams `udp` → `tally`s added up → `report`. It
//! always stops by itself, and verifies no certificate.
#![forbid(unsafe_code)]

mod answer;
mod block;
mod echo;
mod flags;
mod http2;
mod link;
pub mod origin;
mod report;
mod runner;
mod script;
mod speaker;
mod tally;
mod task;
mod timeline;
mod udp;
mod url;
mod websocket;

use std::{
    io,
    process::ExitCode,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{flags::Flags, runner::Runner, script::Script, tally::Tally, task::Task, udp::Datagrams};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The program, by its command line.
pub fn main() -> ExitCode {
    let flags = match flags::parse(std::env::args_os()) {
        Ok(Some(flags)) => flags,
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-load: {why}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    match run(&flags) {
        Ok(tally) => {
            print!("{}", if flags.json { report::json(&tally, &flags) } else { report::table(&tally, &flags) });
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("weir-load: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags) -> Result<Tally, Failure> {
    weir_reactor::process::raise_descriptor_limit()?;
    let tasks: Vec<_> = (0..flags.threads).map(|index| Task::new(flags, index)).collect::<Result<_, _>>()?;
    let together = Arc::new(Together { threads: Barrier::new(tasks.len()), announce: flags.announce });
    if flags.until_eof {
        thread::spawn(await_eof);
    }
    let threads: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let together = together.clone();
            thread::spawn(move || one_thread(task, &together))
        })
        .collect();
    let mut sum = Tally::new();
    for thread in threads {
        sum.add(&thread.join().map_err(|_| "a thread panicked; its figures are lost")??);
    }
    Ok(sum)
}

/// The threads begin together, once all have opened their idle connections, and close theirs once all are done.
struct Together {
    threads: Barrier,
    announce: bool,
}

impl Together {
    /// A thread that has failed does not keep the others waiting.
    fn measure(&self, opened: io::Result<()>, run: impl FnOnce() -> io::Result<Tally>) -> Result<Tally, Failure> {
        self.reach("begun");
        let tally = opened.and_then(|()| run());
        self.reach("over");
        Ok(tally?)
    }

    fn reach(&self, point: &str) {
        if self.threads.wait().is_leader() && self.announce {
            eprintln!("weir-load: {point}");
        }
    }
}

/// Told to end before the time is over.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// Waits until the program that started this one closes its standard input, or dies. Then the load ends.
fn await_eof() {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    ENOUGH.store(true, Ordering::Relaxed);
}

fn one_thread(task: Task, together: &Together) -> Result<Tally, Failure> {
    if let Script::Datagram(_) = task.script {
        let mut datagrams = Datagrams::new(task);
        let opened = datagrams.open();
        return together.measure(opened, || Ok(datagrams.run(&ENOUGH)));
    }
    let mut runner = None;
    let opened = Runner::new(task).and_then(|new| runner.insert(new).open_idle());
    together.measure(opened, || runner.as_mut().map_or(Ok(Tally::new()), |runner| runner.run(&ENOUGH)))
}
