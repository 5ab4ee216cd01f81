//! Limits of strangers over a long time: the share of requests that fail decides, however many come.

use std::net::IpAddr;

use weir_rate::{Limit, Moment, Tallies};
use weir_rules::{
    Asked, Excess, HttpVersion, Judged, Origin, Pending, Policies, RateRule, RequestLimit, Scratch, Strangers, Verdict,
};
use weir_wire::{
    head::{FieldTable, Limits},
    http1::{Parsed, request},
};

const S: u64 = 1_000_000_000;

/// So many requests of strangers in so many seconds; the bad ones may send as many in the same time.
fn limit((count, bad): (u32, u32), period_s: u32, by_path: bool) -> RateRule {
    let strangers = Strangers::new(by_path, Limit::new("bad", "", bad, period_s, 0), true);
    let limit = RequestLimit {
        limit: Limit::new("", "limit", count, period_s, 0),
        by_client: !by_path,
        by_path,
        by_field: None,
        by_cookie: None,
        of_failures: false,
        strangers: Some(Box::new(strangers)),
    };
    RateRule { name: "limit".into(), limit, excess: Excess::Close { reset: false } }
}

struct Engine {
    policies: Policies,
    scratch: Scratch,
}

impl Engine {
    fn new(limits: Vec<RateRule>) -> Self {
        let all: Vec<_> = limits.iter().flat_map(|rate| rate.limit.limits()).collect();
        let tally = Tallies::new(1).of("service", 1, all);
        Self { policies: Policies::of(Vec::new(), limits, Some(tally)), scratch: Scratch::default() }
    }

    /// A request comes at a time in nanoseconds. `None`: it is refused.
    fn takes(&mut self, client: u8, now: u64) -> Option<Pending> {
        let mut fields = FieldTable::new();
        let text = b"GET /login HTTP/1.1\r\nHost: a\r\n\r\n";
        let Ok(Parsed::Whole(parsed)) = request(text, &Limits::new(0, 0, 0), &mut fields) else {
            panic!("it is a request")
        };
        let client = IpAddr::from([10, 0, 0, client]);
        let from = Origin { client, source: client, listener: ([192, 0, 2, 1], 80).into(), tls: None };
        let asked = Asked { head: &parsed.head, version: HttpVersion::Http11, from };
        let (mut judged, at) = (Judged::default(), Moment::counting(S + now));
        self.policies.judge(&asked, &mut self.scratch, at, &mut |_| true, &mut judged);
        let passes = matches!(judged.verdict, Verdict::Pass);
        self.policies.settle(&mut judged.pending, at);
        passes.then_some(judged.pending)
    }

    /// The request is answered at a time in nanoseconds.
    fn answers(&self, request: Pending, now: u64, fails: bool) {
        self.policies.answered(request, fails, Moment::counting(S + now));
    }

    /// Whether a request passes that is answered at once.
    fn passes(&mut self, client: u8, now: u64, fails: bool) -> bool {
        let request = self.takes(client, now);
        request.map(|request| self.answers(request, now, fails)).is_some()
    }

    /// So many requests come before one of them is answered. Returns how many are refused.
    fn refuses_of_burst(&mut self, client: u8, now: u64, times: u64, fails: impl Fn(u64) -> bool) -> usize {
        let taken: Vec<_> = (0..times).map(|_| self.takes(client, now)).collect();
        let refused = taken.iter().filter(|request| request.is_none()).count();
        for (n, request) in (0..).zip(taken.into_iter().flatten()) {
            self.answers(request, now, fails(n));
        }
        refused
    }

    /// Which requests are refused of so many that come evenly, and in which second each came.
    fn refuses(&mut self, per_s: u64, times: u64, fails: impl Fn(u64) -> bool) -> Vec<u64> {
        let refused = |n: &u64| !self.passes((n % 250) as u8, n * S / per_s, fails(*n));
        (0..times).filter(refused).map(|n| n / per_s).collect()
    }
}

#[test]
fn busy_path_of_which_few_requests_fail_stays_good() {
    let mut engine = Engine::new(vec![limit((20, 10), 1, true)]);
    let refused = engine.refuses(20, 20 * 3_600, |n| n % 100 == 99);
    assert_eq!((refused.len(), refused.first()), (0, None), "one request in a hundred fails, for an hour");
}

