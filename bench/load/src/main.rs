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

use std::{
    process::ExitCode,
    sync::{Arc, Barrier},
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
    let opened = Arc::new(Barrier::new(tasks.len()));
    let threads: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let opened = opened.clone();
            thread::spawn(move || one_thread(task, &opened))
        })
        .collect();
    let mut sum = Tally::new();
    for thread in threads {
        sum.add(&thread.join().map_err(|_| "a thread panicked; its figures are lost")??);
    }
    Ok(sum)
}

/// The threads begin together, once all have opened their idle connections.
fn one_thread(task: Task, opened: &Barrier) -> Result<Tally, Failure> {
    let holds = task.idle_connections > 0;
    let runner = Runner::new(task).and_then(|mut runner| runner.open_idle().map(|()| runner));
    if opened.wait().is_leader() && holds {
        eprintln!("weir-load: idle connections are open");
    }
    Ok(runner?.run()?)
}
