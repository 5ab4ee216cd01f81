//! A data plane process, an agent that commands it, and origins behind it; all on loopback.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use weir_api::dataplane::v1::{
    FailAction, FromDataplane, Greeting, Hello, HttpProfile, Listener, Plan, PlanChange, Pool, Removed, Sample, Server,
    Socket, Sockets, TcpProfile, ToDataplane, TransportProtocol, VirtualService, from_dataplane::Frame as Reply,
    to_dataplane::Frame,
};
use weir_control::frame;
use weir_reactor::process::Thread;

pub const WORKERS: u32 = 2;

/// Longer than any step takes. A test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Dataplane {
    pub process: Child,
    pub socket: PathBuf,
}

impl Dataplane {
    /// Its workers are not pinned.
    pub fn start() -> Self {
        Self::start_with(&["--no-pin"])
    }

    pub fn start_with(flags: &[&str]) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_weir-dataplane")), flags)
    }

    /// With so few file descriptors.
    pub fn start_with_descriptors(descriptors: u32, flags: &[&str]) -> Self {
        let mut limited = Command::new("prlimit");
        limited.args([&format!("--nofile={descriptors}:{descriptors}"), env!("CARGO_BIN_EXE_weir-dataplane")]);
        Self::spawn(limited, flags)
    }

    fn spawn(mut command: Command, flags: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("weir-dataplane-{}-{}.sock", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let socket = std::env::temp_dir().join(name);
        let mut process = command
            .args(["--workers", &WORKERS.to_string()])
            .args(flags)
            .arg("--socket")
            .arg(&socket)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The first line says that the socket is served. The other lines help with failed tests.
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("control socket"));
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Self { process, socket }
    }

    pub fn terminate(&mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// A connection to its control socket without a greeting.
    pub fn stray(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// On how many cores each worker may run.
    pub fn cores_of_workers(&self) -> Vec<usize> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let status = |task: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
            (field("Name:"), field("Cpus_allowed:"))
        };
        let workers = tasks.map(status).filter(|(name, _)| name.starts_with("worker-"));
        let cores =
            |mask: String| mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum::<u32>();
        workers.map(|(_, mask)| cores(mask) as usize).collect()
    }

    /// How many descriptors the kernel's table for the process has room for, and how many the process may open.
    pub fn descriptors(&self) -> (u64, u64) {
        let of_process = |file| std::fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).unwrap();
        let number = |text: String, name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name)).unwrap().split_whitespace().next();
            found.unwrap().parse().unwrap()
        };
        (number(of_process("status"), "FDSize:"), number(of_process("limits"), "Max open files"))
    }

    pub fn ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }
}

impl Drop for Dataplane {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

pub struct Agent {
    stream: UnixStream,
    pub hello: Hello,
    /// The sockets that the data plane handed back.
    pub handed_back: Vec<(Socket, TcpListener)>,
}

impl Agent {
    pub fn connect(dataplane: &Dataplane) -> Self {
        let mut agent = Self { stream: dataplane.stray(), hello: Hello::default(), handed_back: Vec::new() };
        agent.send(Frame::Greeting(Greeting {}));
        let Reply::Hello(hello) = agent.next() else { panic!("the first frame is no Hello") };
        agent.hello = hello;
        loop {
            let (message, fds) = frame::read::<FromDataplane>(&agent.stream).unwrap();
            let Some(Reply::Sockets(sockets)) = message.frame else { panic!("no Sockets after the Hello") };
            assert_eq!(sockets.sockets.len(), fds.len());
            agent.handed_back.extend(sockets.sockets.into_iter().zip(fds.into_iter().map(TcpListener::from)));
            if sockets.last {
                return agent;
            }
        }
    }

    pub fn next(&mut self) -> Reply {
        frame::read::<FromDataplane>(&self.stream).unwrap().0.frame.unwrap()
    }

    pub fn sees_its_link_closed(&mut self) {
        while frame::read::<FromDataplane>(&self.stream).is_ok() {}
    }

    /// The next frame that is neither a sample nor records.
    pub fn verdict(&mut self) -> Reply {
        loop {
            match self.next() {
                Reply::Sample(_) | Reply::Records(_) => {}
                verdict => return verdict,
            }
        }
    }

    pub fn sample_when(&mut self, right: impl Fn(&Sample) -> bool) -> Sample {
        let begun = Instant::now();
        loop {
            if let Reply::Sample(sample) = self.next()
                && right(&sample)
            {
                return sample;
            }
            assert!(begun.elapsed() < PATIENCE, "no sample met the condition in time");
        }
    }

    pub fn send(&mut self, message: Frame) {
        frame::write(&self.stream, &ToDataplane { frame: Some(message) }, &[]).unwrap();
    }

