//! Virtual services that have other profiles for some of their ports.

use std::sync::Arc;

use weir_api::dataplane::v1::{
    Duty, Hosting, L4Profile, Listener, Plan, TcpProfile, TransportProtocol, UdpProfile, VirtualService as Source,
};
use weir_snapshot::{Application, Snapshot, TransportAddress, VirtualService};

use crate::plan::*;

/// The first virtual service: HTTP with TLS and without, layer 4 with a certificate of its own, and datagrams.
fn varied() -> Plan {
    let mut plan = plan();
    let service = &mut plan.virtual_services[0];
    let l4 = Source {
        l4: Some(L4Profile::default()),
        tcp: Some(TcpProfile { idle_timeout_s: 30, ..TcpProfile::default() }),
        tls: service.tls.clone(),
        certificate_uuids: vec!["certificate-1".to_owned()],
        pool_uuid: "pool-1".to_owned(),
        ..Source::default()
    };
    let udp = Source {
        l4: Some(L4Profile::default()),
        udp: Some(UdpProfile { idle_timeout_s: 5, ..UdpProfile::default() }),
        pool_uuid: "pool-1".to_owned(),
        ..Source::default()
    };
    service.certificate_uuids.remove(0);
    service.variants = vec![l4, udp];
    service.listeners.push(Listener { variant: 1, ..listener("192.0.2.10", 8443, true) });
    let protocol = TransportProtocol::Udp.into();
    service.listeners.push(Listener { variant: 2, protocol, ..listener("192.0.2.10", 53, false) });
    plan
}

fn tcp(snapshot: &Snapshot, port: u16) -> Arc<VirtualService> {
    let at = TransportAddress::tcp(([192, 0, 2, 10], port).into());
    snapshot.listener(at).expect("it listens").service.clone()
}

fn udp(snapshot: &Snapshot) -> Arc<VirtualService> {
    let at = TransportAddress::udp(([192, 0, 2, 10], 53).into());
    snapshot.listener(at).expect("it listens").service.clone()
}

#[test]
fn ports_have_their_profiles_and_are_counted_together() {
    let snapshot = built(&varied(), None);
    let (web, tunnel, datagrams) = (tcp(&snapshot, 443), tcp(&snapshot, 8443), udp(&snapshot));
    assert!(Arc::ptr_eq(&web, &tcp(&snapshot, 80)) && Arc::ptr_eq(&web, snapshot.service(SHOP).unwrap()));
    assert!(matches!(web.application, Application::Http(_)));
    assert!(matches!(tunnel.application, Application::L4(_)) && tunnel.tls.is_some());
    assert_eq!(tunnel.tcp.idle_timeout.unwrap().as_secs(), 30);
    assert!(datagrams.udp.is_some() && datagrams.tls.is_none());
    for variant in [&tunnel, &datagrams] {
        assert_eq!((variant.id, &variant.uuid, &variant.name), (web.id, &web.uuid, &web.name));
    }
    assert!(snapshot.takes_datagrams());
}

#[test]
fn what_is_unchanged_is_taken_over() {
    let before = built(&varied(), None);
    let after = built(&Plan { revision: 8, ..varied() }, Some(&before));
    assert!(after.difference().services.is_empty());
    let mut plan = varied();
    plan.virtual_services[0].variants[1].udp.as_mut().unwrap().idle_timeout_s = 6;
    let after = built(&plan, Some(&before));
    assert!(Arc::ptr_eq(&tcp(&before, 8443), &tcp(&after, 8443)), "the other variant is as before");
    assert!(!Arc::ptr_eq(&udp(&before), &udp(&after)) && udp(&before).id == udp(&after).id);
}

#[test]
fn variants_follow_the_objects_that_they_name() {
    let before = built(&varied(), None);
    let mut plan = varied();
    plan.pools[0].servers.pop();
    let after = built(&plan, Some(&before));
    for service in [tcp(&after, 443), tcp(&after, 8443), udp(&after)] {
        assert_eq!(service.pool.as_ref().unwrap().servers.len(), 2);
    }
    let mut plan = varied();
    plan.certificates[0].chain_der = plan.certificates[1].chain_der.clone();
    plan.certificates[0].key_pkcs8_der = plan.certificates[1].key_pkcs8_der.clone();
    let after = built(&plan, Some(&before));
    assert!(!Arc::ptr_eq(&tcp(&before, 8443), &tcp(&after, 8443)), "a certificate that only it has is another one");
    assert!(Arc::ptr_eq(&udp(&before), &udp(&after)));
}

#[test]
fn all_ports_drain_together() {
    let mut plan = varied();
    plan.virtual_services[0].duty = Duty::Drain.into();
    let snapshot = built(&plan, None);
    assert!([tcp(&snapshot, 443), tcp(&snapshot, 8443), udp(&snapshot)].iter().all(|service| service.drains));
}

#[test]
fn refuses_variants_that_are_not_there_and_those_of_parents() {
    let refusal = |edit: fn(&mut Source)| {
        let mut plan = varied();
        edit(&mut plan.virtual_services[0]);
        let findings = Snapshot::build(&plan, None, &worker()).expect_err("it is refused");
        findings.into_iter().map(|finding| format!("{}: {}", finding.field, finding.message)).collect::<Vec<_>>()
    };
    assert_eq!(
        refusal(|service| service.listeners[1].variant = 3),
        ["services: port 80 has variant 3, which is not there"]
    );
    const NONE: [&str; 1] = ["services: parents, children and variants have no variants"];
    assert_eq!(refusal(|service| service.hosting = Hosting::ByRequest.into()), NONE);
    assert_eq!(refusal(|service| service.variants[0].variants = vec![Source::default()]), NONE);
    assert_eq!(
        refusal(|service| service.variants[1].l4 = None),
        [
            "application_profile_ref: has no application profile",
            "application_profile_ref: is not of layer 4, so it needs TCP"
        ]
    );
}