#[test]
fn path_is_good_again_when_its_requests_are() {
    let mut engine = Engine::new(vec![limit((100, 10), 1, true)]);
    let refused = engine.refuses(100, 100 * 60, |n| n / 100 == 10);
    let (first, last) = (refused.first().copied(), refused.last().copied());
    assert!(first.is_none_or(|second| second >= 10), "refused in second {first:?}");
    assert!(last.is_none_or(|second| second <= 15), "all failed in second 10, and it is refused in {last:?}");
}

#[test]
fn client_that_was_good_for_an_hour_may_not_scan() {
    let mut engine = Engine::new(vec![limit((5, 1), 60, false)]);
    let (later, answered) = (3_600 * S, (0..180).filter(|n| engine.passes(1, n * 20 * S, false)).count());
    assert_eq!(answered, 180);
    let passed = (0..600).filter(|n| engine.passes(1, later + n * S / 10, true)).count();
    assert!((10..50).contains(&passed), "{passed} of 600 requests that fail");
}

#[test]
fn share_of_failures_decides_about_clients_that_keep_asking() {
    for (fails_of_ten, wanted) in [(3, 2_000..2_001), (4, 2_000..2_001), (6, 0..200), (8, 0..200)] {
        let mut engine = Engine::new(vec![limit((30, 1), 60, false)]);
        let passed = (0..2_000).filter(|n| engine.passes(1, n * S, n * 7 % 10 < fails_of_ten)).count();
        assert!(wanted.contains(&passed), "{fails_of_ten} of ten fail, and {passed} of 2,000 requests pass");
    }
}

#[test]
fn share_of_failures_decides_also_where_requests_come_together() {
    // A page every 30 seconds, and which of each ten parts fail: never more than so many of the latest ones.
    for (burst, fails_of_ten, wanted) in [
        (100, 2, 0..1),
        (100, 4, 0..1),
        (1_000, 2, 0..1),
        (1_000, 4, 0..1),
        (100, 6, 1_500..2_000),
        (1_000, 6, 17_000..20_000),
        (100, 10, 1_700..2_000),
    ] {
        let mut engine = Engine::new(vec![limit((30, 3), 60, false)]);
        let good = (0..180).all(|n| engine.passes(1, n * 20 * S, false));
        assert!(good, "it is good for an hour");
        let page =
            |n: u64| engine.refuses_of_burst(1, (3_600 + n * 30) * S, burst, |part| part * 7 % 10 < fails_of_ten);
        let refused: usize = (0..20).map(page).sum();
        assert!(wanted.contains(&refused), "{fails_of_ten} of ten fail, {burst} at once: {refused} are refused");
    }
}

#[test]
fn path_stays_good_when_few_of_many_requests_in_flight_fail_at_once() {
    let mut engine = Engine::new(vec![limit((20, 10), 1, true)]);
    assert!((0..600).all(|n| engine.passes(1, n * S / 100, false)));
    let in_flight: Vec<_> = (0..600).map(|_| engine.takes(1, 7 * S).expect("the path is good")).collect();
    let (failing, others): (Vec<_>, Vec<_>) = (0..).zip(in_flight).partition(|(n, _)| *n < 20);
    failing.into_iter().for_each(|(_, request)| engine.answers(request, 7 * S, true));
    assert_eq!(engine.refuses_of_burst(1, 7 * S, 2_000, |_| false), 0, "20 of 600 have failed");
    others.into_iter().for_each(|(_, request)| engine.answers(request, 7 * S, false));
    assert_eq!(engine.refuses_of_burst(1, 8 * S, 2_000, |_| false), 0);
}

#[test]
fn request_that_is_not_answered_changes_nothing_for_its_path() {
    let mut engine = Engine::new(vec![limit((20, 10), 1, true)]);
    assert!((0..60).all(|n| engine.passes(1, 0, n % 3 == 0)), "20 of 60 fail");
    (0..2_000).for_each(|_| drop(engine.takes(1, S)));
    let passed = (0..600).filter(|_| engine.passes(1, S, true)).count();
    assert_eq!(passed, 10 + 10, "ten more failures make it bad, and then it has the rate of the bad ones");
}
