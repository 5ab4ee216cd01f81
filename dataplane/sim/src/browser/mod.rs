//! A simulated client that speaks HTTP/2: many streams at once on one connection. It checks that the answer on each
//! stream is its own, in order, and complete, and that the proxy keeps the standard.
//!
//! `weir-wire` writes and reads its heads and keeps its streams; the windows are its own, and [`Watch`] checks them.

mod input;
mod output;
mod tunnel;

use std::time::Duration;

use weir_proxy::io::Time;
use weir_wire::{
    head::FieldTable,
    http2::{Code, Config, Connection, Role, Settings, WINDOW_MAX},
};

use crate::{
    breach::{Breach, frame},
    channel::Channel,
    client::{Promises, Request},
    network::Wake,
    peer::{Deed, Desk, Ledger, Peer},
    rng::BodyOf,
    server::Style,
    stream,
    unpacked::Unpacked,
    watch::{self, Watch},
};

use tunnel::Tunnel;

/// A request that was refused is asked again as another one, so that it is known that no server has got the first.
const AGAIN: u64 = 1 << 40;
/// Control frames that a restless client sends.
const RESTLESS_FRAMES: u32 = 20;

/// What a client does besides asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    Polite,
    /// Resets the connection after a while.
    Resets(Duration),
    /// Closes the connection after a while.
    Closes(Duration),
    /// Sends this many bytes of what it should, and no more.
    FallsSilent(usize),
    /// Breaks the standard after a while.
    Breaks(Breach, Duration),
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    pub requests: Vec<Request>,
    /// WebSockets that it opens besides.
    pub sockets: Vec<stream::Plan>,
    pub manner: Manner,
    /// How many streams it has open at once, at most.
    pub streams: usize,
    /// Of each stream, for what it receives.
    pub window: u32,
    /// Of the connection.
    pub window_of_all: u32,
    /// How long it keeps what it has received before it lets more come.
    pub late_us: u64,
    /// Pause between two pieces of what it sends.
    pub pause_us: u64,
    /// Sends PINGs, SETTINGS that change the window, and priorities amid it all.
    pub restless: bool,
    /// How often it resets a stream, in percent of the times when something comes.
    pub resets_percent: u64,
    /// How many malformed requests it sends besides.
    pub malformed: u64,
    /// The ids of those.
    pub malformed_id: u64,
    /// Goes on to ask until it is told which stream was the last.
    pub eager: bool,
    /// Reads nothing, so it may wait for ever.
    pub deaf: bool,
    /// Nothing goes wrong in this run: each request must be answered by a server.
    pub calm: bool,
    /// How long after the begin of the run the Plan begins to drain the service.
    pub drains_at: Option<Duration>,
    /// Nothing in this run makes the proxy end the connection of its own.
    pub stays: bool,
    pub promises: Promises,
}

/// What it keeps with a stream.
#[derive(Default)]
struct Ask {
    /// `None`: it is malformed, or a tunnel's.
    request: Option<Request>,
    asked_at: Time,
    body: Vec<u8>,
    sent: usize,
    /// Waits with the body for a 100.
    is_held: bool,
    said_all: bool,
    answer: Option<Answer>,
    is_answered: bool,
    has_trailers: bool,
    tunnel: Option<Tunnel>,
    /// Received, and not given back.
    owed: u32,
}

struct Answer {
    status: u16,
    from_server: bool,
    body: BodyOf,
    /// Of content that is compressed.
    unpacked: Option<Unpacked>,
}

enum Task {
    Write,
    GiveBack,
    Leave,
    Break,
    /// The end of a tunnel, by its stream.
    Wake(u32),
}

pub struct Browser {
    plan: Plan,
    channel: Channel,
    hello: Vec<u8>,
    connection: Connection<Ask>,
    watch: Watch,
    table: FieldTable,
    /// To be asked, the next one last.
    waiting: Vec<Request>,
    tasks: Vec<(Time, Task)>,
    script: Vec<Vec<u8>>,
    pacing: bool,
    giving_back: bool,
    restless_frames: u32,
    window: u32,
    /// The proxy has announced that it goes away.
    told_to_leave: bool,
    /// Behind which stream it takes nothing.
    last: Option<u32>,
    accused: Option<Code>,
    has_heard: bool,
    over: bool,
}

