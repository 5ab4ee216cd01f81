//! weir-icount: how many instructions the data plane takes for a request, a handshake, a body.
//!
//! Flow: for each of the `rows` it runs itself under valgrind (`callgrind` → `profile`), where the row drives the real
//! proxy on a `stage` without sockets, and compares what was counted with `counts`, the file beside the code. Counts do
//! not depend on how busy the machine is; times do, so they are shown and never judged.
#![forbid(unsafe_code)]

mod callgrind;
mod clients;
mod counts;
mod flags;
mod http2;
mod plan;
mod profile;
mod rows;
mod rules;
mod servers;
mod stage;
mod table;
mod world;

use std::{
    num::NonZero,
    panic::resume_unwind,
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    counts::Counts,
    flags::{Flags, Task},
    profile::Counted,
    rows::{ROWS, Row},
    table::Line,
};

/// As in weir-dataplane.
#[global_allocator]
static ALLOCATOR: weir_reactor::Allocator = weir_reactor::Allocator;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let task = match flags::parse(std::env::args_os()) {
        Ok(Some(task)) => task,
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-icount: {why}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    let outcome = match &task {
        Task::Run(row) => {
            fill_heap();
            row.run()
        }
        Task::Time(row) => time(row),
        Task::Explain(row, flags) => explain(row, flags),
        Task::Count(flags) => count(flags),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-icount: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Keeps small blocks, as a process that has served for a while has them. In an empty heap, the blocks of a handshake
/// happen to end a little behind a page of the allocator: each handshake would take another page and give it back.
fn fill_heap() {
    const BLOCKS: usize = 100;
    for _ in 0..BLOCKS {
        Vec::<u8>::with_capacity(64).leak();
    }
}

fn count(flags: &Flags) -> Result<(), Failure> {
    let recorded = Counts::read(&flags.counts)?;
    let (mut now, mut lines) = (Counts::new(callgrind::tools()?), Vec::new());
    for (row, counted) in count_rows(flags) {
        let counted = counted?;
        now.note(row.name, counted);
        lines.push(Line { row, counted, time: row.fastest()? });
    }
    print!("{}", table::text(&lines, &recorded)?);
    if flags.write {
        return Ok(std::fs::write(&flags.counts, now.to_string())?);
    }
    recorded.complaint(&now).map_or(Ok(()), |complaint| Err(complaint.into()))
}

/// Counts the rows, as many at once as there are cores. That changes no count.
fn count_rows(flags: &Flags) -> Vec<(&'static Row, Result<Counted, Failure>)> {
    let next = AtomicUsize::new(0);
    let count_some = || {
        let rows = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < ROWS.len()));
        rows.map(|at| (at, count_row(&ROWS[at], flags))).collect::<Vec<_>>()
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut counted: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(count_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    counted.sort_by_key(|(at, _)| *at);
    counted.into_iter().map(|(at, counted)| (&ROWS[at], counted)).collect()
}

fn count_row(row: &Row, flags: &Flags) -> Result<Counted, Failure> {
    let sum = callgrind::profile(row, &flags.profiles)?.counted;
    Ok(sum.of_one(row.repeats()))
}

fn time(row: &'static Row) -> Result<(), Failure> {
    let recorded = Counts::of_this_tree()?;
    let line = |row: &'static Row| -> Result<Line, Failure> {
        let counted = recorded.of(row.name).ok_or_else(|| format!("{}: not recorded", row.name))?;
        Ok(Line { row, counted, time: row.fastest()? })
    };
    print!("{}", table::json(&line(row)?, line(Row::of_pace()?)?.pace()));
    Ok(())
}

fn explain(row: &Row, flags: &Flags) -> Result<(), Failure> {
    print!("{}", table::dearest(row, &callgrind::profile(row, &flags.profiles)?));
    Ok(())
}
