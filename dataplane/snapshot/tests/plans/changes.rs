//! What a change of the Plan rebuilds, and what it leaves untouched.

use std::sync::Arc;

use weir_api::dataplane::v1::{self as api, Listener, Plan, VirtualService};
use weir_snapshot::{HostName, Snapshot, Worker};
use weir_telemetry::{Counters, Happening, id};

use crate::{findings::datagrams, plan::*};

fn changed(change: impl FnOnce(&mut Plan)) -> (Snapshot, Snapshot) {
    let worker = worker();
    let mut plan = plan();
    let before = Snapshot::build(&plan, None, &worker).unwrap().0;
    plan.revision += 1;
    change(&mut plan);
    let after = Snapshot::build(&plan, Some(&before), &worker).unwrap().0;
    (before, after)
}

fn same_service(before: &Snapshot, after: &Snapshot, uuid: &str) -> bool {
    Arc::ptr_eq(before.service(uuid).unwrap(), after.service(uuid).unwrap())
}

fn same_pool(before: &Snapshot, after: &Snapshot, uuid: &str) -> bool {
    Arc::ptr_eq(before.pool(uuid).unwrap(), after.pool(uuid).unwrap())
}

fn same_tls(before: &Snapshot, after: &Snapshot, uuid: &str) -> bool {
    let tls = |snapshot: &Snapshot| snapshot.service(uuid).unwrap().tls.clone().unwrap();
    tls(before).is(&tls(after))
}

fn speaks_alike(before: &Snapshot, after: &Snapshot, uuid: &str) -> bool {
    before.pool(uuid).unwrap().speaks_like(after.pool(uuid).unwrap())
}

const INTRANET: &str = "virtualservice-2";

#[test]
fn new_revision_of_the_same_objects_rebuilds_nothing() {
    let (before, after) = changed(|_| {});
    assert_eq!(after.revision(), 8);
    assert!(same_service(&before, &after, SHOP) && same_service(&before, &after, INTRANET));
    assert!(same_pool(&before, &after, "pool-1") && same_pool(&before, &after, "pool-2"));
}

#[test]
fn change_of_one_service_rebuilds_no_other() {
    let (before, after) = changed(|plan| plan.virtual_services[1].name = "extranet".to_owned());
    assert!(same_service(&before, &after, SHOP));
    assert!(same_pool(&before, &after, "pool-2"));
    assert_eq!(after.service(INTRANET).unwrap().name, "extranet");
    assert_eq!(after.service(INTRANET).unwrap().id, before.service(INTRANET).unwrap().id);
}

#[test]
fn change_of_a_pool_rebuilds_its_services_but_not_their_tls() {
    let (before, after) = changed(|plan| plan.pools[0].servers.push(server("10.0.0.4", 8080)));
    assert!(!same_service(&before, &after, SHOP) && same_service(&before, &after, INTRANET));
    assert!(same_tls(&before, &after, SHOP));
    assert_eq!(after.service(SHOP).unwrap().pool.as_ref().unwrap().servers.len(), 4);
}

#[test]
fn change_of_a_certificate_rebuilds_the_tls_of_its_services() {
    let (before, after) = changed(|plan| {
        let other = plan.certificates[1].clone();
        plan.certificates[0].chain_der = other.chain_der;
        plan.certificates[0].key_pkcs8_der = other.key_pkcs8_der;
    });
    assert!(!same_tls(&before, &after, SHOP));
    assert!(same_pool(&before, &after, "pool-1") && same_service(&before, &after, INTRANET));
}

#[test]
fn connections_to_servers_stay_usable_while_their_tls_does_not_change() {
    let (before, after) = changed(|plan| plan.pools[1].servers.push(server("10.0.1.2", 443)));
    assert!(!same_pool(&before, &after, "pool-2") && speaks_alike(&before, &after, "pool-2"));
    let (before, after) = changed(|plan| {
        let other = plan.certificates[1].chain_der.clone();
        plan.pki_profiles[0].ca_certs_der = other;
    });
    assert!(!speaks_alike(&before, &after, "pool-2") && speaks_alike(&before, &after, "pool-1"));
    let (before, after) = changed(|plan| plan.pools[1].server_tls = None);
    assert!(!speaks_alike(&before, &after, "pool-2"));
}

#[test]
fn change_of_another_profile_does_not_rebuild_tls() {
    let (before, after) = changed(|plan| plan.virtual_services[0].tcp.as_mut().unwrap().nagle = true);
    assert!(!same_service(&before, &after, SHOP) && same_tls(&before, &after, SHOP));
}

