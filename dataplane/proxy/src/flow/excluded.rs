//! Counts errors that operators exclude from the errors, beside the class of their status. Both are called for statuses
//! from 400 on only.

use std::sync::Arc;

use weir_snapshot::{Pool, VirtualService};
use weir_telemetry::{Cause, Counters, Happening};

/// A response to a client; `cause`: why Weir itself answers.
#[cold]
pub(crate) fn count(counters: &mut Counters, service: &VirtualService, status: u16, cause: Option<Cause>) {
    let Some(rules) = service.analytics.as_ref().map(|analytics| &analytics.rules) else { return };
    if rules.not_errors.has(status) || cause.is_some_and(|cause| rules.excludes(cause)) {
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
