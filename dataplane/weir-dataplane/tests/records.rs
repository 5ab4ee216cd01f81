//! Records of requests, from a client's request to the frame that an agent gets.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the tests of the process use all of it")]
mod bench;

use std::{io::Read, net::TcpStream};

use bench::{Agent, Dataplane, get, origin, plan};
use weir_api::dataplane::v1::{
    Analytics, Plan, Records, RecordsTaken, from_dataplane::Frame as Reply, to_dataplane::Frame,
};
use weir_telemetry::record::Packed;

const HOST: usize = 0;
const PATH: usize = 1;

fn recording(mut plan: Plan) -> Plan {
    plan.virtual_services[0].analytics = Some(Analytics { all_until_unix_s: u64::MAX, ..Analytics::default() });
    plan
}

impl Agent {
    /// The next records.
    fn records(&mut self) -> Records {
        loop {
            if let Reply::Records(records) = self.next() {
                return records;
            }
        }
    }

    /// Records until they stand for so many requests, all of them taken.
    fn records_of(&mut self, requests: u64) -> Vec<Records> {
        let (mut all, mut weights) = (Vec::new(), 0);
        while weights < requests {
            let records = self.records();
            weights += weights_of(&records);
            self.take(&records);
            all.push(records);
        }
        assert_eq!(weights, requests);
        all
    }

    fn take(&mut self, records: &Records) {
        let Records { process, worker, number, .. } = *records;
        self.send(Frame::RecordsTaken(RecordsTaken { process, worker, number }));
    }
}

fn weights_of(records: &Records) -> u64 {
    Packed::all(&records.packed).unwrap().iter().map(|record| u64::from(record.weight())).sum()
}

#[test]
fn agent_gets_a_record_of_each_request_with_the_names_of_its_service_and_server() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let (address, server) = (agent.give_socket(), origin("one"));
    agent.apply(recording(plan(7, address, &[server])));
    (0..20).for_each(|_| assert!(get(address).starts_with("HTTP/1.1 200 OK")));
    for records in agent.records_of(20) {
        let names: Vec<_> = records.services.iter().map(|service| (service.number, &*service.uuid)).collect();
        let servers: Vec<_> = records.servers.iter().map(|s| (s.number, &*s.pool_uuid, &*s.server_id)).collect();
        for record in Packed::all(&records.packed).unwrap() {
            assert_eq!((record.kind(), record.class(), record.status(), record.server_status()), (1, 3, 200, 200));
            assert_eq!((record.text(HOST), record.text(PATH)), (&b"shop"[..], &b"/"[..]));
            assert_eq!(names, [(record.service(), "virtualservice-1")]);
            assert_eq!(servers, [(record.server(), "pool-1", &*server.to_string())]);
            let [wait, app, transfer, rtt, total] = record.times();
            assert_eq!(wait + app + transfer + rtt, total);
        }
    }
}

#[test]
fn records_that_no_agent_took_go_to_the_next_one() {
    let dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(recording(plan(7, address, &[origin("one")])));
    get(address);
    let first = agent.records();
    drop(agent);
    let mut next = Agent::connect(&dataplane);
    assert_eq!(next.records(), first);
    next.take(&first);
    get(address);
    assert_eq!(weights_of(&next.records()), 1);
}

#[test]
fn last_records_go_out_before_the_process_ends() {
    let mut dataplane = Dataplane::start();
    let mut agent = Agent::connect(&dataplane);
    let address = agent.give_socket();
    agent.apply(recording(plan(7, address, &[origin("one")])));
    let mut client = TcpStream::connect(address).unwrap();
    std::io::Write::write_all(&mut client, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert!(client.read(&mut [0; 100]).unwrap() > 0);
    dataplane.terminate();
    agent.records_of(1);
    agent.sees_its_link_closed();
    bench::wait_until(|| dataplane.ended());
}
