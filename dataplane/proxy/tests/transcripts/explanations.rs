//! What is said of a request agrees with what happens to it, and changes nothing.

use std::net::SocketAddr;

use weir_api::dataplane::v1 as api;
use weir_proxy::{
    explain::{Bond, BoundBy, Chosen, Explanation, Picked, Question, Standing},
    io::{Gone, Io},
};

use crate::{
    OK,
    hosted::{by_more_than_paths, by_request, get, terminating},
    status,
    tape::{Stage, l4_plan, plan},
};

const CLIENT: &str = "192.0.2.1:4000";

pub fn question(head: &str) -> Question {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    Question {
        listener: address("10.0.0.1:80"),
        tls: false,
        server_name: String::new(),
        client: address(CLIENT),
        head: head.as_bytes().to_vec(),
    }
}

impl Stage {
    pub fn explain(&mut self, question: &Question) -> Explanation {
        let now = self.tape.now();
        self.proxy.explain(now, question)
    }

    /// The address of the server that would get a request.
    fn foresees(&mut self, head: &str) -> String {
        let told = self.explain(&question(head));
        let pool = told.pool.expect("the request has a pool");
        pool.servers[told.picked.expect("a server is picked").0].address.to_string()
    }

    /// The address of the server that gets a request.
    fn sees(&mut self, head: &str) -> String {
        let client = self.client_from("10.0.0.1:80", CLIENT);
        self.says(client, head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        let server = self.connected();
        self.says(server, OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        self.dialled_address()
    }
}

#[test]
fn server_that_is_foreseen_gets_the_request_whatever_the_algorithm() {
    for algorithm in [
        api::Algorithm::RoundRobin,
        api::Algorithm::LeastConnections,
        api::Algorithm::ConsistentHash,
        api::Algorithm::Random,
        api::Algorithm::FastestResponse,
        api::Algorithm::LeastLoad,
        api::Algorithm::FewestServers,
    ] {
        let mut plan = plan(5);
        plan.pools[0].algorithm = algorithm.into();
        plan.pools[0].hash_input = api::HashInput::Uri.into();
        let mut stage = Stage::new(&plan);
        for number in 0..40 {
            let head = get("a", &format!("/{number}"));
            let foreseen = stage.foresees(&head);
            assert_eq!(stage.foresees(&head), foreseen, "a question changes nothing");
            assert_eq!(stage.sees(&head), foreseen, "{algorithm:?} {number}");
        }
        let counted = stage.proxy.counters().service(0).expect("the service has counters");
        assert_eq!((counted.requests, counted.connections), (40, 40));
    }
}

#[test]
fn cookie_and_disabled_and_down_servers_are_explained() {
    let mut plan = plan(4);
    let pool = &mut plan.pools[0];
    pool.persistence = Some(api::CookiePersistence { cookie_name: "to".into(), ..Default::default() });
    pool.monitored = true;
    pool.servers.iter_mut().enumerate().for_each(|(number, server)| server.token = format!("t{number}"));
    pool.servers[0].enabled = false;
    let mut stage = Stage::new(&plan);
    for server in ["server 0", "server 2", "server 3"] {
        stage.proxy.set_server_up(&mut stage.tape, "pool", server, true);
    }
    let to = |token| question(&format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: to={token}\r\n\r\n"));
    let told = stage.explain(&to("t3"));
    assert_eq!((told.picked, told.local), (Some((3, Picked::ByPersistence)), None));
    for (token, bond) in
        [("t3", Bond::Kept), ("t0", Bond::ServerDisabled), ("t1", Bond::ServerDown), ("none", Bond::Kept)]
    {
        let (server, by, told) = stage.explain(&to(token)).bound.expect("the pool binds clients");
        assert_eq!((server.is_some(), by, told), (token != "none", BoundBy::Cookie, bond), "{token}");
    }
    let standings: Vec<_> = told.servers.iter().map(|server| server.standing).collect();
    assert_eq!(standings, [Standing::Disabled, Standing::Down, Standing::Eligible, Standing::Eligible]);
    for unusable in ["t0", "t1", "none"] {
        assert_eq!(stage.explain(&to(unusable)).picked.map(|(_, why)| why), Some(Picked::ByAlgorithm), "{unusable}");
    }
}

#[test]
fn draft_is_explained_by_what_is_known_and_leaves_all_as_it_is() {
    let mut now = plan(2);
    now.pools[0].monitored = true;
    let mut stage = Stage::new(&now);
    stage.proxy.set_server_up(&mut stage.tape, "pool", "server 1", true);
    let mut draft = plan(3);
    draft.revision += 1;
    draft.pools[0].monitored = true;
    let head = get("a", "/");
    for _ in 0..3 {
        let snapshot = stage.draft(&draft);
        let at = stage.tape.now();
        let told = stage.proxy.explain_draft(at, &question(&head), snapshot);
        let standings: Vec<_> = told.servers.iter().map(|server| server.standing).collect();
        assert_eq!(standings, [Standing::Down, Standing::Eligible, Standing::Eligible], "a new server counts as up");
        assert_eq!(stage.explain(&question(&head)).servers.len(), 2);
        assert_eq!(stage.sees(&head), "10.1.0.2:8000", "requests go where they went");
    }
    let mut gone = plan(2);
    gone.revision += 1;
    gone.virtual_services.clear();
    let (at, snapshot) = (stage.tape.now(), stage.draft(&gone));
    assert!(stage.proxy.explain_draft(at, &question(&head), snapshot).service.is_none());
    draft.revision += 1;
    stage.replace(&draft);
    assert_eq!(stage.explain(&question(&head)).servers.len(), 3, "it may come into force later");
}

#[test]
fn groups_and_pools_of_a_draft_are_given_back() {
    let mut now = plan(1);
    let other = |uuid: &str| api::Pool { uuid: uuid.into(), ..plan(1).pools.remove(0) };
    now.pools.push(other("pool-2"));
    let mut stage = Stage::new(&now);
    let mut draft = now.clone();
    draft.revision += 1;
    draft.pools.push(other("pool-3"));
    let member = |uuid: &str| api::GroupMember { pool_uuid: uuid.into(), ratio: 1, ..Default::default() };
    let members = vec![member("pool-3")];
    draft.pool_groups.push(api::PoolGroup { uuid: "group".into(), members, ..Default::default() });
    draft.virtual_services[0].pool_uuid.clear();
    draft.virtual_services[0].pool_group_uuid = "group".into();
    let (at, snapshot, head) = (stage.tape.now(), stage.draft(&draft), get("a", "/"));
    let told = stage.proxy.explain_draft(at, &question(&head), snapshot);
    assert_eq!(told.pool.map(|pool| pool.uuid.clone()).as_deref(), Some("pool-3"));
    assert_eq!(told.group.map(|(group, _)| group.uuid.clone()).as_deref(), Some("group"));
    let told = stage.explain(&question(&head));
    assert_eq!(told.pool.map(|pool| pool.uuid.clone()).as_deref(), Some("pool"));
    assert!(told.group.is_none());
}

#[test]
fn pool_of_which_no_server_takes_requests_is_503() {
    let mut plan = plan(2);
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    let local = |stage: &mut Stage| stage.explain(&question(&get("a", "/"))).local.expect("the engine answers");
    assert_eq!((local(&mut stage).status, local(&mut stage).cause), (Some(503), "no_server"));
    plan.pools[0].fail_action = api::FailAction::CloseConnection.into();
    plan.revision += 1;
    stage.replace(&plan);
    assert_eq!(local(&mut stage).status, None, "the connection ends");
}

#[test]
fn suspect_and_full_servers_are_named_and_the_trial_is_foreseen() {
    let mut plan = plan(2);
    plan.pools[0].inline_health = true;
    plan.pools[0].servers[1].max_connections = 1;
    let mut stage = Stage::new(&plan);
    // The first server refuses, and the second one gets the request after that. It is full from then on.
    let client = stage.client();
    stage.says(client, get("a", "/"));
    assert_eq!(stage.dialled_address(), "10.1.0.1:8000");
    let dialled = stage.dialled();
    stage.gone(dialled, Gone::Refused);
    assert_eq!(stage.dialled_address(), "10.1.0.2:8000");
    stage.connected();
    let standings = |told: &Explanation| told.servers.iter().map(|server| server.standing).collect::<Vec<_>>();
    let told = stage.explain(&question(&get("a", "/")));
    assert_eq!(
        (standings(&told), told.picked),
        (vec![Standing::Eligible, Standing::Full], Some((0, Picked::ByAlgorithm)))
    );
    assert_eq!(told.servers[1].connections, 1, "it has one request");
    for _ in 0..2 {
        let client = stage.client();
        stage.says(client, get("a", "/"));
        let dialled = stage.dialled();
        stage.gone(dialled, Gone::Refused);
        assert_eq!(status(&stage.sent(client)), "502");
    }
    let told = stage.explain(&question(&get("a", "/")));
    assert_eq!(standings(&told), [Standing::Suspect, Standing::Full]);
    assert_eq!(told.picked.map(|(at, _)| at), Some(0), "it is the last that may be asked");
}

#[test]
fn child_by_host_and_path_is_the_one_that_gets_the_request() {
    let mut stage = Stage::new(&by_request(plan(1)));
    for (host, path, child) in
        [("shop.test", "/", "child-1"), ("shop.test", "/cart", "child-2"), ("x.test", "/", "child-3"), ("a", "/", "")]
    {
        let head = get(host, path);
        let told = stage.explain(&question(&head));
        let chosen = told.child.as_ref().map(|(service, chosen)| (service.uuid.as_str(), *chosen));
        assert_eq!(chosen.unwrap_or(("", Chosen::ByRequest)), (child, Chosen::ByRequest));
        let foreseen = stage.foresees(&head);
        assert_eq!(stage.sees(&head), foreseen, "{host}{path}");
    }
    let ambiguous = stage.explain(&question(&get("shop.test", "/x/../cart"))).local;
    assert_eq!(ambiguous.and_then(|local| local.status), Some(400));
}

#[test]
fn child_that_wants_more_than_host_and_path_is_told() {
    let mut stage = Stage::new(&by_more_than_paths(plan(1)));
    let chosen = |stage: &mut Stage, client: &str, head: &str| {
        let mut asked = question(head);
        asked.client = client.parse().expect("an address");
        stage.explain(&asked).child.map(|(service, _)| service.uuid.clone())
    };
    let head = get("shop.test", "/");
    assert_eq!(chosen(&mut stage, "192.0.2.7:1", &head).as_deref(), Some("child-3"));
    assert_eq!(chosen(&mut stage, "198.51.100.7:1", &head), None);
    let post = head.replace("GET", "POST").replace("\r\n\r\n", "\r\nX-Beta: 1\r\n\r\n");
    assert_eq!(chosen(&mut stage, "198.51.100.7:1", &post).as_deref(), Some("child-1"));
}

#[test]
fn child_by_server_name_is_that_of_tls() {
    let mut stage = Stage::new(&terminating(plan(1)));
    let mut asked = question(&get("shop.test", "/"));
    assert_eq!(stage.explain(&asked).local.map(|local| local.cause), Some("tls_expected"));
    (asked.tls, asked.server_name) = (true, "shop.test".into());
    let told = stage.explain(&asked);
    let chosen = told.child.map(|(service, chosen)| (service.uuid.clone(), chosen));
    assert_eq!(chosen, Some(("child-1".into(), Chosen::ByServerName)));
    asked.head = get("other.test", "/").into_bytes();
    assert_eq!(stage.explain(&asked).local.and_then(|local| local.status), Some(400), "another host than the name");
}

#[test]
fn what_the_engine_answers_itself_is_what_a_client_gets() {
    let mut secure = plan(1);
    let http = secure.virtual_services[0].http.as_mut().expect("it is of HTTP");
    (http.http_to_https, http.https_port) = (true, 8443);
    let mut stage = Stage::new(&secure);
    let local = stage.explain(&question(&get("a.test", "/x?y"))).local.expect("the engine answers");
    assert_eq!((local.status, local.location.as_slice()), (Some(301), &b"https://a.test:8443/x?y"[..]));

    let nonsense = [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n",
    ];
    for head in nonsense {
        let mut stage = Stage::new(&plan(1));
        let local = stage.explain(&question(head)).local.expect("the engine answers");
        let client = stage.client();
        stage.says(client, head);
        assert_eq!(
            Some(status(&stage.sent(client))),
            local.status.map(|status| status.to_string()).as_deref(),
            "{head}"
        );
    }
    assert!(stage.explain(&question("GET / HTTP/1.1\r\nHost")).local.is_some(), "a head that does not end");
}

#[test]
fn elsewhere_nothing_listens_and_layer_4_knows_no_head() {
    let mut stage = Stage::new(&l4_plan(2));
    let mut asked = question("nonsense");
    let told = stage.explain(&asked);
    assert!(told.local.is_none() && told.picked.is_some());
    asked.listener.set_port(81);
    assert!(stage.explain(&asked).service.is_none());
}

#[test]
fn limit_of_throughput_is_told_where_there_is_one() {
    let mut plan = plan(1);
    assert_eq!(Stage::new(&plan).explain(&question(&get("a", "/"))).throughput_mbps, 0);
    plan.virtual_services[0].max_throughput_mbps = 200;
    assert_eq!(Stage::new(&plan).explain(&question(&get("a", "/"))).throughput_mbps, 200);
}