impl Browser {
    pub fn new(plan: Plan, channel: Channel, hello: Vec<u8>) -> Self {
        // The windows of streams are kept here: those of the connection would not follow a change of SETTINGS.
        let settings = Settings { enable_push: false, initial_window: WINDOW_MAX, ..Settings::default() };
        let config =
            Config { settings, window: plan.window_of_all, head_bytes: 64 * 1024, control_frames: 0, empty_frames: 0 };
        let waiting = plan.requests.iter().rev().cloned().collect();
        Self {
            window: plan.window,
            plan,
            channel,
            hello,
            connection: Connection::new(Role::Client, config, 0),
            watch: Watch::new(watch::Peer::Client),
            table: FieldTable::new(),
            waiting,
            tasks: Vec::new(),
            script: Vec::new(),
            pacing: false,
            giving_back: false,
            restless_frames: 0,
            told_to_leave: false,
            last: None,
            accused: None,
            has_heard: false,
            over: false,
        }
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        desk.send(std::mem::take(&mut self.hello));
        match &self.plan.manner {
            Manner::Resets(after) | Manner::Closes(after) => self.later(*after, Task::Leave, desk),
            Manner::Breaks(_, after) => self.later(*after, Task::Break, desk),
            Manner::Polite | Manner::FallsSilent(_) => {}
        }
        let window = self.settings();
        self.write(window, desk);
        self.go_on(desk);
    }

    fn settings(&self) -> Vec<u8> {
        frame(4, 0, 0, &[&[0, 4][..], &self.window.to_be_bytes()].concat())
    }

    fn later(&mut self, span: Duration, task: Task, desk: &mut Desk<'_>) {
        self.tasks.push((desk.now + span, task));
        desk.wake_after(span);
    }

    fn do_tasks(&mut self, desk: &mut Desk<'_>) {
        while let Some(at) = self.tasks.iter().position(|(at, _)| *at <= desk.now) {
            match self.tasks.remove(at).1 {
                Task::Write => self.write_next(desk),
                Task::Wake(id) => {
                    self.wake_tunnel(id, Wake::Timer, desk);
                    self.end_tunnel(id);
                }
                Task::GiveBack => {
                    self.giving_back = false;
                    self.give_back(desk);
                }
                Task::Leave => {
                    if let Manner::Resets(_) = self.plan.manner {
                        desk.deeds.push(Deed::Reset);
                    }
                    return self.end(true, desk);
                }
                Task::Break => self.break_the_standard(desk),
            }
        }
    }

    fn break_the_standard(&mut self, desk: &mut Desk<'_>) {
        if let Manner::Breaks(breach, _) = &self.plan.manner {
            let needs_stream = breach.needs_stream();
            let stream = if needs_stream { self.connection.open() } else { None };
            if needs_stream && stream.is_none() {
                if !self.told_to_leave {
                    self.later(Duration::from_millis(1), Task::Break, desk);
                }
                return;
            }
            let bytes = breach.bytes_on(stream.unwrap_or(1));
            if let Some(ask) = stream.and_then(|stream| self.connection.kept(stream)) {
                (ask.is_answered, ask.said_all) = (true, true);
            }
            desk.tell(&self.plan.name, format_args!("sends what deserves {:?}", breach.code));
            self.flush_control(desk);
            self.write_bytes(bytes, desk);
        }
    }

    /// Asks, sends what windows allow, and ends when all is done.
    fn go_on(&mut self, desk: &mut Desk<'_>) {
        self.ask(desk);
        let asked = self.connection.streams();
        self.send_bodies(desk);
        if self.connection.streams() < asked {
            // A tunnel has ended: there is room for another request.
            return self.go_on(desk);
        }
        self.flush_control(desk);
        if self.is_done() && !self.over {
            self.leave(desk);
        }
    }

    fn leave(&mut self, desk: &mut Desk<'_>) {
        self.over = true;
        self.judge_windows(desk);
        if desk.rng.chance(50) {
            self.connection.go_away(Code::NoError);
            self.flush_control(desk);
        }
        desk.send(self.channel.say_goodbye());
        desk.deeds.push(Deed::Close);
    }

    fn judge_windows(&mut self, desk: &mut Desk<'_>) {
        let regular = self.plan.manner == Manner::Polite && self.plan.resets_percent == 0 && self.plan.malformed == 0;
        let has_early =
            self.plan.requests.iter().any(|request| request.style == Style::Early || request.expect_continue);
        if !self.plan.calm || !regular || has_early || self.told_to_leave {
            return;
        }
        if self.watch.is_short() {
            desk.ledger.violation(&self.plan.name, "was not given back its window");
        }
    }

    fn is_done(&self) -> bool {
        let has_asked = self.waiting.is_empty() && self.plan.malformed == 0 && self.plan.sockets.is_empty();
        let stops = has_asked || self.told_to_leave;
        // A stream may still be open for a body that nobody needs.
        let quiet = self.plan.manner == Manner::Polite
            && self.connection.each_kept().all(|ask| ask.is_answered && ask.tunnel.is_none());
        quiet && stops && self.script.is_empty() && self.watch.is_answered()
    }
}

