//! Clients that connect far more often than a limit says, which have a lower one for a while.

use weir_api::dataplane::v1;
use weir_rate::{Beyond, Key, Limit, Moment, Tally};

use crate::{
    finding::{Findings, Subject},
    policies::rate::check_rate,
};

/// What is counted of clients that have a limit of connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dosers {
    /// All that come, also beyond the limit. Who exceeds it is marked.
    attempts: Limit,
    /// One event, which is forgotten when the client has its usual rate again.
    marks: Limit,
    slowed: Limit,
}

impl Dosers {
    /// `None`: they cannot be used; the findings say why.
    pub fn read(service: Subject<'_>, of: &v1::RateLimit, from: &v1::Dosers, findings: &mut Findings) -> Option<Self> {
        let v1::Dosers { count, slowed_count, for_s } = *from;
        let name = of.name.as_str();
        if !of.by_client {
            findings.error(service, format!("{name}.dosers"), "are clients, and all clients together have this limit");
            return None;
        }
        let rates = [("attempts", count, of.period_s), ("dosers", 1, for_s), ("slowed", slowed_count, of.period_s)];
        let mut is_sound = true;
        let mut limit = |(scope, count, period_s)| {
            is_sound &= check_rate(service, &format!("{name}.{scope}"), (count, period_s, 0), findings);
            Limit::new(scope, name, count, period_s, 0)
        };
        let [attempts, marks, slowed] = rates.map(&mut limit);
        is_sound.then(|| Self { attempts, marks: marks.of_engine(), slowed })
    }

    pub fn limits(&self) -> [Limit; 3] {
        [self.attempts, self.marks, self.slowed]
    }

    /// A connection of a client comes. `key` adds the client to a key.
    pub fn admit(&self, tally: &Tally, limit: &Limit, key: impl Fn(Key) -> Key, at: Moment) -> Result<(), Beyond> {
        let admit = |limit: &Limit, at| tally.admit(limit, &key(tally.key(limit)), at);
        let is_marked = tally.used(&self.marks, &key(tally.key(&self.marks)), at) > 0;
        if !is_marked && admit(&self.attempts, at).is_ok() {
            return admit(limit, at);
        }
        if !is_marked {
            let _: Result<(), Beyond> = admit(&self.marks, at);
        }
        admit(&self.slowed, at)
    }
}

#[cfg(test)]
mod tests {
    use weir_rate::Tallies;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    const SERVICE: Subject<'_> = Subject { kind: "virtualservice", uuid: "vs-1", name: "web" };

    fn read(by_client: bool, from: v1::Dosers) -> Result<Dosers, Vec<String>> {
        let of = v1::RateLimit { name: "max_cps_per_client".into(), period_s: 1, by_client, ..Default::default() };
        let mut findings = Findings::default();
        let dosers = Dosers::read(SERVICE, &of, &from, &mut findings);
        dosers.ok_or_else(|| findings.errors.into_iter().map(|error| error.field).collect())
    }

    #[test]
    fn dosers_that_cannot_be_counted_are_refused() {
        let sound = v1::Dosers { count: 20, slowed_count: 1, for_s: 60 };
        assert_eq!(read(false, sound).unwrap_err(), ["max_cps_per_client.dosers"]);
        let wrong = v1::Dosers { slowed_count: 0, for_s: 0, ..sound };
        assert_eq!(
            read(true, wrong).unwrap_err(),
            ["max_cps_per_client.dosers.period", "max_cps_per_client.slowed.count"]
        );
    }

    #[test]
    fn client_that_comes_far_too_often_has_a_lower_rate_for_a_while() {
        let limit = Limit::new("", "max_cps_per_client", 10, 1, 0);
        let from = v1::Dosers { count: 20, slowed_count: 1, for_s: 60 };
        let dosers = read(true, from).expect("sound");
        let tally = Tallies::new(1).of("", 1, dosers.limits().into_iter().chain([limit]));
        let passes = |client: &str, times: u32, now: u64| {
            let key = |key: Key| key.client(client.parse().expect("sound"));
            (0..times).filter(|_| dosers.admit(&tally, &limit, key, Moment::counting(now)).is_ok()).count()
        };
        let start = SECOND;
        assert_eq!(passes("192.0.2.1", 20, start), 10, "twice as often is not too much yet");
        assert_eq!(passes("192.0.2.1", 20, start + 2 * SECOND), 10);
        assert_eq!(passes("192.0.2.1", 21, start + 3 * SECOND), 11, "one more, and it is slowed");
        let later = |seconds: u64| start + (3 + seconds) * SECOND;
        assert_eq!([passes("192.0.2.1", 9, later(10)), passes("192.0.2.1", 9, later(59))], [1, 1]);
        assert_eq!(passes("192.0.2.2", 9, later(10)), 9, "others are not");
        assert_eq!(passes("192.0.2.1", 9, later(61)), 9, "a minute later it is as all others");
    }
}
