//! Compiled rules do what a plain reading of them does. `words` are rules, requests and responses as an operator says them,
//! `generator` makes random ones, and `reading` reads them: rule after rule, condition after condition, value after value,
//! on texts that are copied and changed as the rule book says. `compiled` has the data plane do the same.

mod compiled;
mod conditions;
mod connections;
mod generator;
mod heads;
mod reading;
mod urls;
mod words;

use std::{cell::RefCell, collections::BTreeMap};

use proptest::{
    prelude::*,
    test_runner::{TestError, TestRunner},
};
use weir_rules::Scratch;

use words::{Case, End, Outcome};

/// How many sets of rules are tried, each with some requests; `WEIR_RULES_CASES` says another number.
fn cases() -> u32 {
    std::env::var("WEIR_RULES_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500)
}

#[test]
fn compiled_rules_do_what_a_plain_reading_does() {
    let (scratch, seen) = (RefCell::new(Scratch::default()), RefCell::new(BTreeMap::<&str, u32>::new()));
    let run = |Case { sets, exchanges }| {
        let policies = compiled::policies(&sets);
        for (request, response) in &exchanges {
            let plain = reading::read(&sets, request, response);
            let compiled = compiled::judge(&policies, &mut scratch.borrow_mut(), request, response);
            prop_assert!(plain == compiled, "{}", plain.differences(&compiled));
            kinds(&plain).into_iter().for_each(|kind| *seen.borrow_mut().entry(kind).or_default() += 1);
        }
        Ok(())
    };
    try_all(&generator::case(), run);
    let (seen, all) = (seen.borrow(), seen.borrow()["all"]);
    println!("{seen:?}");
    assert!(seen.len() == 13 && seen.values().all(|count| *count > all / 1_000), "each outcome comes often: {seen:?}");
}

#[test]
fn compiled_rules_for_connections_do_what_a_plain_reading_does() {
    try_all(&connections::case(), |case| connections::compare(&case));
}

/// Ends with the smallest case that it finds to fail.
fn try_all<S: Strategy>(strategy: &S, run: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 100_000,
        ..ProptestConfig::default()
    };
    match TestRunner::new(config).run(strategy, run) {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("{case:?}\n{reason}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

/// What happens in an outcome.
fn kinds(outcome: &Outcome) -> Vec<&'static str> {
    let sent = outcome.sent.as_ref();
    let end = match outcome.end {
        End::Closed => "closed",
        End::Reset => "reset",
        End::Answered(_) => "answered",
        End::Redirected(302, _) if outcome.explained.is_empty() => "to HTTPS",
        End::Redirected(..) => "redirected",
        End::Refused => "refused",
        End::Passed => "passed",
    };
    let other = [
        ("named", outcome.named.iter().any(|list| list.len() > 1)),
        ("cut", outcome.explained.len() > 8),
        ("pool", sent.is_some_and(|sent| sent.pool.is_some())),
        ("cookies", sent.is_some_and(|sent| sent.cookies.len() > 1)),
        ("response rules", !outcome.named[2].is_empty()),
    ];
    [end, "all"].into_iter().chain(other.into_iter().filter(|kind| kind.1).map(|kind| kind.0)).collect()
}
