//! Rules of HTTP policies that the counted proxy tries: only the last of them matches the request of the rows.

use weir_api::dataplane::v1 as api;

pub const BY_HOST_AND_PATH: &str = "rules by host and path";
pub const BY_PARTS_OF_PATH: &str = "rules by parts of paths";
pub const EDITS: &str = "a rule that edits";

const RULES: u32 = 1000;

/// The set of this name, whose rules choose `pool`.
pub fn set_of(name: &str, pool: &str) -> api::HttpPolicySet {
    let choosing = |of: fn(u32) -> api::HttpMatch| (1..=RULES).map(move |n| chooses(n, of(n), pool)).collect();
    let rules = match name {
        BY_HOST_AND_PATH => choosing(by_host_and_path),
        BY_PARTS_OF_PATH => choosing(by_part_of_path),
        EDITS => vec![edits()],
        _ => panic!("no such set of rules: {name}"),
    };
    set(name, rules)
}

fn set(uuid: &str, rules: Vec<api::HttpRequestRule>) -> api::HttpPolicySet {
    api::HttpPolicySet { uuid: uuid.to_owned(), name: uuid.to_owned(), request_rules: rules, ..Default::default() }
}

/// What operators write most: an application of one host, below one path.
fn by_host_and_path(n: u32) -> api::HttpMatch {
    let (host, path) = match n {
        RULES => ("www.example.com".to_owned(), "/index".to_owned()),
        _ => (format!("app{n}.example.com"), format!("/path/{n}/")),
    };
    api::HttpMatch {
        host: Some(text(api::TextCriterion::Equals, host)),
        path: Some(text(api::TextCriterion::BeginsWith, path)),
        ..Default::default()
    }
}

/// What no tree of hosts and prefixes helps with: half of the rules are regular expressions.
fn by_part_of_path(n: u32) -> api::HttpMatch {
    let path = match n {
        RULES => text(api::TextCriterion::Regex, r"^/in[a-z]+\.html$".to_owned()),
        _ if n.is_multiple_of(2) => text(api::TextCriterion::Regex, format!("/part-{n}/[0-9]+$")),
        _ => text(api::TextCriterion::Contains, format!("/part-{n}/")),
    };
    api::HttpMatch { path: Some(path), ..Default::default() }
}

fn chooses(n: u32, found: api::HttpMatch, pool: &str) -> api::HttpRequestRule {
    let pool = api::PoolChoice { pool_uuid: pool.to_owned(), ..Default::default() };
    api::HttpRequestRule {
        rule: Some(rule(n, found)),
        action: Some(api::http_request_rule::Action::Pool(pool)),
        ..Default::default()
    }
}

/// One field more, and another path.
fn edits() -> api::HttpRequestRule {
    let added = api::HeaderEdit {
        kind: api::EditKind::Add as i32,
        name: "X-Application".to_owned(),
        value: Some(api::HeaderValue { text: "shop".to_owned(), ..Default::default() }),
        ..Default::default()
    };
    let token = |kind: api::UriTokenKind, text: &str| api::UriToken {
        kind: kind as i32,
        last: 65_535,
        text: text.to_owned(),
        ..Default::default()
    };
    let path = vec![token(api::UriTokenKind::Text, "shop"), token(api::UriTokenKind::Path, "")];
    let index =
        api::HttpMatch { path: Some(text(api::TextCriterion::BeginsWith, "/index".to_owned())), ..Default::default() };
    api::HttpRequestRule {
        rule: Some(rule(1, index)),
        edits: vec![added],
        rewrite: Some(api::HttpRewrite { path, keep_query: true, ..Default::default() }),
        ..Default::default()
    }
}

fn rule(n: u32, found: api::HttpMatch) -> api::HttpRule {
    api::HttpRule { name: format!("rule {n}"), position: n - 1, r#match: Some(found), ..Default::default() }
}

fn text(criterion: api::TextCriterion, value: String) -> api::TextMatch {
    api::TextMatch { criterion: criterion as i32, values: vec![value], ..Default::default() }
}
