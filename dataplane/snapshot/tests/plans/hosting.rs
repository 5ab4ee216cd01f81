//! Which child of a parent a request is for.

use weir_api::dataplane::v1::{
    HostMatch, HostRule, Hosting, HttpMatch, NameMatch, Plan, TextCriterion, TextMatch, VirtualService,
};
use weir_snapshot::{AmbiguousPath, HostName, Snapshot};

use crate::plan::*;

const HOST: &str = "a.test";

fn begins_with(path: &str) -> TextMatch {
    TextMatch {
        criterion: TextCriterion::BeginsWith.into(),
        values: vec![path.to_owned()],
        decoded: true,
        ..TextMatch::default()
    }
}

fn sensitive(path: &str) -> TextMatch {
    TextMatch { case_sensitive: true, ..begins_with(path) }
}

/// The shop with a child for each rule.
fn by_request(rules: &[Option<TextMatch>]) -> Snapshot {
    build(&planned(rules))
}

fn planned(rules: &[Option<TextMatch>]) -> Plan {
    let mut plan = plan();
    plan.virtual_services[0].hosting = Hosting::ByRequest.into();
    for (n, path) in rules.iter().enumerate() {
        let rules = path.iter().map(|path| HostRule { path: Some(path.clone()), ..HostRule::default() }).collect();
        let parent = &plan.virtual_services[0];
        let child = VirtualService {
            uuid: n.to_string(),
            name: n.to_string(),
            listeners: Vec::new(),
            hosting: 0,
            parent_uuid: parent.uuid.clone(),
            host_matches: vec![HostMatch { host: HOST.to_owned(), rules }],
            ..parent.clone()
        };
        plan.virtual_services.push(child);
    }
    plan
}

fn build(plan: &Plan) -> Snapshot {
    Snapshot::build(plan, None, &worker()).unwrap().0
}

/// The child that gets a path; "parent": none.
fn child(snapshot: &Snapshot, path: &str) -> Result<String, AmbiguousPath> {
    let (parent, host) = (snapshot.service(SHOP).unwrap(), HostName::of(HOST.as_bytes()).unwrap());
    let found = snapshot.child_by_request(parent, host, path.as_bytes(), &mut |_| true)?;
    Ok(found.map_or("parent", |found| &found.child.uuid).to_owned())
}

#[test]
fn path_that_servers_may_take_for_one_of_another_child_is_for_none() {
    let rules = [Some(begins_with("/admin")), None];
    let snapshot = by_request(&rules);
    for (path, expected) in [
        ("/admin", Ok("0")),
        ("/%61dmin/x", Ok("0")),
        ("/shop", Ok("1")),
        ("//shop/./x/..", Ok("1")),
        ("/admin/./x//y", Ok("0")),
        ("/.well-known/x?/../admin", Ok("1")),
        ("/shop/%252e%252e/admin", Ok("1")),
        ("//admin", Err(AmbiguousPath)),
        ("/./admin", Err(AmbiguousPath)),
        ("/shop/../admin?x", Err(AmbiguousPath)),
        ("/shop/%2e%2e/admin", Err(AmbiguousPath)),
        ("/shop%2f..%2fadmin", Err(AmbiguousPath)),
        ("/admin/../shop", Err(AmbiguousPath)),
    ] {
        assert_eq!(child(&snapshot, path), expected.map(str::to_owned), "{path}");
    }
    let snapshot = by_request(&rules[..1]);
    assert_eq!(child(&snapshot, "/../shop"), Ok("parent".to_owned()));
    assert_eq!(child(&snapshot, "//admin"), Err(AmbiguousPath), "the parent is another, too");
}

#[test]
fn rule_that_matches_less_goes_before_one_that_differs_in_case_alone() {
    let not = |path: TextMatch| TextMatch { criterion: TextCriterion::Equals.into(), negated: true, ..path };
    for (rules, path, expected) in [
        ([begins_with("/shop"), sensitive("/shop")], ["/shop", "/Shop"], ["1", "0"]),
        ([begins_with("/SHOP"), sensitive("/shop")], ["/shop", "/Shop"], ["1", "0"]),
        ([not(sensitive("/shop")), not(begins_with("/shop"))], ["/x", "/Shop"], ["1", "0"]),
    ] {
        let snapshot = by_request(&rules.map(Some));
        assert_eq!(path.map(|path| child(&snapshot, path).unwrap()), expected);
    }
}

#[test]
fn of_children_that_want_the_same_of_requests_the_first_by_name_gets_them() {
    for names in [["a", "b"], ["b", "a"]] {
        let mut plan = planned(&[Some(begins_with("/")), Some(begins_with("/"))]);
        for (child, name) in
            plan.virtual_services.iter_mut().filter(|service| !service.parent_uuid.is_empty()).zip(names)
        {
            let method = NameMatch { names: vec!["GET".to_owned()], negated: false };
            let matched = HttpMatch { method: Some(method), ..HttpMatch::default() };
            child.name = name.to_owned();
            child.host_matches[0].rules[0].r#match = Some(matched);
        }
        let first = names.iter().position(|name| *name == "a").map(|at| at.to_string());
        assert_eq!(child(&build(&plan), "/x").ok(), first);
    }
}

fn expressions(values: &[&str]) -> TextMatch {
    TextMatch {
        criterion: TextCriterion::Regex.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        decoded: true,
        ..TextMatch::default()
    }
}

#[test]
fn expressions_go_behind_texts_and_before_negated_rules() {
    let contains = TextMatch { criterion: TextCriterion::Contains.into(), ..begins_with("user") };
    let others = TextMatch { negated: true, ..expressions(&["^/a$", "secret"]) };
    let longer = expressions(&["^/[a-z]+/[0-9]+$", "^/x$"]);
    let rules = [Some(others), Some(expressions(&["^/[a-z]+/"])), Some(longer), Some(contains), None];
    let snapshot = by_request(&rules);
    for (path, expected) in [
        ("/user/1", Ok("3")),
        ("/tea/1", Ok("2")),
        ("/TEA/1?a", Ok("2")),
        ("/x", Ok("2")),
        ("/tea/%31", Ok("2")),
        ("/tea/", Ok("1")),
        ("/b", Ok("0")),
        ("/a", Ok("4")),
        ("/b/../x", Err(AmbiguousPath)),
        ("//tea/1", Err(AmbiguousPath)),
    ] {
        assert_eq!(child(&snapshot, path), expected.map(str::to_owned), "{path}");
    }
}

#[test]
fn expressions_need_linear_time_and_belong_to_one_child() {
    let refused = |rules: &[Option<TextMatch>]| {
        let findings = Snapshot::build(&planned(rules), None, &worker()).expect_err("it is refused");
        format!("{}: {}", findings[0].field, findings[0].message)
    };
    assert!(refused(&[Some(expressions(&["a(?=b)"]))]).contains("look-around"));
    let (one, other) = (expressions(&["^/a", "^/b"]), expressions(&["^/c", "^/b"]));
    assert!(refused(&[Some(one.clone()), Some(other)]).contains("is taken by virtual service 0"));
    let sensitive = TextMatch { case_sensitive: true, ..one.clone() };
    let snapshot = by_request(&[Some(one), Some(sensitive), Some(begins_with("^/b"))]);
    assert_eq!(child(&snapshot, "/B").unwrap(), "0");
    assert_eq!(child(&snapshot, "/b").unwrap(), "1", "the one that matches less goes first");
}