#[test]
fn servers_keep_their_ids_when_others_are_added_and_removed() {
    let (before, after) = changed(|plan| {
        plan.pools[0].servers.remove(0);
        plan.pools[0].servers.push(server("10.0.0.9", 8080));
    });
    let ids = |snapshot: &Snapshot| -> Vec<_> {
        snapshot.pool("pool-1").unwrap().servers.iter().map(|server| (server.name.clone(), server.id)).collect()
    };
    assert_eq!(ids(&before)[1..], ids(&after)[..2]);
    assert!(ids(&before).iter().all(|(_, id)| *id != ids(&after)[2].1), "the newcomer has a new id");
    assert_eq!(after.difference().recycled, Default::default());
}

#[test]
fn rewriting_is_not_made_again_when_the_pool_changes() {
    let pair = |search: &str| api::Replacement { search: search.to_owned(), ..Default::default() };
    let rewriting =
        |search: &str| api::ContentRewrite { content_types: vec!["text/html".to_owned()], pairs: vec![pair(search)] };
    let worker = worker();
    let mut plan = plan();
    plan.virtual_services[0].http.as_mut().unwrap().content_rewrite = Some(rewriting("a"));
    let before = Snapshot::build(&plan, None, &worker).unwrap().0;
    plan.pools[0].servers.push(server("10.0.0.9", 8080));
    let after = Snapshot::build(&plan, Some(&before), &worker).unwrap().0;
    let made = |snapshot: &Snapshot| snapshot.service(SHOP).unwrap().content.as_ref().unwrap().rewrite.clone().unwrap();
    assert!(!same_service(&before, &after, SHOP) && Arc::ptr_eq(&made(&before), &made(&after)));
    plan.virtual_services[0].http.as_mut().unwrap().content_rewrite = Some(rewriting("b"));
    let other = Snapshot::build(&plan, Some(&after), &worker).unwrap().0;
    assert!(!Arc::ptr_eq(&made(&after), &made(&other)));
}

