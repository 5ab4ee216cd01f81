//! The connections of a run: how requests get to them, what happens on them, and how they end.

use weir_proxy::io::{Close, Conn, Event, Gone, Io};
use weir_tls::TlsSession;

use super::{Runner, UnderWay};
use crate::{
    answer::{Came, Outcome, Reading},
    link::{Link, Stage, send_raw},
    script::Script,
    speaker::Speaker,
    tally::Cause,
};

impl Runner {
    /// Sends the request of a lane on its connection, or on a new one.
    pub(super) fn carry(&mut self, lane: u32) {
        let at = self.link_of_lane(lane);
        if self.is_full(at) {
            return self.park(at, lane);
        }
        if self.links[at].is_none()
            && let Err(cause) = self.connect(at)
        {
            return self.failed(at, lane, cause);
        }
        let Some(link) = &mut self.links[at] else { return };
        link.begun += 1;
        link.under_way += 1;
        let may_ask = link.may_ask();
        self.time(at);
        if may_ask {
            self.ask(at, lane);
        }
    }

    /// The connection begins no other request.
    pub(super) fn is_full(&self, at: usize) -> bool {
        let most = if self.is_idle_link(at) { 0 } else { self.task.requests_per_connection };
        self.links[at].as_ref().is_some_and(|link| most > 0 && link.begun >= most || link.speaker.is_leaving())
    }

    /// A lane goes on with another connection, once all is answered on this one.
    pub(super) fn park(&mut self, at: usize, lane: u32) {
        let Some(link) = &mut self.links[at] else { return self.release(lane) };
        link.parked.push(lane);
        self.close_if_over(at);
    }

    fn connect(&mut self, at: usize) -> Result<(), Cause> {
        self.scratch.clear();
        let tls = match &self.task.tls {
            Some(tls) => Some(TlsSession::client(&tls.config, &tls.name, &mut self.scratch)?),
            None => None,
        };
        let conn = self.io.connect(self.task.address);
        let slot = conn.slot as usize;
        if self.link_of.len() <= slot {
            self.link_of.resize(slot + 1, u32::MAX);
        }
        self.link_of[slot] = at as u32;
        self.links[at] = Some(Link::new(conn, Speaker::new(&self.task.script), tls));
        send_raw(&mut self.io, conn, &self.scratch);
        Ok(())
    }

    fn ask(&mut self, at: usize, lane: u32) {
        let is_last = self.is_full(at);
        let within = (lane as usize % self.task.streams) as u32;
        let Some(link) = &mut self.links[at] else { return };
        match link.speaker.ask(within, is_last, &self.task.script, &mut link.out) {
            Ok(()) => self.dirty.push(at as u32),
            Err(cause) => self.failed(at, lane, cause),
        }
    }

    /// Opens the streams that wait, and sends another request: its answer shows that the server has seen them.
    pub(super) fn wait_on(&mut self, at: usize, lane: u32) {
        let Some(link) = &mut self.links[at] else { return };
        link.waits = true;
        match link.speaker.wait(self.task.waiting_streams, &self.task.script, &mut link.out) {
            Ok(()) => self.begin(lane, self.io.now()),
            Err(cause) => {
                let (now, value) = (self.io.now(), link.value.as_deref());
                self.tally.failed(cause, now, now, value);
                self.close(at);
            }
        }
    }

    pub(super) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for at in dirty.drain(..) {
            if let Some(link) = &mut self.links[at as usize]
                && let Err(cause) = link.flush(&mut self.io)
            {
                self.link_failed(at as usize, cause);
            }
        }
        // A connection that has failed may have left others something to send.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    /// Sets the deadline of a connection by its oldest request, unless one is set.
    fn time(&mut self, at: usize) {
        if self.links[at].as_ref().is_none_or(|link| link.is_timed) {
            return;
        }
        let oldest = self.carried(at).map(|(_, request)| request.begun).min();
        if let (Some(oldest), Some(link)) = (oldest, &mut self.links[at]) {
            link.is_timed = true;
            self.io.deadline(link.conn, Some(oldest + self.task.timeout));
        }
    }

    /// The lanes with a request on a connection.
    fn carried(&self, at: usize) -> impl Iterator<Item = (u32, UnderWay)> {
        let parked = self.links[at].as_ref().map_or(&[][..], |link| &link.parked);
        let lanes = at * self.task.streams..(at + 1) * self.task.streams;
        let each = lanes.filter_map(|lane| Some((lane as u32, self.lanes[lane]?)));
        each.filter(|(lane, _)| !parked.contains(lane))
    }

    /// The link of a connection, unless that is not its connection any more.
    fn link(&self, conn: Conn) -> Option<usize> {
        let at = *self.link_of.get(conn.slot as usize)? as usize;
        let link = self.links.get(at)?.as_ref()?;
        (link.conn == conn).then_some(at)
    }

    pub(super) fn take(&mut self, event: Event) {
        let Some(at) = self.link(event.conn()) else { return };
        match event {
            Event::Connected { .. } => {
                if let Some(link) = &mut self.links[at] {
                    link.connected();
                }
            }
            Event::Data { mut buf, .. } => self.received(at, buf.bytes_mut().unwrap_or_default()),
            Event::Eof { .. } => self.ended(at),
            Event::Gone { why, .. } => self.gone(at, why),
            Event::Deadline { .. } => self.expired(at),
            Event::Leaving { .. }
            | Event::Drained { .. }
            | Event::Broken { .. }
            | Event::Relayed { .. }
            | Event::Accepted { .. } => {}
        }
    }

