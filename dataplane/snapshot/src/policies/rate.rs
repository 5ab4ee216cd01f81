//! Limits of rates: those of security rules, and those of a virtual service itself.

use weir_api::dataplane::v1;
use weir_rate::Limit;
use weir_rules::{Excess, RateRule, RequestLimit, Strangers};
use weir_wire::head::is_token;

use super::rule::{check_redirect, check_response};
use crate::finding::{Findings, Subject};

/// The most that Avi's objects say, for each number.
const NUMBER_MAX: u32 = 1_000_000_000;

/// Where a limit is: its object, its place there, and what tells it from the other limits of a virtual service.
pub(crate) struct Place<'p> {
    pub subject: Subject<'p>,
    pub at: &'p str,
    pub scope: &'p str,
    pub identity: &'p str,
}

/// The limits of a virtual service that stand beside rules.
pub(crate) fn read_limits(
    subject: Subject<'_>,
    source: &v1::VirtualService,
    findings: &mut Findings,
) -> Option<Vec<RateRule>> {
    if source.http.is_none() && !(source.request_limits.is_empty() && source.stranger_limits.is_empty()) {
        findings.error(subject, "request_limits", "limit requests of HTTP, which this virtual service does not use");
        return None;
    }
    let limits = source.request_limits.iter().chain(&source.stranger_limits).map(|limit| {
        let place = Place { subject, at: &limit.name, scope: "", identity: &limit.name };
        read_limit(&place, limit, findings)
    });
    let limits: Vec<_> = limits.collect();
    let mut limits: Vec<RateRule> = limits.into_iter().collect::<Option<_>>()?;
    let mut remembered = [false; 2];
    for strangers in limits.iter_mut().filter_map(|rate| rate.limit.strangers.as_mut()) {
        strangers.remembers = !std::mem::replace(&mut remembered[usize::from(strangers.by_path)], true);
    }
    Some(limits)
}

/// `None`: it cannot be used; the findings say why.
pub(crate) fn read_limit(place: &Place<'_>, from: &v1::RateLimit, findings: &mut Findings) -> Option<RateRule> {
    use v1::rate_limit::Action;
    let Place { subject, at, scope, identity } = *place;
    let mut is_sound = check_numbers(subject, at, from, findings);
    for (field, name) in [("http_header", &from.by_field), ("http_cookie", &from.by_cookie)] {
        if !name.is_empty() && !is_token(name.as_bytes()) {
            findings.error(subject, format!("{at}.{field}"), format!("{name:?} is no name of a field or a cookie"));
            is_sound = false;
        }
    }
    let excess = match &from.action {
        None => Excess::Report,
        Some(Action::Close(close)) => Excess::Close { reset: close.reset },
        Some(Action::Response(response)) => {
            Excess::Respond(check_response(subject, &format!("{at}.action"), response, findings)?)
        }
        Some(Action::Redirect(redirect)) => {
            Excess::Redirect(check_redirect(subject, &format!("{at}.action.redirect"), redirect, findings)?)
        }
    };
    if from.strangers.is_some_and(|strangers| strangers.bad_count > from.count) {
        findings.error(subject, format!("{at}.strangers.bad_count"), format!("is more than {}", from.count));
        is_sound = false;
    }
    let some = |name: &String| (!name.is_empty()).then(|| name.clone());
    if !is_sound {
        return None;
    }
    let limit = Limit::new(scope, identity, from.count, from.period_s, from.burst);
    Some(RateRule {
        name: from.name.clone(),
        limit: RequestLimit {
            limit,
            by_client: from.by_client,
            by_path: from.by_path,
            by_field: some(&from.by_field),
            by_cookie: some(&from.by_cookie),
            of_failures: from.of_failures,
            strangers: from.strangers.map(|strangers| Box::new(read_strangers(place, limit, from, strangers))),
        },
        excess,
    })
}

/// They are remembered only where a virtual service has its limits.
fn read_strangers(place: &Place<'_>, usual: Limit, from: &v1::RateLimit, strangers: v1::Strangers) -> Strangers {
    let bad = match strangers.bad_count {
        0 => usual,
        count => Limit::new("bad", &format!("{} {}", place.scope, place.identity), count, from.period_s, 0),
    };
    Strangers::new(strangers.by_path, bad, false)
}

/// Whether the numbers of a rate are such as engines can count.
pub(crate) fn check_numbers(subject: Subject<'_>, at: &str, from: &v1::RateLimit, findings: &mut Findings) -> bool {
    check_rate(subject, &format!("{at}.rate_limiter"), (from.count, from.period_s, from.burst), findings)
}

/// The same for count, period and burst.
pub(crate) fn check_rate(
    subject: Subject<'_>,
    at: &str,
    (count, period_s, burst): (u32, u32, u32),
    findings: &mut Findings,
) -> bool {
    let mut is_sound = true;
    for (field, number, least) in [("count", count, 1), ("period", period_s, 1), ("burst_sz", burst, 0)] {
        if !(least..=NUMBER_MAX).contains(&number) {
            let message = format!("{number} is no number from {least} to {NUMBER_MAX}");
            findings.error(subject, format!("{at}.{field}"), message);
            is_sound = false;
        }
    }
    is_sound
}
