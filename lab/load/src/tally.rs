//! What is counted: answers, latencies, errors by cause, handshakes.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use weir_proxy::io::Time;
use weir_tls::Handshaken;

use crate::timeline::Timeline;

/// Distinct values that answers are counted by; others count as "(other)".
const VALUES_MAX: usize = 1000;
/// The limit of distinct names of errors. TLS has many different reasons; further ones count as "tls".
const ERROR_NAMES_MAX: usize = 40;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    Connect,
    /// Why, in the words of TLS.
    Tls(String),
    /// The connection ended before an answer began, or by a reset.
    Reset,
    Timeout,
    /// 400 or more.
    Status,
    /// The connection ended inside a body.
    ShortBody,
    /// What came is not what the protocol or the request asks for.
    BadResponse,
    /// This machine has no descriptor or no port left.
    Local,
}

impl Cause {
    fn all() -> [Cause; 8] {
        use Cause::*;
        [Connect, Tls(String::new()), Reset, Timeout, Status, ShortBody, BadResponse, Local]
    }

    /// With the reason behind it.
    pub fn text(&self) -> String {
        match self {
            Cause::Tls(why) => format!("tls: {why}"),
            _ => self.name().into(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Cause::Connect => "connect",
            Cause::Tls(_) => "tls",
            Cause::Reset => "reset",
            Cause::Timeout => "timeout",
            Cause::Status => "status",
            Cause::ShortBody => "short_body",
            Cause::BadResponse => "bad_response",
            Cause::Local => "local",
        }
    }
}

impl From<weir_tls::Error> for Cause {
    fn from(why: weir_tls::Error) -> Self {
        Cause::Tls(why.to_string())
    }
}

#[derive(Default)]
pub struct TlsTally {
    /// Of the first handshake.
    pub first: Option<Handshaken>,
    pub full: u64,
    pub resumed: u64,
}

pub struct Tally {
    pub span: Duration,
    pub requests: u64,
    pub bytes: u64,
    /// Requests that were due and never begun, because all connections were busy.
    pub missed: u64,
    /// Idle connections that still stood at the end.
    pub idle_held: u64,
    /// Streams that still waited for their answer at the end.
    pub waiting_held: u64,
    /// By the name of the cause, all of which are in it; of TLS also with the reason behind it. A failure counts once.
    pub errors: BTreeMap<String, u64>,
    /// From when a request was due, in µs; the same as `uncorrected` without a rate.
    pub latency: Histogram<u64>,
    /// From when it was begun.
    pub uncorrected: Histogram<u64>,
    pub tls: TlsTally,
    pub per_value: BTreeMap<String, u64>,
    pub timeline: Option<Timeline>,
}

/// An hour in µs: longer is counted as an hour.
const LATENCY_MAX_US: u64 = 3_600_000_000;

impl Tally {
    pub fn new() -> Self {
        // The bounds are constants that the histogram allows.
        let histogram = || Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).unwrap_or_else(|_| unreachable!());
        Self {
            span: Duration::ZERO,
            requests: 0,
            bytes: 0,
            missed: 0,
            idle_held: 0,
            waiting_held: 0,
            errors: Cause::all().map(|cause| (cause.name().to_owned(), 0)).into(),
            latency: histogram(),
            uncorrected: histogram(),
            tls: TlsTally::default(),
            per_value: BTreeMap::new(),
            timeline: None,
        }
    }

    pub fn answered(&mut self, now: Time, due: Time, begun: Time, value: Option<&str>) {
        let us = |span: Duration| (span.as_micros() as u64).clamp(1, LATENCY_MAX_US);
        self.requests += 1;
        self.latency.saturating_record(us(now.since(due)));
        self.uncorrected.saturating_record(us(now.since(begun)));
        if let Some(timeline) = &mut self.timeline {
            timeline.answered(now, value);
        }
    }

    pub fn failed(&mut self, cause: Cause, now: Time, begun: Time, value: Option<&str>) {
        count(&mut self.errors, &cause.text(), ERROR_NAMES_MAX, cause.name());
        if let Some(timeline) = &mut self.timeline {
            timeline.failed(now, begun, cause.text(), value);
        }
    }

    pub fn handshaken(&mut self, handshaken: Handshaken) {
        *if handshaken.resumed { &mut self.tls.resumed } else { &mut self.tls.full } += 1;
        self.tls.first.get_or_insert(handshaken);
    }

    /// Forgets the answers so far: what is measured begins now. Errors and handshakes stay.
    pub fn begin(&mut self) {
        (self.requests, self.bytes) = (0, 0);
        self.latency.reset();
        self.uncorrected.reset();
        self.per_value.clear();
    }

    pub fn value(&mut self, value: &[u8]) {
        count(&mut self.per_value, &String::from_utf8_lossy(value), VALUES_MAX, "(other)");
    }

    pub fn error_total(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Tally) {
        self.span = self.span.max(other.span);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.missed += other.missed;
        self.idle_held += other.idle_held;
        self.waiting_held += other.waiting_held;
        // Both have the same bounds.
        let _ = self.latency.add(&other.latency);
        let _ = self.uncorrected.add(&other.uncorrected);
        self.tls.first = self.tls.first.or(other.tls.first);
        self.tls.full += other.tls.full;
        self.tls.resumed += other.tls.resumed;
        if let Some(timeline) = &other.timeline {
            self.timeline.get_or_insert_default().add(timeline);
        }
        for (mine, theirs) in [(&mut self.errors, &other.errors), (&mut self.per_value, &other.per_value)] {
            theirs.iter().for_each(|(name, count)| *mine.entry(name.clone()).or_default() += count);
        }
    }
}

/// Counts one more by `name`; once there are `names_max`, by `otherwise` where the name is new.
fn count(counts: &mut BTreeMap<String, u64>, name: &str, names_max: usize, otherwise: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
    } else if counts.len() < names_max {
        counts.insert(name.into(), 1);
    } else {
        *counts.entry(otherwise.into()).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up() {
        let mut one = Tally::new();
        let at = |us: u64| Time::default() + Duration::from_micros(us);
        one.answered(at(500), at(0), at(400), None);
        one.failed(Cause::Timeout, at(0), at(0), None);
        one.value(b"a");
        let mut two = Tally::new();
        two.answered(at(900), at(0), at(0), None);
        two.failed(Cause::Timeout, at(0), at(0), None);
        two.value(b"a");
        two.add(&one);
        assert_eq!((two.requests, two.error_total(), two.per_value["a"]), (2, 2, 2));
        assert_eq!((two.latency.value_at_quantile(0.5), two.uncorrected.value_at_quantile(0.5)), (500, 100));
    }

    #[test]
    fn reasons_of_tls_are_bounded() {
        let mut tally = Tally::new();
        let now = Time::default();
        (0..100).for_each(|n| tally.failed(Cause::Tls(n.to_string()), now, now, None));
        tally.failed(Cause::Tls("0".into()), now, now, None);
        assert_eq!((tally.errors.len(), tally.errors["tls: 0"], tally.errors["tls"]), (ERROR_NAMES_MAX, 2, 68));
        assert_eq!(tally.error_total(), 101);
    }

    #[test]
    fn values_are_bounded() {
        let mut tally = Tally::new();
        (0..2000).for_each(|n| tally.value(n.to_string().as_bytes()));
        assert_eq!((tally.per_value.len(), tally.per_value["(other)"]), (VALUES_MAX + 1, 1000));
    }
}
