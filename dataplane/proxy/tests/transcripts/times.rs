//! How long the parts of a request took.

use std::time::Duration;

use weir_proxy::io::Conn;
use weir_telemetry::{Histogram, Times};
use weir_wire::http2::Settings;

use crate::{
    GET, OK,
    origin::{Origin, asks, to_http2},
    status,
    tape::{Stage, plan},
};

impl Stage {
    fn sleep_ms(&mut self, ms: u64) {
        self.tape.sleep(Duration::from_millis(ms));
    }

    fn times(&self) -> Times {
        self.proxy.counters().times(0).cloned().unwrap_or_default()
    }

    /// Wait, response, transfer and their total, in milliseconds.
    fn spans(&self) -> [u64; 4] {
        let Times { total, wait, response, transfer, .. } = self.times();
        [wait, response, transfer, total].map(|of| ms(&of))
    }

    /// The parts of the response in milliseconds: the round trip to the server, and the server's own time.
    fn response(&self) -> [u64; 2] {
        let Times { server_rtt, app_response, .. } = self.times();
        [server_rtt, app_response].map(|of| ms(&of))
    }
}

fn ms(histogram: &Histogram) -> u64 {
    (histogram.sum_ticks() * 1000 + (1 << 19)) >> 20
}

fn counted(histogram: &Histogram) -> u32 {
    histogram.run().1.iter().sum()
}

#[test]
fn parts_of_a_request_are_its_wait_the_response_and_the_transfer() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    stage.sleep_ms(3);
    let server = stage.connected();
    stage.sleep_ms(20);
    stage.says(server, &OK[..OK.len() - 1]);
    stage.sleep_ms(7);
    assert_eq!(stage.spans(), [0; 4], "it is not over");
    stage.says(server, "k");
    assert_eq!(stage.spans(), [3, 20, 7, 30]);
    let times = stage.times();
    let response = [&times.server_rtt, &times.app_response];
    for histogram in [&times.total, &times.wait, &times.response, &times.transfer].into_iter().chain(response) {
        assert_eq!(counted(histogram), 1);
    }
    let ticks = |parts: &[&Histogram]| parts.iter().map(|part| part.sum_ticks()).sum::<u64>();
    assert_eq!(times.total.sum_ticks(), ticks(&[&times.wait, &times.response, &times.transfer]));
    assert_eq!(times.response.sum_ticks(), ticks(&response));
    assert_eq!(stage.response(), [3, 17], "the connect took 3 ms");
}

#[test]
fn connection_keeps_the_round_trip_of_its_connect_until_a_response_is_faster() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    stage.sleep_ms(50);
    let server = stage.connected();
    let mut expected = [0, 0];
    // How long each response takes, and what the connection shows about the round trip.
    for (ms, rtt) in [(80, 50), (500, 50), (20, 20), (20, 20), (90, 20), (0, 0), (7, 0)] {
        stage.sleep_ms(ms);
        stage.says(server, OK);
        expected = [expected[0] + rtt, expected[1] + ms - rtt];
        assert_eq!(stage.response(), expected, "after a response of {ms} ms");
        stage.says(client, GET);
    }
    assert_eq!(stage.dials(), 1);
}

#[test]
fn response_to_part_of_a_request_says_nothing_about_the_round_trip() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    stage.sleep_ms(30);
    let server = stage.connected();
    stage.sleep_ms(100);
    stage.says(client, "cd");
    stage.sleep_ms(1);
    stage.says(server, OK);
    assert_eq!(stage.response(), [1, 0]);
    stage.says(client, GET);
    stage.sleep_ms(40);
    stage.says(server, OK);
    assert_eq!(stage.response(), [31, 10]);
}

#[test]
fn streams_have_the_round_trip_of_the_connection_that_carries_them() {
    let mut stage = Stage::new(&to_http2(plan(1)));
    asks(&mut stage, GET);
    stage.sleep_ms(12);
    let mut origin = Origin::accept(&mut stage, Settings::default());
    stage.sleep_ms(20);
    origin.answers(&mut stage, 1, "ok");
    assert_eq!(stage.response(), [12, 8]);
    for (id, ms) in [(3, 5), (5, 9)] {
        asks(&mut stage, GET);
        origin.hears(&mut stage);
        stage.sleep_ms(ms);
        origin.answers(&mut stage, id, "ok");
    }
    assert_eq!(stage.response(), [12 + 5 + 5, 8 + 4]);
}

