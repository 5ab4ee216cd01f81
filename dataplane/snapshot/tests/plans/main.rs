//! Valid, invalid and changing Plans, and their snapshots.
#![allow(clippy::unwrap_used)]

mod algorithms;
mod changes;
mod contents;
mod damage;
#[path = "../../../sim/src/difference.rs"]
mod difference;
mod findings;
#[path = "../../../fuzz/src/plan.rs"]
mod fuzz;
mod hosting;
mod plan;
mod protocols;
mod rates;
mod sequences;
mod steps;
mod variants;
