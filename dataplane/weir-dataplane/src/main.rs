//! The data plane of an engine: one worker per core, and a control thread. They share nothing and exchange messages.
//! This crate only composes them; every decision is made in another crate.
#![forbid(unsafe_code)]

mod containment;
mod flags;
mod pace;
mod worker;

use std::{process::ExitCode, sync::mpsc};

use weir_control::{Control, Cores, Server, WorkerLink, log, vital};
use weir_reactor::{Driver, Limits, Reactor, process};

use crate::{flags::Flags, worker::Worker};

#[global_allocator]
static ALLOCATOR: weir_reactor::Allocator = weir_reactor::Allocator;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Descriptors other than connections and pipes: epoll sets, wakers, control links, listening sockets and their
/// duplicates.
const OTHER_DESCRIPTORS: u64 = 1024;
const DESCRIPTORS_OF_PIPE: usize = 2;
/// The part of a worker's descriptors that sessions of datagrams may have: an eighth.
const DATAGRAMS_PART: usize = 8;
/// The part of the process's memory that buffers may use: a sixteenth. Mostly clients that do not read their responses
/// need it.
const BUFFERS_PART: u64 = 16;
const BUFFER_BYTES_MIN: u64 = 32 * 1024 * 1024;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let flags = match flags::parse(std::env::args_os()) {
        Ok(Some(flags)) => flags,
        Ok(None) => return ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-dataplane: {why}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    log::set_level(flags.log_level);
    match run(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            log::error(why);
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags) -> Result<(), Failure> {
    let termination = process::Termination::block()?;
    process::forgo_huge_pages()?;
    let descriptors = process::raise_descriptor_limit()?;
    if let Err(why) = process::make_room_for_descriptors(descriptors) {
        log::warn(format!(
            "cannot enlarge the descriptor table to {descriptors}, so clients may wait for that later: {why}"
        ));
    }
    let cores = process::cores()?;
    let workers = flags.workers.unwrap_or(cores.len());
    let server = Server::bind(&flags.socket)?;
    let control = Control::new(VERSION, Cores::new(cores.clone(), !flags.pin));

    let limits = limits(descriptors, process::ports(), process::memory_bytes_max(), workers);
    let mut links = Vec::new();
    for index in 0..workers {
        links.push(start_worker::<Reactor>(index as u32, &limits, &control)?);
    }
    let inbox = control.inbox();
    vital::spawn("signals", move || {
        while termination.wait().is_ok() {
            inbox.terminate();
        }
    })?;
    log::info(format!("{workers} workers, control socket {}", flags.socket.display()));
    Ok(control.run(server, links)?)
}

/// The limits of each worker, such that all workers together stay within the process's descriptors and memory, and the
/// machine's ports.
fn limits(descriptors: u64, ports: usize, memory_bytes: u64, workers: usize) -> Limits {
    let default = Limits::default();
    let share = descriptors.saturating_sub(OTHER_DESCRIPTORS).max(64) as usize / workers;
    // At most an eighth for pipes: relaying only saves work, but each client needs a connection.
    let pipes = default.pipes.min(share / 8 / DESCRIPTORS_OF_PIPE);
    let datagram_sockets = default.datagram_sockets.min(share / DATAGRAMS_PART);
    let connections = default.connections.min(share - pipes * DESCRIPTORS_OF_PIPE);
    let buffer_bytes = (memory_bytes / BUFFERS_PART / workers as u64).max(BUFFER_BYTES_MIN) as usize;
    Limits { connections, datagram_sockets, datagram_ports: ports / workers, pipes, buffer_bytes, ..default }
}

fn start_worker<D: Driver + 'static>(index: u32, limits: &Limits, control: &Control) -> Result<WorkerLink, Failure> {
    let (limits, inbox) = (limits.clone(), control.inbox());
    let (orders, mailbox) = mpsc::sync_channel(weir_control::ORDERS_MAX);
    let (ready, started) = mpsc::sync_channel(1);
    vital::spawn(&format!("worker-{index}"), move || {
        // A driver is made on its worker's thread and stays there: its buffers cannot be shared.
        let driver = match D::new(limits.clone()) {
            Ok(driver) => driver,
            Err(why) => return drop(ready.send(Err(why))),
        };
        let reached_by = (driver.waker(), process::Thread::current());
        if ready.send(Ok(reached_by)).is_err() {
            return;
        }
        if let Err(why) = Worker::new(index, driver, &limits, mailbox, inbox).run() {
            log::error(format!("worker {index} ended: {why}"));
            // The supervisor starts another process. This one, without a worker, would serve only a part of the
            // clients.
            std::process::exit(1);
        }
    })?;
    let (waker, thread) = started.recv()?.map_err(|why| format!("worker {index} cannot start: {why}"))?;
    Ok(WorkerLink { orders, waker, thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_all_workers_take_a_part_of_the_memory() {
        let gib = 1 << 30;
        for (memory, workers, bytes) in [(16 * gib, 1, 1 << 30), (16 * gib, 4, 1 << 28), (gib, 8, 1 << 25)] {
            assert_eq!(limits(20_000, 28_232, memory, workers).buffer_bytes, bytes);
        }
    }

    #[test]
    fn connections_and_pipes_of_all_workers_fit_the_descriptors_of_the_process() {
        for (descriptors, workers, connections, pipes) in
            [(20_000, 2, 8_976, 256), (20_000, 1, 18_464, 256), (4_096, 16, 168, 12), (10_000_000, 4, 500_000, 256)]
        {
            let limits = limits(descriptors, 28_232, 0, workers);
            assert_eq!((limits.connections, limits.pipes), (connections, pipes));
            assert_eq!(limits.datagram_ports, 28_232 / workers);
            assert!(limits.datagram_sockets <= limits.connections / 2);
            let all = workers * (limits.connections + DESCRIPTORS_OF_PIPE * limits.pipes);
            assert!(all as u64 + OTHER_DESCRIPTORS <= descriptors);
        }
    }
}
