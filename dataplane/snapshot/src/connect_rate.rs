//! How often an engine may connect to each server of a pool.

use weir_api::dataplane::v1;
use weir_rate::{Beyond, Limit, Moment, Tallies, Tally};
use weir_rules::Excess;

use crate::{
    finding::{Findings, Subject},
    policies::rate::{Place, read_limit},
};

const FIELD: &str = "max_conn_rate_per_server";

#[derive(Debug)]
pub struct ConnectRate {
    /// By the position of the server.
    limits: Vec<Limit>,
    /// All workers count together.
    tally: Tally,
    /// What becomes of a request that needs a new connection while all servers have had too many.
    pub excess: Excess,
}

impl ConnectRate {
    /// `None`, with a finding, if it has errors. `servers`: their names.
    pub(crate) fn read<'s>(
        source: &v1::RateLimit,
        pool: (Subject<'_>, &str),
        servers: impl Iterator<Item = &'s str>,
        tallies: &Tallies,
        findings: &mut Findings,
    ) -> Option<Self> {
        let (subject, uuid) = pool;
        let place = Place { subject, at: FIELD, scope: "", identity: "" };
        let read = read_limit(&place, source, findings)?;
        let excess = match read.excess {
            Excess::Redirect(redirect) if redirect.location_of(b"/").is_none() => {
                findings.error(subject, format!("{FIELD}.action.redirect.host"), "is missing, or is no host");
                return None;
            }
            excess => excess,
        };
        let limit = |server| Limit::new(FIELD, server, source.count, source.period_s, source.burst);
        let limits: Vec<_> = servers.map(limit).collect();
        // Virtual services have names of their own.
        let tally = tallies.of(&format!("servers of {uuid}"), 1, limits.iter().copied());
        Some(Self { limits, tally, excess })
    }

    /// Whether the limit only reports what is beyond it.
    pub fn only_reports(&self) -> bool {
        self.excess == Excess::Report
    }

    /// A connection to the server at a position begins. False: it must not. `now` is in nanoseconds.
    pub fn admits(&self, position: usize, now: u64) -> bool {
        self.ask(position, Moment::counting(now)).is_ok()
    }

    /// The nanoseconds until a connection would be admitted; `None`: it would be now. It is not counted.
    pub fn wait_nanos(&self, position: usize, now: u64) -> Option<u64> {
        self.ask(position, Moment::looking(now)).err().map(|beyond| beyond.wait_nanos)
    }

    fn ask(&self, position: usize, at: Moment) -> Result<(), Beyond> {
        self.limits.get(position).map_or(Ok(()), |limit| self.tally.admit_any(limit, at))
    }
}