    fn received(&mut self, at: usize, bytes: &mut [u8]) {
        let Self { tally, task, links, .. } = self;
        let Some(link) = &mut links[at] else { return };
        let conn = link.conn;
        let mut value = link.value.take();
        let mut reading = Reading {
            method: task.method,
            grpc: task.grpc,
            script: &task.script,
            answer_bytes: task.answer_bytes,
            table: &mut self.table,
            server_header: task.server_header.as_deref(),
            on_value: &mut |seen| {
                tally.value(seen);
                if task.timeline {
                    value = Some(String::from_utf8_lossy(seen).into());
                }
            },
        };
        let mut outcomes = std::mem::take(&mut self.outcomes);
        let (io, to_peer) = (&mut self.io, &mut self.scratch);
        let received = link.receive(io, bytes, &mut reading, to_peer, &mut outcomes);
        link.value = value;
        if !link.out.is_empty() {
            self.dirty.push(at as u32);
        }
        for outcome in outcomes.drain(..) {
            if self.link(conn) == Some(at) {
                self.came(at, outcome);
            }
        }
        self.outcomes = outcomes;
        if self.link(conn) != Some(at) {
            return;
        }
        match received {
            Err(cause) => self.link_failed(at, cause),
            Ok(true) => self.handshaken(at),
            Ok(false) => self.close_if_over(at),
        }
    }

    fn handshaken(&mut self, at: usize) {
        let Some(link) = &self.links[at] else { return };
        link.count_handshake(&mut self.tally);
        if matches!(self.task.script, Script::Http2 { .. }) && link.protocol() != Some(b"h2") {
            return self.link_failed(at, Cause::Tls("the server does not agree to speak h2".into()));
        }
        let lanes: Vec<_> = self.carried(at).map(|(lane, _)| lane).collect();
        lanes.into_iter().for_each(|lane| self.ask(at, lane));
    }

    fn came(&mut self, at: usize, Outcome { lane, came }: Outcome) {
        let lane = (at * self.task.streams) as u32 + lane;
        match came {
            Came::Answered(answered) => self.answered(at, lane, answered),
            Came::Failed(cause) if self.task.streams == 1 => self.link_failed(at, cause),
            Came::Failed(cause) => self.failed(at, lane, cause),
            Came::Unprocessed => {
                if let Some(link) = &mut self.links[at] {
                    link.under_way -= 1;
                }
                self.park(at, lane);
            }
        }
    }

    /// The server has ended its side.
    fn ended(&mut self, at: usize) {
        let Some(link) = &mut self.links[at] else { return };
        if link.under_way == 0 {
            self.close(at);
        } else if link.stage == Stage::Handshaking {
            self.link_failed(at, Cause::Tls("connection ended in the handshake".into()));
        } else {
            let outcome = link.speaker.end();
            match outcome.came {
                Came::Failed(cause) => self.link_failed(at, cause),
                _ => self.came(at, outcome),
            }
        }
    }

    fn gone(&mut self, at: usize, why: Gone) {
        let connecting = self.links[at].as_ref().is_some_and(|link| link.stage == Stage::Connecting);
        let cause = match why {
            Gone::Local => Cause::Local,
            Gone::Refused | Gone::Unreachable => Cause::Connect,
            Gone::Reset if connecting => Cause::Connect,
            Gone::Reset => Cause::Reset,
        };
        self.link_failed(at, cause);
    }

    /// The deadline has come that was set by what was the oldest request then.
    fn expired(&mut self, at: usize) {
        let now = self.io.now();
        let late: Vec<_> = self.carried(at).filter(|(_, request)| request.begun + self.task.timeout <= now).collect();
        let Some(link) = &mut self.links[at] else { return };
        link.is_timed = false;
        for (lane, _) in late {
            let within = (lane as usize % self.task.streams) as u32;
            let Some(link) = &mut self.links[at] else { return };
            if link.stage != Stage::Open || !link.speaker.cancel(within, &mut link.out) {
                return self.link_failed(at, Cause::Timeout);
            }
            self.dirty.push(at as u32);
            self.failed(at, lane, Cause::Timeout);
        }
        self.time(at);
        self.close_if_over(at);
    }

    /// Ends the requests under way on a connection, and the connection.
    fn link_failed(&mut self, at: usize, cause: Cause) {
        let carried: Vec<_> = self.carried(at).map(|(lane, _)| lane).collect();
        carried.into_iter().for_each(|lane| self.failed(at, lane, cause.clone()));
        if let Some(link) = self.links[at].take() {
            self.io.close(link.conn, Close::Abort);
            self.go_on(link.parked);
        }
    }

    fn close_if_over(&mut self, at: usize) {
        if self.is_full(at) && self.links[at].as_ref().is_some_and(|link| link.under_way == 0) {
            self.close(at);
        }
    }

    /// Ends a connection on which nothing is under way.
    pub(super) fn close(&mut self, at: usize) {
        let Some(mut link) = self.links[at].take() else { return };
        if self.task.reset {
            self.io.close(link.conn, Close::Abort);
        } else {
            link.say_goodbye(&mut self.io, &mut self.scratch);
            self.io.close(link.conn, Close::Flush);
        }
        self.go_on(link.parked);
    }

    fn go_on(&mut self, parked: Vec<u32>) {
        for lane in parked {
            match self.lanes[lane as usize] {
                Some(_) => self.carry(lane),
                None => self.release(lane),
            }
        }
    }
}
