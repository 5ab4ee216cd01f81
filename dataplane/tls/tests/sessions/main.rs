//! Real sessions of both sides, joined in memory: what goes over the wire, what does not, and what faults do.

#![allow(clippy::unwrap_used)]

mod bytes;
mod certificates;
mod clients;
mod close;
mod faults;
mod pair;
mod resumption;
mod servers;
mod suites;