// What it does of its own.
impl Browser {
    fn give_back(&mut self, desk: &mut Desk<'_>) {
        let half = self.window.div_ceil(2);
        for id in self.connection.ids() {
            let Some(ask) = self.connection.kept(id) else { continue };
            if ask.owed > 0 && ask.owed >= half {
                let bytes = std::mem::take(&mut ask.owed);
                self.write(frame(8, 0, id, &bytes.to_be_bytes()), desk);
            }
        }
    }

    fn fidget(&mut self, desk: &mut Desk<'_>) {
        if self.plan.restless && self.restless_frames < RESTLESS_FRAMES && desk.rng.chance(30) {
            self.restless_frames += 1;
            let ids = self.connection.ids();
            let stream = ids.last().copied().unwrap_or(1);
            let bytes = match desk.rng.between(0, 3) {
                0 => frame(6, 0, 0, &desk.rng.next().to_be_bytes()),
                1 => frame(16, 0, 0, &[&stream.to_be_bytes()[..], b"u=1, i"].concat()),
                2 => frame(0xfa, 0xff, stream, b"an extension"),
                _ => {
                    // A window that becomes smaller may be used up already. What was received counts for it.
                    self.window = (self.plan.window * desk.rng.between(1, 4) as u32).div_ceil(2);
                    self.settings()
                }
            };
            self.write(bytes, desk);
            self.give_back(desk);
        }
        if desk.rng.chance(self.plan.resets_percent) {
            let ids = self.connection.ids();
            if !ids.is_empty() {
                let id = desk.rng.pick(&ids);
                self.reset(id, desk);
            }
        }
    }

    fn reset(&mut self, id: u32, desk: &mut Desk<'_>) {
        let Some(ask) = self.connection.end(id, Code::Cancel) else { return };
        desk.tell(&self.plan.name, format_args!("{id}: resets it"));
        if !ask.is_answered {
            count_lost(desk.ledger, ask.answer.is_some());
        }
    }

    fn end(&mut self, reset: bool, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, if reset { "is reset" } else { "sees the end" });
        self.over = true;
        self.settle(desk.ledger);
        desk.deeds.push(Deed::Close);
    }

    /// Counts what will not be answered any more.
    fn settle(&mut self, ledger: &mut Ledger) {
        for id in self.connection.ids() {
            let Some(ask) = self.connection.end(id, Code::Cancel) else { continue };
            if ask.tunnel.is_some() && self.plan.calm {
                ledger.violation(&self.plan.name, format_args!("{id}: a tunnel was cut while nothing was wrong"));
            }
            if !ask.is_answered {
                count_lost(ledger, ask.answer.is_some());
                self.complain_if_calm(ledger, format_args!("{id} was not answered"));
            }
        }
        // Refused, and not asked again.
        ledger.tally.unread += self.waiting.drain(..).filter(|request| request.id >= AGAIN).count() as u64;
    }

    fn complain_if_calm(&self, ledger: &mut Ledger, what: std::fmt::Arguments<'_>) {
        if self.plan.calm && self.plan.manner == Manner::Polite {
            ledger.violation(&self.plan.name, format_args!("{what} while nothing was wrong"));
        }
    }
}

fn count_lost(ledger: &mut Ledger, has_begun: bool) {
    if has_begun {
        ledger.tally.cut += 1;
    } else {
        ledger.tally.failed += 1;
    }
}

impl Peer for Browser {
    fn wake(&mut self, wake: Wake, desk: &mut Desk<'_>) {
        if self.over {
            return;
        }
        match wake {
            Wake::Connected => self.begin(desk),
            Wake::Bytes(bytes) => self.hear(bytes, desk),
            Wake::Fin => self.end(false, desk),
            Wake::Reset => self.end(true, desk),
            Wake::Timer => {
                self.do_tasks(desk);
                if !self.over {
                    self.go_on(desk);
                }
            }
        }
    }

    fn conclude(&mut self, ledger: &mut Ledger) {
        if !self.over && !self.plan.deaf {
            ledger.violation(&self.plan.name, "was left waiting for ever");
        }
        self.settle(ledger);
        if let Manner::Breaks(breach, _) = &self.plan.manner
            && self.plan.calm
            && self.accused != Some(breach.code)
            && !self.told_to_leave
        {
            ledger.violation(&self.plan.name, format_args!("was not accused of {:?}", breach.code));
        }
    }
}