#[test]
fn warnings_of_unchanged_objects_are_repeated() {
    let worker = worker();
    let mut plan = plan();
    plan.virtual_services[0].tls.as_mut().unwrap().cipher_suites.push("TLS_RSA_WITH_AES_128_CBC_SHA".to_owned());
    let (before, first) = Snapshot::build(&plan, None, &worker).unwrap();
    let (after, second) = Snapshot::build(&plan, Some(&before), &worker).unwrap();
    assert!(same_service(&before, &after, SHOP));
    assert_eq!((first.len(), &first), (1, &second));
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn refused_plan_leaves_the_current_one() {
    let before = built(&plan(), None);
    let mut bad = plan();
    bad.virtual_services[0].listeners[0].port = 0;
    assert!(Snapshot::build(&bad, Some(&before), &worker()).is_err());
    assert_eq!(before.listeners().count(), 3);
}

#[test]
fn workers_share_ids_and_no_object() {
    let workers = Worker::all(2, 0);
    let [one, other] = [0, 1].map(|at| Snapshot::build(&plan(), None, &workers[at]).unwrap().0);
    for service in one.services() {
        let twin = other.service(&service.uuid).unwrap();
        assert_eq!(service.id, twin.id);
        assert!(!Arc::ptr_eq(service, twin));
    }
}

/// Enough servers are added and removed for an id to be reused.
#[test]
fn recycled_ids_are_reported_so_that_their_counters_restart() {
    let worker = worker();
    let mut snapshot = Snapshot::empty();
    let mut recycled = Vec::new();
    for round in 0..4 {
        let mut plan = plan();
        plan.pools[0].servers =
            (0..60).map(|number| server(&format!("10.{round}.{}.{}", number / 250, number % 250 + 1), 80)).collect();
        snapshot = Snapshot::build(&plan, Some(&snapshot), &worker).unwrap().0;
        recycled.push(snapshot.difference().recycled.servers.len());
    }
    assert_eq!(recycled, [0, 0, 0, 0]);
    let mut plan = plan();
    plan.pools[0].servers.truncate(3);
    let snapshot = Snapshot::build(&plan, Some(&snapshot), &worker).unwrap().0;
    assert_eq!(snapshot.difference().recycled.servers, [0, 1, 2].map(id::successor));
    let ids: Vec<_> = snapshot.pool("pool-1").unwrap().servers.iter().map(|server| server.id).collect();
    assert_eq!(ids, [0, 1, 2].map(id::successor));
}

#[test]
fn listeners_for_datagrams_are_known_as_they_come_and_go() {
    let worker = worker();
    let (mut plan, mut snapshot, mut seen) = (plan(), Snapshot::empty(), Vec::new());
    let edits: [fn(&mut Plan); 5] = [
        |_| {},
        |plan| _ = datagrams(plan),
        |plan| {
            let listeners = &mut plan.virtual_services[1].listeners;
            listeners.push(Listener { port: 81, ..listeners[0].clone() });
        },
        |plan| plan.virtual_services[1].listeners.truncate(1),
        |plan| plan.virtual_services.truncate(1),
    ];
    for edit in edits {
        plan.revision += 1;
        edit(&mut plan);
        snapshot = Snapshot::build(&plan, Some(&snapshot), &worker).unwrap().0;
        seen.push(snapshot.takes_datagrams());
    }
    assert_eq!(seen, [false, true, true, true, false]);
}

/// Many services are removed at once. The next change adds one, which gets the row of one of them.
#[test]
fn client_of_a_removed_service_is_not_counted_for_the_service_that_gets_its_row() {
    let (worker, mut counters) = (worker(), Counters::default());
    let named = |uuid: String| VirtualService { uuid, listeners: Vec::new(), ..plan().virtual_services[1].clone() };
    let with = |services: Vec<VirtualService>| Plan { virtual_services: services, ..plan() };
    let many = with((0..2000).map(|number| named(format!("old-{number}"))).collect());
    let before = Snapshot::build(&many, None, &worker).unwrap().0;
    for service in before.services() {
        counters.note(Happening::ClientConnected { service: service.id });
    }
    let between = Snapshot::build(&with(Vec::new()), Some(&before), &worker).unwrap().0;
    let after = Snapshot::build(&with(vec![named("new".to_owned())]), Some(&between), &worker).unwrap().0;
    after.difference().recycled.services.iter().for_each(|id| counters.restart_service(*id));
    let new = after.service("new").unwrap().id;
    counters.note(Happening::ClientConnected { service: new });
    for service in before.services() {
        counters.note(Happening::ClientBytes { service: service.id, received: 1, sent: 1 });
        counters.note(Happening::ClientGone { service: service.id });
    }
    let counted = counters.service(new).unwrap();
    assert_eq!((counted.open_connections, counted.received_bytes), (1, 0));
    assert!(before.services().any(|old| id::index(old.id) == id::index(new)), "the row is used again");
}

/// The plan with two children of the shop, and a change of it.
fn changed_children(change: impl FnOnce(&mut Plan)) -> (Snapshot, Snapshot) {
    let worker = worker();
    let mut plan = plan();
    plan.virtual_services[0].hosting = 1;
    for name in ["a.test", "b.test"] {
        let parent = &plan.virtual_services[0];
        let child = VirtualService {
            uuid: name.to_owned(),
            name: name.to_owned(),
            listeners: Vec::new(),
            hosting: 0,
            parent_uuid: parent.uuid.clone(),
            server_names: vec![name.to_owned()],
            ..parent.clone()
        };
        plan.virtual_services.push(child);
    }
    let before = Snapshot::build(&plan, None, &worker).unwrap().0;
    plan.revision += 1;
    change(&mut plan);
    let after = Snapshot::build(&plan, Some(&before), &worker).unwrap().0;
    (before, after)
}

fn child_of_shop(snapshot: &Snapshot, name: &str) -> Option<String> {
    let name = HostName::of(name.as_bytes()).unwrap();
    Some(snapshot.child_by_name(snapshot.service(SHOP).unwrap(), name)?.uuid.clone())
}

#[test]
fn change_of_one_child_rebuilds_neither_its_parent_nor_another() {
    let (before, after) = changed_children(|plan| plan.virtual_services[2].server_names = vec!["c.test".to_owned()]);
    assert!(same_service(&before, &after, SHOP) && same_service(&before, &after, "b.test"));
    assert_eq!((after.difference().services.len(), after.difference().displaces_clients), (1, true));
    let found = |snapshot: &Snapshot| ["a.test", "b.test", "c.test"].map(|name| child_of_shop(snapshot, name));
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(found(&before), [some("a.test"), some("b.test"), None]);
    assert_eq!(found(&after), [None, some("b.test"), some("a.test")]);
}

#[test]
fn new_child_displaces_nobody() {
    let (before, after) = changed_children(|plan| {
        let mut child = plan.virtual_services[2].clone();
        (child.uuid, child.server_names) = ("new".to_owned(), vec!["new.test".to_owned()]);
        plan.virtual_services.push(child);
    });
    assert!(same_service(&before, &after, SHOP) && !after.difference().displaces_clients);
    assert_eq!((child_of_shop(&before, "new.test"), child_of_shop(&after, "new.test")), (None, Some("new".to_owned())));
}

#[test]
fn change_of_a_parent_leaves_its_children_alone_unless_it_hosts_otherwise() {
    let (before, after) = changed_children(|plan| plan.virtual_services[0].pool_uuid.clear());
    assert!(!same_service(&before, &after, SHOP) && same_service(&before, &after, "a.test"));
    assert_eq!(child_of_shop(&after, "a.test"), Some("a.test".to_owned()));
    let (before, after) = changed_children(|plan| plan.virtual_services[0].hosting = 2);
    assert!(!same_service(&before, &after, "a.test"));
}
