//! weir-load: requests at an HTTP or HTTPS server, at full speed or at a fixed rate, and how they fared.
//!
//! Flow: `flags` → `task` (what to send where) → a `runner` per thread over the data plane's own reactor, TLS and
//! HTTP parser → `tally`s added up → `report`. It always stops by itself, and verifies no certificate.
#![forbid(unsafe_code)]

mod answer;
mod flags;
mod lane;
mod report;
mod runner;
mod tally;
mod task;
mod timeline;

use std::{
    process::ExitCode,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{flags::Flags, runner::Runner, tally::Tally, task::Task};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
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
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    ENOUGH.store(true, Ordering::Relaxed);
}

fn one_thread(task: Task, together: &Together) -> Result<Tally, Failure> {
    let mut runner = Runner::new(task);
    let opened = runner.as_mut().map_or(Ok(()), Runner::open_idle);
    together.reach("begun");
    let tally = runner.as_mut().map(|runner| runner.run(&ENOUGH));
    together.reach("over");
    opened?;
    Ok(tally.map_err(|why| why.to_string())??)
}
