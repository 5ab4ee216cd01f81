//! Which clients are bound to servers by a cookie, and whether they get these: from the engine of the run, and from another
//! one that has nothing but the same Plan.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    Limits, Proxy,
    explain::Question,
    io::{Handler, Io},
};
use weir_snapshot::{Snapshot, Worker};

use crate::rng::Rng;

/// The cookie that binds.
pub const NAME: &str = "bound";

/// Binds clients in some scenarios. Draws from `rng` disturb nothing else.
pub fn bind<'p>(mut rng: Rng, plans: impl Iterator<Item = &'p mut api::Plan>) {
    if !rng.chance(40) {
        return;
    }
    let sealed = rng.chance(60);
    let cookie = api::CookiePersistence {
        cookie_name: NAME.into(),
        always: rng.chance(30),
        http_only: rng.chance(50),
        max_age_s: rng.pick(&[0, 60]),
        timeout_s: if sealed { 30 * 24 * 3600 } else { 0 },
        seal_keys: if sealed { vec![vec![3; 32], vec![4; 32]] } else { vec![] },
        prefixes: false,
    };
    for pool in plans.flat_map(|plan| &mut plan.pools).filter(|pool| !pool.uuid.contains("tunnel")) {
        pool.persistence = Some(cookie.clone());
        pool.servers.iter_mut().for_each(|server| server.token = server.id.replace(':', "-"));
    }
}

/// What clients and servers say of cookies.
#[derive(Default)]
pub struct Sessions {
    /// The cookie that came with the answer to a request.
    given: HashMap<u64, String>,
    /// The cookie that went with a request.
    shown: HashMap<u64, String>,
    /// The servers that have got a request, by its number.
    servers: HashMap<u64, HashSet<usize>>,
}

impl Sessions {
    pub fn give(&mut self, id: u64, cookie: &str) {
        self.given.insert(id, cookie.to_owned());
    }

    pub fn show(&mut self, id: u64, cookie: &str) {
        self.shown.insert(id, cookie.to_owned());
    }

    pub fn serve(&mut self, server: usize, id: u64) {
        self.servers.entry(id).or_default().insert(server);
    }

    /// The server of each cookie, as far as it is certain.
    fn bound(&self) -> HashMap<&str, usize> {
        let only = |id: &u64| match self.servers.get(id)?.iter().collect::<Vec<_>>()[..] {
            [server] => Some(*server),
            _ => None,
        };
        self.given.iter().filter_map(|(id, cookie)| Some((cookie.as_str(), only(id)?))).collect()
    }

    /// How many requests came with a cookie.
    pub fn shown(&self) -> u64 {
        self.shown.len() as u64
    }

    /// What is wrong in a run in which each server takes what it gets.
    pub fn judge<I: Io>(&self, plan: &api::Plan, worker: &Worker, (io, listener): (&mut I, SocketAddr)) -> Vec<String> {
        let mut wrong = Vec::new();
        let bound = self.bound();
        for (id, cookie) in &self.shown {
            let (Some(server), Some(servers)) = (bound.get(cookie.as_str()), self.servers.get(id)) else { continue };
            if servers.iter().any(|other| other != server) {
                wrong.push(format!("request {id} is bound to server {server}, and {servers:?} got it"));
            }
        }
        let Ok((snapshot, _)) = Snapshot::build(plan, None, worker) else { return wrong };
        let mut other = Proxy::new(Arc::new(snapshot), Limits::default());
        other.handle(io, &mut Vec::new()); // it learns the time
        for (cookie, server) in bound {
            let head = format!("GET / HTTP/1.1\r\nHost: sim.test\r\nCookie: {NAME}={cookie}\r\n\r\n");
            let question = Question {
                listener,
                tls: false,
                server_name: String::new(),
                client: ([10, 7, 0, 1], 40_000).into(),
                head: head.into_bytes(),
            };
            let told = other.explain(io.now(), &question);
            let picked =
                told.picked.and_then(|(at, _)| told.pool.as_ref()?.servers.get(at).map(|server| server.address.ip()));
            let wanted = IpAddr::from([10, 1, 0, server as u8 + 1]);
            if told.service.is_some() && picked != Some(wanted) {
                let bound = told.bound;
                wrong.push(format!("another engine gives {picked:?} what is bound to server {server}: {bound:?}"));
            }
        }
        wrong
    }
}