#[test]
fn wait_includes_the_body_and_servers_that_were_tried() {
    let mut stage = Stage::new(&plan(2));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    let refused = stage.dialled();
    stage.sleep_ms(5);
    stage.gone(refused, weir_proxy::io::Gone::Refused);
    stage.sleep_ms(2);
    let server = stage.connected();
    stage.sleep_ms(40);
    stage.says(client, "cd");
    stage.sleep_ms(10);
    stage.says(server, OK);
    assert_eq!(stage.spans(), [47, 10, 0, 57]);
}

#[test]
fn response_that_does_not_wait_for_the_whole_request_took_no_time() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    let server = stage.connected();
    stage.sleep_ms(4);
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok");
    stage.sleep_ms(2);
    stage.says(client, "cd");
    stage.sleep_ms(6);
    stage.says(server, "ok");
    assert_eq!(stage.spans(), [4, 0, 8, 12]);
}

#[test]
fn each_stream_has_times_of_its_own() {
    let mut stage = Stage::new(&to_http2(plan(1)));
    let first = asks(&mut stage, GET);
    stage.sleep_ms(2);
    let mut origin = Origin::accept(&mut stage, Settings::default());
    stage.sleep_ms(10);
    let second = asks(&mut stage, GET);
    stage.sleep_ms(1);
    origin.answers(&mut stage, 1, "ok");
    assert_eq!(stage.spans(), [2, 11, 0, 13]);
    stage.sleep_ms(8);
    origin.answers(&mut stage, 3, "ok");
    assert_eq!(stage.spans(), [2, 20, 0, 22]);
    assert_eq!([first, second].map(|client| stage.closed(client)), [None, None]);
}

#[test]
fn requests_that_no_server_answers_to_the_end_have_no_times() {
    let mut stage = Stage::new(&plan(1));
    let cut = stage.client();
    stage.says(cut, GET);
    let server = stage.connected();
    stage.sleep_ms(1);
    stage.says(server, &OK[..OK.len() - 1]);
    stage.gone(server, weir_proxy::io::Gone::Reset);
    let unserved = stage.client();
    stage.says(unserved, GET);
    let refused = stage.dialled();
    stage.gone(refused, weir_proxy::io::Gone::Refused);
    assert_eq!(status(&stage.sent(unserved)), "502");
    assert_eq!((stage.proxy.counters().times(0), stage.spans()), (None, [0; 4]));
}

impl Stage {
    /// A client from whom the round trip takes so long.
    fn far_client(&mut self, ms: u64) -> Conn {
        self.tape.round_trip = Some(Duration::from_millis(ms));
        self.client()
    }

    fn round_trips(&self) -> u32 {
        self.proxy.counters().client_rtt(0).map_or(0, counted)
    }

    fn asked(&self) -> Vec<Conn> {
        self.tape.round_trips_asked.borrow().clone()
    }
}

#[test]
fn driver_is_asked_once_for_the_round_trip_to_one_of_eight_clients() {
    let mut stage = Stage::new(&plan(1));
    let clients: Vec<_> = (0..9).map(|_| stage.far_client(40)).collect();
    for (n, client) in clients.iter().enumerate() {
        for _ in 0..3 {
            let is_first = stage.dials() == 0;
            stage.says(*client, GET);
            let server = if is_first { stage.connected() } else { stage.dialled() };
            stage.says(server, OK);
        }
        assert_eq!(stage.asked().len(), if n < 8 { 1 } else { 2 });
    }
    assert_eq!((stage.asked(), stage.round_trips()), (vec![clients[0], clients[8]], 2));
    assert_eq!(ms(stage.proxy.counters().client_rtt(0).unwrap()), 80);
    stage.gone(clients[0], weir_proxy::io::Gone::Reset);
    assert_eq!(stage.asked().len(), 2);
}

