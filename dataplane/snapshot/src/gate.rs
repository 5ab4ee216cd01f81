//! Which connections a virtual service lets in: whose, how often they may come, and how many there may be at once. For a
//! service of datagrams, the first of a session stands for it.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rate::{Bucket, Limit, Moment, Place, Tally};
use weir_rules::{Arriving, Barred, Decided, DecidedBy, NetworkPolicy};

use crate::{
    dosers::Dosers,
    finding::{Findings, Subject},
    policies::check_numbers,
};

/// Built for a virtual service that does not let in everybody.
#[derive(Debug)]
pub struct Gate {
    network: Option<Arc<NetworkPolicy>>,
    source: Source,
    /// `Some`: it counts.
    tally: Option<Tally>,
    bucket: Option<Arc<Bucket>>,
}

/// What a gate is made of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Source {
    limits: Vec<ConnectionLimit>,
    /// 0: no limit, and nobody counts them.
    open_max: u64,
    /// 0: no limit.
    throughput_mbps: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ConnectionLimit {
    limit: Limit,
    by_client: bool,
    /// `None`: beyond it a connection is only reported.
    excess: Option<Turned>,
    dosers: Option<Box<Dosers>>,
}

impl Source {
    /// What is open is counted, also without a limit.
    pub fn counting(self, counts: bool) -> Self {
        match self.open_max {
            0 if counts => Self { open_max: u64::MAX, ..self },
            _ => self,
        }
    }
}

impl ConnectionLimit {
    /// All that is counted for it.
    fn all(&self) -> impl Iterator<Item = Limit> {
        std::iter::once(self.limit).chain(self.dosers.iter().flat_map(|dosers| dosers.limits()))
    }
}

/// A connection that is not let in ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turned {
    pub reset: bool,
    /// It is beyond the rate of its client, and not of all clients together.
    pub by_client: bool,
}

/// What becomes of a connection.
#[derive(Debug)]
pub enum Entry {
    /// `reported`: it is beyond a limit that lets it in. `place`: one of those that are open at once. `rule`: the one for
    /// connections that lets it in.
    In { place: Option<Place>, reported: bool, rule: Option<DecidedBy> },
    /// They come too often.
    TooOften(Turned),
    /// There are as many as there may be. It is reset.
    Full,
    /// This rule for connections bars it. It is reset.
    Barred(Barred, Option<DecidedBy>),
}

impl Gate {
    pub(crate) fn of(
        source: Source,
        network: Option<Arc<NetworkPolicy>>,
        tally: impl FnOnce(Vec<Limit>) -> Tally,
        bucket: impl FnOnce(u64) -> Option<Arc<Bucket>>,
    ) -> Option<Box<Self>> {
        let bucket = bucket(source.throughput_mbps);
        if source == Source::default() && network.is_none() {
            return None;
        }
        let own = source.limits.iter().flat_map(ConnectionLimit::all);
        let counted: Vec<_> = own.chain(network.iter().flat_map(|network| network.limits())).collect();
        let counts = !counted.is_empty() || source.open_max > 0;
        Some(Box::new(Self { network, source, tally: counts.then(|| tally(counted)), bucket }))
    }

    /// That the connections share. `None`: their throughput has no limit.
    pub fn bucket(&self) -> Option<&Arc<Bucket>> {
        self.bucket.as_ref()
    }

    /// What they share, in megabits in a second; 0: it has no limit.
    pub fn throughput_mbps(&self) -> u64 {
        self.source.throughput_mbps
    }

    /// The connections have the throughput that the Plan gives them, from now on. Until then they have that of the Snapshot
    /// before.
    pub fn apply_throughput(&self) {
        self.bucket.iter().for_each(|bucket| bucket.change(self.source.throughput_mbps));
    }

    pub(crate) fn network(&self) -> Option<&Arc<NetworkPolicy>> {
        self.network.as_ref()
    }

