//! Which clients of HTTP/2 a seed brings, what the Plan allows them, and what ends their connections gracefully.

use std::{net::SocketAddr, time::Duration};

use weir_api::dataplane::v1 as api;
use weir_tls::{ClientConfig, PeerSettings, Provider, TlsSettings, Version};

use crate::{
    breach::breach,
    browser::{Manner, Plan},
    client::{Promises, RequestBody},
    link::{Appetite, Quality},
    rng::Rng,
    scenario::{Change, PLAIN, SECURE, SUITES, Scenario, quality, request},
    stream,
};

/// Updates of smaller windows cost of the budget that a profile may limit.
const WINDOW_BYTES_FREE: u32 = 1024;
/// Clients of HTTP/1 have fewer requests.
const FIRST_ID: u64 = 1 << 20;
/// Nor has another request such an id.
const MALFORMED_ID: u64 = 1 << 30;

pub struct BrowserPlan {
    pub start: Duration,
    pub listener: SocketAddr,
    pub quality: Quality,
    pub plan: Plan,
}

/// What becomes of the connections of a run.
struct Service {
    calm: bool,
    tls: bool,
    promises: Promises,
    /// Control frames cost.
    limited: bool,
    drains_at: Option<Duration>,
    /// Nothing makes the proxy end a connection.
    stays: bool,
}

/// Lets clients speak HTTP/2 in most runs, and brings some in a good part of those.
pub fn browsers(rng: &mut Rng, scenario: &mut Scenario) -> Vec<BrowserPlan> {
    if rng.chance(30) {
        return vec![];
    }
    // WebSocket goes to servers of HTTP/1.1.
    let has_sockets = !scenario.http2 && scenario.crowd.is_empty();
    let Scenario { calm, tls, promises, plan, changes, servers_wait, .. } = scenario;
    let profile = profile(rng);
    let drains = rng.chance(15);
    let mut drains_at = None;
    let limited = profile.max_control_frames > 0;
    let stays = profile.max_requests == 0 && !drains && !limited;
    enable(plan, &profile);
    for (_, change) in changes.iter_mut() {
        if let Change::Plan(plan) = change {
            enable(plan, &profile);
        }
    }
    if drains {
        // Clients are told to connect elsewhere, and no request may be lost.
        let last = changes.iter().map(|(after, _)| *after).max().unwrap_or_default();
        let mut next = plan.clone();
        next.revision = 100;
        next.virtual_services[0].duty = api::Duty::Drain.into();
        let at = last + Duration::from_micros(rng.length(100_000));
        drains_at = Some(at);
        changes.push((at, Change::Plan(Box::new(next))));
    }
    let service = Service { calm: *calm, tls: *tls, promises: *promises, limited, drains_at, stays };
    let ends = has_sockets.then_some(!*servers_wait);
    let most = if *tls { 1 } else { 3 };
    let count = if rng.chance(40) { rng.between(1, most) } else { 0 };
    let mut ids = FIRST_ID;
    let mut browsers: Vec<_> = (0..count).map(|n| browser(rng, n, &service, &mut ids)).collect();
    if let Some(may_wait) = ends {
        browsers.iter_mut().for_each(|browser| browser.plan.sockets = sockets(rng, &browser.plan, may_wait, &mut ids));
    }
    browsers
}

/// The WebSockets of a client. A small window takes a round trip for each of its bytes. In a calm run, nothing that the
/// client does may cut them: their servers do not know of it.
fn sockets(rng: &mut Rng, plan: &Plan, may_wait: bool, ids: &mut u64) -> Vec<stream::Plan> {
    let keeps = plan.stays && plan.manner == Manner::Polite && plan.resets_percent == 0 && plan.malformed == 0;
    if plan.window < 5_000 || plan.calm && !keeps || !rng.chance(60) {
        return vec![];
    }
    let socket = |_| {
        *ids += 1;
        let name = format!("{} at {ids}", plan.name);
        let end = stream::Plan::of_client(rng, name, *ids, plan.deaf, plan.calm, may_wait);
        stream::Plan { asks: Some(format!("/{ids}/0/socket")), ..end }
    };
    (0..2).map(socket).collect()
}

