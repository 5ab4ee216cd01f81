//! Counts errors that operators exclude from the errors, beside the class of their status. Both are called for statuses
//! from 400 on only.

use std::sync::Arc;

use weir_snapshot::{Pool, VirtualService};
use weir_telemetry::{Counters, Happening};

/// A response to a client.
#[cold]
pub(crate) fn count(counters: &mut Counters, service: &VirtualService, status: u16) {
    if service.analytics.as_ref().is_some_and(|analytics| analytics.rules.not_errors.has(status)) {
        counters.note(Happening::Excluded { service: service.id, status });
    }
}

/// A response of a server of a pool.
#[cold]
pub(crate) fn count_of_server(counters: &mut Counters, pool: Option<&Arc<Pool>>, server: u32, status: u16) {
    if pool.is_some_and(|pool| pool.not_errors.has(status)) {
        counters.note(Happening::ServerExcluded { server, status });
    }
}