    /// Sends bytes that are no frame.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Gives the data plane a listening socket, the same one for each worker. Returns its address.
    pub fn give_socket(&mut self) -> SocketAddr {
        self.give_listener(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// The same at this address.
    pub fn give_socket_at(&mut self, address: SocketAddr) {
        self.give_listener(TcpListener::bind(address).unwrap());
    }

    fn give_listener(&mut self, socket: TcpListener) -> SocketAddr {
        let address = socket.local_addr().unwrap();
        let port = address.port().into();
        let named = |worker| Socket { address: "127.0.0.1".into(), port, worker, ..Socket::default() };
        let sockets = Sockets { sockets: (0..self.hello.workers).map(named).collect(), last: true };
        let message = ToDataplane { frame: Some(Frame::Sockets(sockets)) };
        frame::write(&self.stream, &message, &vec![socket.as_fd(); self.hello.workers as usize]).unwrap();
        address
    }

    /// Gives the only worker a UDP socket. Returns its address.
    pub fn give_datagram_socket(&mut self) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        let (port, protocol) = (at.port().into(), TransportProtocol::Udp.into());
        let named = Socket { address: at.ip().to_string(), port, worker: 0, protocol };
        let message = ToDataplane { frame: Some(Frame::Sockets(Sockets { sockets: vec![named], last: true })) };
        frame::write(&self.stream, &message, &[socket.as_fd()]).unwrap();
        at
    }

    pub fn apply(&mut self, plan: Plan) {
        let revision = plan.revision;
        self.send(Frame::Plan(plan));
        self.is_told_applied(revision);
    }

    /// Changes the Plan at revision `base` to the revision of `changed`.
    pub fn change(&mut self, base: u64, changed: Plan, removed: Removed) {
        let revision = changed.revision;
        self.send(change(base, changed, removed));
        self.is_told_applied(revision);
    }

    fn is_told_applied(&mut self, revision: u64) {
        match self.verdict() {
            Reply::Ack(ack) => assert_eq!((ack.revision, ack.warnings), (revision, vec![])),
            other => panic!("{other:?}"),
        }
    }
}

pub fn change(base: u64, changed: Plan, removed: Removed) -> Frame {
    Frame::PlanChange(PlanChange { base_revision: base, changed: Some(changed), removed: Some(removed) })
}

/// A Plan with one unencrypted service at `address`.
pub fn plan(revision: u64, address: SocketAddr, origins: &[SocketAddr]) -> Plan {
    let service = VirtualService {
        uuid: "virtualservice-1".into(),
        name: "shop".into(),
        listeners: vec![listener(address)],
        pool_uuid: "pool-1".into(),
        http: Some(http()),
        tcp: Some(TcpProfile { idle_timeout_s: 60, ..Default::default() }),
        ..Default::default()
    };
    Plan { revision, virtual_services: vec![service], pools: vec![pool(origins)], ..Default::default() }
}

pub fn listener(address: SocketAddr) -> Listener {
    Listener { address: address.ip().to_string(), port: address.port().into(), ..Listener::default() }
}

fn http() -> HttpProfile {
    HttpProfile {
        connection_multiplexing: true,
        post_accept_timeout_ms: 30_000,
        client_header_timeout_ms: 60_000,
        client_body_timeout_ms: 30_000,
        keepalive_timeout_ms: 30_000,
        max_keepalive_requests: 100,
        xff: true,
        xff_name: "X-Forwarded-For".into(),
        ..Default::default()
    }
}

fn pool(origins: &[SocketAddr]) -> Pool {
    let server = |origin: &SocketAddr| Server {
        id: origin.to_string(),
        address: origin.ip().to_string(),
        port: origin.port().into(),
        ratio: 1,
        enabled: true,
        ..Default::default()
    };
    Pool {
        uuid: "pool-1".into(),
        name: "shop-pool".into(),
        servers: origins.iter().map(server).collect(),
        connect_timeout_ms: 60_000,
        response_timeout_ms: 60_000,
        idle_connection_timeout_ms: 60_000,
        fail_action: FailAction::LocalResponse as i32,
        ..Default::default()
    }
}

/// Answers each request with `body` and the received X-Forwarded-For, and keeps connections open.
pub fn origin(body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_all(&stream, body));
        }
    });
    address
}

/// A thread that keeps a core busy.
pub struct Spinner(Arc<AtomicBool>);

impl Spinner {
    pub fn on(core: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let told = ended.clone();
        thread::spawn(move || {
            Thread::current().keep_on(&[core]).unwrap();
            while !told.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(ended)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// More than the backlog of a listening socket.
const BACKLOG_MAX: usize = 5_000;

/// A server that swallows connects: its backlog is full, and nothing accepts its connections.
pub struct Silent {
    pub address: SocketAddr,
    _listener: TcpListener,
    _backlog: Vec<TcpStream>,
}

impl Silent {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
        let backlog: Vec<_> = (0..BACKLOG_MAX).map_while(connect).collect();
        assert!(backlog.len() < BACKLOG_MAX, "its backlog does not fill");
        Self { address, _listener: listener, _backlog: backlog }
    }
}

fn answer_all(stream: &TcpStream, body: &str) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    loop {
        let head: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        if head.is_empty() {
            return;
        }
        let seen = head.iter().find(|line| line.to_ascii_lowercase().starts_with("x-forwarded-for")).cloned();
        let text = format!("{body} {}", seen.unwrap_or_default());
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        let mut stream = stream;
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Sends one request on a new connection. Returns the whole response.
pub fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

pub fn wait_until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "the condition was not met in time");
        thread::yield_now();
    }
}
