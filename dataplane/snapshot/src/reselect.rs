//! When a request goes to another server after a response.

use std::ops::RangeInclusive;

use weir_api::dataplane::v1;

use crate::finding::{Findings, Subject};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reselect {
    statuses: Vec<RangeInclusive<u16>>,
    /// How many other servers one request may go to.
    pub max_retries: u32,
    /// Requests with methods that are not idempotent go to another server, too.
    pub any_method: bool,
    /// How long a server may take to begin its response to a repeat; 0: as long as for a first request.
    pub retry_timeout_ms: u32,
}

/// Of errors of clients and servers.
const STATUSES: RangeInclusive<u32> = 400..=599;

impl Reselect {
    /// `None`, with a finding, if it has errors.
    pub(crate) fn read(source: &v1::Reselect, pool: Subject<'_>, findings: &mut Findings) -> Option<Self> {
        let is_sound = |range: &&v1::StatusRange| {
            STATUSES.contains(&range.first) && STATUSES.contains(&range.last) && range.first <= range.last
        };
        if let Some(range) = source.statuses.iter().find(|range| !is_sound(range)) {
            let message = format!(
                "{} to {} are not statuses from {} to {}",
                range.first,
                range.last,
                STATUSES.start(),
                STATUSES.end()
            );
            findings.error(pool, "server_reselect.svr_resp_code", message);
            return None;
        }
        Some(Self {
            statuses: source.statuses.iter().map(|range| range.first as u16..=range.last as u16).collect(),
            max_retries: source.max_retries,
            any_method: source.any_method,
            retry_timeout_ms: source.retry_timeout_ms,
        })
    }

    /// Whether a response with this status makes the request go to another server.
    pub fn follows(&self, status: u16) -> bool {
        self.statuses.iter().any(|range| range.contains(&status))
    }
}