fn profile(rng: &mut Rng) -> api::Http2Profile {
    api::Http2Profile {
        max_concurrent_streams: rng.pick(&[1, 4, 100]),
        initial_window_bytes: rng.pick(&[2_000, 65_535, 1 << 20]),
        max_requests: rng.pick(&[0, 0, 3]),
        max_control_frames: rng.pick(&[0, 0, 400]),
        max_empty_frames: rng.pick(&[0, 20]),
        max_field_bytes: 0,
    }
}

/// Where the main service is there, and listens.
fn enable(plan: &mut api::Plan, profile: &api::Http2Profile) {
    let Some(service) = plan.virtual_services.iter_mut().find(|service| service.uuid == "main") else { return };
    service.listeners.iter_mut().for_each(|listener| listener.http2 = true);
    if let Some(http) = &mut service.http {
        http.http2 = Some(*profile);
    }
}

fn browser(rng: &mut Rng, n: u64, service: &Service, ids: &mut u64) -> BrowserPlan {
    let Service { calm, tls, promises, limited, drains_at, stays } = *service;
    let quality = quality(rng, calm);
    let manner = manner(rng);
    let smallest = if limited { 2 * WINDOW_BYTES_FREE } else { 1 };
    let window = rng.pick(&[1, 100, 5_000, 65_535, 1 << 20]).max(smallest);
    let count = rng.between(1, 12);
    let requests = (0..count).map(|_| {
        let mut request = request(rng, ids, true);
        (request.close, request.http10) = (false, false);
        // A window of one byte takes a round trip for each.
        request.response_bytes = request.response_bytes.min(window as usize * 200);
        // Many share what one client of HTTP/1 has for itself.
        request.response_bytes /= 4;
        request.body = match request.body {
            RequestBody::Length(len) => RequestBody::Length(len / 4),
            RequestBody::Chunked(len) => RequestBody::Chunked(len / 4),
            RequestBody::None => RequestBody::None,
        };
        request
    });
    let plan = Plan {
        name: format!("browser {n}"),
        requests: requests.collect(),
        sockets: vec![],
        manner,
        streams: rng.pick(&[1, 3, 100]),
        window,
        window_of_all: rng.pick(&[65_535, 1 << 20]),
        late_us: rng.pick(&[0, 0, 1_000, 20_000]),
        pause_us: rng.pick(&[0, 0, 300, 3_000]),
        restless: rng.chance(30),
        resets_percent: rng.pick(&[0, 0, 0, 5]),
        malformed: if rng.chance(30) { rng.between(1, 4) } else { 0 },
        malformed_id: MALFORMED_ID * (n + 1),
        eager: rng.chance(30),
        deaf: quality.appetite == Appetite::Never,
        calm,
        drains_at,
        stays,
        promises,
    };
    let spread_us = rng.pick(&[10, 5_000, 200_000]);
    let start = Duration::from_micros(rng.between(0, spread_us));
    let listener = if tls && rng.chance(80) { SECURE } else { PLAIN };
    BrowserPlan { start, listener, quality, plan }
}

fn manner(rng: &mut Rng) -> Manner {
    let after = Duration::from_micros(rng.length(1_000_000));
    match rng.between(0, 19) {
        0 => Manner::Resets(after),
        1 => Manner::Closes(after),
        2 => Manner::FallsSilent(rng.length(10_000) as usize),
        3 | 4 => Manner::Breaks(breach(rng), after / 20),
        _ => Manner::Polite,
    }
}

/// Offers `h2` by ALPN.
pub fn tls_config(provider: &Provider) -> Result<ClientConfig, weir_tls::Error> {
    let settings = TlsSettings {
        versions: vec![Version::Tls12, Version::Tls13],
        cipher_suites: SUITES.map(String::from).to_vec(),
        groups: Vec::new(),
        prefer_client_order: false,
        session_resumption: true,
        tickets: None,
        protocols: vec!["h2".to_owned()],
        send_close_notify: true,
    };
    let peer = PeerSettings { verification: None, certificate: None, sni: true };
    ClientConfig::build(&settings, &peer, provider).map(|(config, _)| config)
}
