//! A plain reading of rules: set after set, rule after rule.

use crate::{
    conditions::{hold, host, path},
    heads,
    urls::{self, From},
    words::{Edit, End, Outcome, Request, Response, Returned, Rule, Security, Sent, Set, Then, name},
};

/// What becomes of a request, and of the response that its server would give.
pub fn read(sets: &[Set], request: &Request, response: &Response) -> Outcome {
    let mut outcome = Outcome {
        end: End::Passed,
        named: Default::default(),
        explained: Vec::new(),
        log: false,
        all_headers: false,
        sent: None,
        returned: None,
    };
    secure(sets, request, &mut outcome);
    if outcome.end == End::Passed && !request.has_token {
        outcome.end = End::Refused;
    }
    if outcome.end == End::Passed {
        ask(sets, request, &mut outcome);
    }
    if outcome.end == End::Passed {
        answer(sets, request, response, &mut outcome);
    }
    outcome
}

/// The security rules of all sets: the first rule that matches ends them.
fn secure(sets: &[Set], request: &Request, outcome: &mut Outcome) {
    let rules = sets
        .iter()
        .enumerate()
        .flat_map(|(set, all)| all.security.iter().enumerate().map(move |(at, rule)| (set, at, rule)));
    let mut matching = rules.filter(|(_, _, rule)| hold(&rule.conditions, request, None));
    let Some((set, at, rule)) = matching.next() else { return };
    note(rule, outcome);
    outcome.named[0] = vec![name("security rule", set, at)];
    outcome.end = match &rule.does {
        Security::Allow => End::Passed,
        Security::Close { reset: false } => End::Closed,
        Security::Close { reset: true } => End::Reset,
        Security::Respond(status) => End::Answered(*status),
        Security::ToHttps(port) => {
            let url = crate::words::Url {
                https: true,
                port: Some(*port),
                host: Vec::new(),
                path: Vec::new(),
                keep_query: true,
                add: String::new(),
            };
            End::Redirected(302, urls::whole(&url, &From::request(request, &[])).expect("a host and a path"))
        }
    };
}

/// The request rules of all sets: each that matches acts, until one answers. The first rewrite counts, and the first pool.
/// What lacks a part of the request is left out. All see the request as the client has sent it.
fn ask(sets: &[Set], request: &Request, outcome: &mut Outcome) {
    let mut edits: Vec<&Edit> = Vec::new();
    let (mut rewritten, mut pool) = (None, None);
    'all: for (set, rules) in sets.iter().enumerate() {
        for (at, rule) in rules.requests.iter().enumerate() {
            if !hold(&rule.conditions, request, None) {
                continue;
            }
            let from = From::request(request, &rule.conditions);
            note(rule, outcome);
            outcome.explained.push(name("request rule", set, at));
            edits.extend(&rule.does.edits);
            if let (Some(url), None) = (&rule.does.rewrite, &rewritten) {
                let host = if url.host.is_empty() { Some(None) } else { urls::host(url, &from).map(Some) };
                rewritten = host.zip(urls::target(url, &from));
            }
            match &rule.does.then {
                Then::GoOn => {}
                Then::Pool(number, server) => pool = pool.or(Some((set, *number, server.clone()))),
                Then::Respond(status) => outcome.end = End::Answered(*status),
                Then::Redirect(status, url) => {
                    if let Some(location) = urls::whole(url, &from) {
                        outcome.end = End::Redirected(*status, location);
                    }
                }
            }
            if outcome.end != End::Passed {
                break 'all;
            }
        }
    }
    outcome.named[1] = named(&outcome.explained);
    if outcome.end == End::Passed {
        let (other_host, other_target) = rewritten.unzip();
        let (fields, cookies) = heads::of_request(&edits, request);
        outcome.sent = Some(Sent {
            pool,
            target: other_target.unwrap_or_else(|| {
                let query = request.query.as_ref().map(|query| format!("?{query}"));
                path(request) + &query.unwrap_or_default()
            }),
            host: other_host.flatten().or(host(request)),
            fields,
            cookies,
        });
    }
}

/// The response rules of all sets: each that matches the request as the client has sent it, and the response as the server
/// has, acts.
fn answer(sets: &[Set], request: &Request, response: &Response, outcome: &mut Outcome) {
    let mut all = Vec::new();
    let mut edits = Vec::new();
    for (set, rules) in sets.iter().enumerate() {
        for (at, rule) in rules.responses.iter().enumerate() {
            if !hold(&rule.conditions, request, Some(response)) {
                continue;
            }
            note(rule, outcome);
            all.push(name("response rule", set, at));
            edits.extend(rule.does.edits.iter().cloned());
            let old = response.fields.iter().find(|field| field.0.eq_ignore_ascii_case("Location"));
            let old = old.and_then(|field| From::location(&field.1));
            let new = rule.does.location.as_ref().zip(old).and_then(|(url, old)| urls::whole(url, &old));
            edits.extend(new.map(heads::other_location));
        }
    }
    outcome.named[2] = named(&all);
    let (fields, cookies) = heads::of_response(&edits.iter().collect::<Vec<_>>(), request, response);
    outcome.returned = Some(Returned { fields, cookies });
}

fn note<A>(rule: &Rule<A>, outcome: &mut Outcome) {
    outcome.log |= rule.log;
    outcome.all_headers |= rule.all_headers;
}

/// A record names the first seven and the last.
fn named(all: &[String]) -> Vec<String> {
    let skipped = 7..all.len().max(8) - 1;
    all.iter().enumerate().filter(|(at, _)| !skipped.contains(at)).map(|(_, name)| name.clone()).collect()
}
