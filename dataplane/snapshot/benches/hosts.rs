//! What it costs to find the child of a host, among the names of 10,000 children, in ns each. Prints the best of many short
//! runs, so that what else the machine does falls out. `cargo bench -p weir-snapshot`

use std::{hint::black_box, time::Instant};

use weir_api::dataplane::v1::{Hosting, HttpProfile, Plan, TcpProfile, VirtualService};
use weir_snapshot::{HostName, Snapshot, VirtualService as Service, Worker};

const CHILDREN: usize = 10_000;

fn main() {
    let service = VirtualService {
        http: Some(HttpProfile::default()),
        tcp: Some(TcpProfile::default()),
        ..VirtualService::default()
    };
    let parent = VirtualService { uuid: "parent".into(), hosting: Hosting::ByServerName.into(), ..service.clone() };
    let child = |n: usize| {
        let name = match n % 4 {
            0 => format!("*.domain-{n}.example.com"),
            1 => format!("prefix-{n}.example.*"),
            _ => format!("host-{n}.shop.example.com"),
        };
        let uuid = format!("child-{n}");
        VirtualService {
            name: uuid.clone(),
            uuid,
            parent_uuid: "parent".into(),
            server_names: vec![name],
            ..service.clone()
        }
    };
    let virtual_services = [parent].into_iter().chain((0..CHILDREN).map(child)).collect();
    let plan = Plan { revision: 1, virtual_services, ..Plan::default() };
    let snapshot = Snapshot::build(&plan, None, &Worker::all(1, 0)[0]).expect("a sound Plan").0;
    let parent = snapshot.service("parent").expect("the parent").clone();
    let number = |round: usize| round * 4_001 % (CHILDREN / 4) * 4;
    report("exact", &snapshot, &parent, true, |round| format!("host-{}.shop.example.com", number(round) + 2));
    report("wildcard", &snapshot, &parent, true, |round| format!("www.domain-{}.example.com", number(round)));
    report("prefix", &snapshot, &parent, true, |round| format!("prefix-{}.example.co.uk", number(round) + 1));
    report("unknown", &snapshot, &parent, false, |round| format!("host-{}.other.example.org", number(round)));
}

fn report(what: &str, snapshot: &Snapshot, parent: &Service, known: bool, host: impl Fn(usize) -> String) {
    const ROUNDS: usize = 2_500;
    let hosts: Vec<String> = (0..ROUNDS).map(host).collect();
    let run = || {
        let start = Instant::now();
        for host in &hosts {
            let name = HostName::of(black_box(host).as_bytes()).expect("a name");
            assert_eq!(black_box(snapshot.child_by_name(parent, name)).is_some(), known, "{host}");
        }
        start.elapsed() / ROUNDS as u32
    };
    let best = (0..200).map(|_| run()).min().unwrap_or_default();
    println!("{what:10} {:6} ns", best.as_nanos());
}