#[test]
fn round_trip_is_asked_for_after_the_second_response_or_at_the_end() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.far_client(40);
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    assert_eq!(stage.asked(), []);
    stage.batch(vec![weir_proxy::io::Event::Eof { conn: client }]);
    assert_eq!((stage.asked(), stage.round_trips()), (vec![client], 1));
}

#[test]
fn nobody_asks_for_the_round_trip_to_a_client_that_asks_nothing_or_that_has_a_tunnel() {
    let mut stage = Stage::new(&plan(1));
    let silent = stage.far_client(40);
    stage.batch(vec![weir_proxy::io::Event::Eof { conn: silent }]);
    assert_eq!(stage.closed(silent), Some(weir_proxy::io::Close::Flush));
    let mut tunnels = Stage::new(&crate::tape::l4_plan(1));
    let client = tunnels.far_client(40);
    tunnels.says(client, "hello");
    let server = tunnels.connected();
    tunnels.gone(server, weir_proxy::io::Gone::Reset);
    assert_eq!((stage.asked(), tunnels.asked()), (vec![], vec![]));
}

#[test]
fn driver_that_knows_no_round_trip_leaves_it_uncounted() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    stage.says(server, OK);
    stage.gone(client, weir_proxy::io::Gone::Reset);
    assert_eq!((stage.asked().len(), stage.proxy.counters().client_rtt(0)), (1, None));
}

#[test]
fn server_has_its_bytes_statuses_connects_and_times() {
    let mut stage = Stage::new(&plan(1));
    let client = stage.client();
    stage.says(client, GET);
    stage.sleep_ms(30);
    let server = stage.connected();
    let asked = stage.sent(server).len();
    stage.sleep_ms(100);
    stage.says(server, OK);
    stage.says(client, GET);
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let failure = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
    stage.says(server, interim);
    stage.sleep_ms(50);
    stage.says(server, failure);
    let counters = stage.proxy.counters().server(0).cloned().unwrap();
    assert_eq!(counters.responses, [1, 1, 0, 0, 1]);
    assert_eq!(counters.received_bytes, (OK.len() + interim.len() + failure.len()) as u64);
    assert_eq!(counters.sent_bytes, 2 * asked as u64);
    assert_eq!((counters.connect_ticks * 1000) >> 20, 29, "30 ms, rounded down");
    let took = counters.app_response.unwrap();
    assert_eq!((took.sum_ticks() * 1000 + (1 << 19)) >> 20, 70 + 20);
    assert_eq!(took.counts().iter().sum::<u32>(), 2);
}

#[test]
fn server_of_a_tunnel_has_its_bytes() {
    let mut stage = Stage::new(&crate::tape::l4_plan(1));
    let client = stage.client();
    stage.says(client, "hello");
    let server = stage.connected();
    stage.says(server, "hi");
    stage.batch(vec![weir_proxy::io::Event::Relayed { conn: server, bytes: 1000 }]);
    stage.batch(vec![weir_proxy::io::Event::Relayed { conn: client, bytes: 500 }]);
    let counters = stage.proxy.counters().server(0).unwrap();
    assert_eq!((counters.sent_bytes, counters.received_bytes), (505, 1002));
    assert_eq!((counters.app_response.as_ref(), counters.responses), (None, [0; 5]));
}

#[test]
fn server_of_streams_has_its_bytes_and_times() {
    let mut stage = Stage::new(&to_http2(plan(1)));
    asks(&mut stage, GET);
    let mut origin = Origin::accept(&mut stage, Settings::default());
    stage.sleep_ms(16);
    origin.answers(&mut stage, 1, "ok");
    let before = stage.proxy.counters().server(0).cloned().unwrap();
    assert!(before.sent_bytes > 24 && before.received_bytes > 9, "{before:?}");
    assert_eq!(before.responses, [0, 1, 0, 0, 0]);
    assert_eq!(before.app_response.map(|took| (took.sum_ticks() * 1000 + (1 << 19)) >> 20), Some(16));
}