    /// Whether a connection would be barred now, and the rule that decides. Nothing is counted. `now` is in nanoseconds.
    pub fn look(&self, arriving: &Arriving, now: u64) -> Decided<'_> {
        let Some(network) = &self.network else { return (Ok(()), None) };
        network.judge(arriving, self.tally.as_ref(), Moment::looking(now))
    }

    /// The rule that lets in who was let in before, as far as there still is one. Rates do not matter to it.
    pub fn lets_in(&self, arriving: &Arriving) -> Option<DecidedBy> {
        let (decided, rule) = self.network.as_ref()?.judge(arriving, None, Moment::looking(0));
        decided.ok().and(rule).map(DecidedBy::of)
    }

    /// A connection comes. `now` is in nanoseconds.
    pub fn enter(&self, arriving: &Arriving, now: u64) -> Entry {
        let at = Moment::counting(now);
        let mut rule = None;
        if let Some(network) = &self.network {
            let (decided, decisive) = network.judge(arriving, self.tally.as_ref(), at);
            rule = decisive.map(DecidedBy::of);
            if let Err(barred) = decided {
                return Entry::Barred(barred, rule);
            }
        }
        match &self.tally {
            Some(tally) => self.count(tally, arriving, at, rule),
            None => Entry::In { place: None, reported: false, rule },
        }
    }

    fn count(&self, tally: &Tally, arriving: &Arriving, at: Moment, rule: Option<DecidedBy>) -> Entry {
        let (client, mut reported) = (arriving.client.ip(), false);
        for ConnectionLimit { limit, by_client, excess, dosers } in &self.source.limits {
            let admitted = match (by_client, dosers) {
                (true, Some(dosers)) => dosers.admit(tally, limit, |key| key.client(client), at),
                (true, None) => tally.admit(limit, &tally.key(limit).client(client), at),
                (false, _) => tally.admit_any(limit, at),
            };
            match (admitted, excess) {
                (Ok(()), _) => {}
                (Err(_), None) => reported = true,
                (Err(_), Some(turned)) => return Entry::TooOften(*turned),
            }
        }
        let place = match self.source.open_max {
            0 => None,
            most => match tally.open().enter(most) {
                None => return Entry::Full,
                place => place,
            },
        };
        Entry::In { place, reported, rule }
    }
}

/// `None`: a limit cannot be used; the findings say why.
pub(crate) fn read(service: Subject<'_>, source: &v1::VirtualService, findings: &mut Findings) -> Option<Source> {
    let limits = source.connection_limits.iter().map(|from| read_limit(service, from, findings));
    let limits: Vec<_> = limits.collect();
    let limits: Option<_> = limits.into_iter().collect();
    if source.udp.is_some() && (!source.connection_limits.is_empty() || source.max_open_connections > 0) {
        findings.error(service, "connections_rate_limit", "limits connections, and datagrams have none");
        return None;
    }
    if source.udp.is_some() && source.max_throughput_mbps > 0 {
        findings.error(service, "performance_limits.max_throughput", "limits connections, and datagrams have none");
        return None;
    }
    let (open_max, throughput_mbps) = (source.max_open_connections.into(), source.max_throughput_mbps.into());
    Some(Source { limits: limits?, open_max, throughput_mbps })
}

fn read_limit(service: Subject<'_>, from: &v1::RateLimit, findings: &mut Findings) -> Option<ConnectionLimit> {
    use v1::rate_limit::Action;
    if from.of_failures
        || from.strangers.is_some()
        || from.by_path
        || !from.by_field.is_empty()
        || !from.by_cookie.is_empty()
    {
        findings.error(service, &*from.name, "limits connections, which have no path, field or cookie");
        return None;
    }
    let excess = match &from.action {
        None => None,
        Some(Action::Close(close)) => Some(Turned { reset: close.reset, by_client: from.by_client }),
        Some(Action::Response(_) | Action::Redirect(_)) => {
            findings.error(service, format!("{}.action", from.name), "limits connections, which get no response");
            return None;
        }
    };
    if !check_numbers(service, &from.name, from, findings) {
        return None;
    }
    let dosers = match &from.dosers {
        None => None,
        Some(dosers) => Some(Box::new(Dosers::read(service, from, dosers, findings)?)),
    };
    let limit = Limit::new("", &from.name, from.count, from.period_s, from.burst);
    Some(ConnectionLimit { limit, by_client: from.by_client, excess, dosers })
}
