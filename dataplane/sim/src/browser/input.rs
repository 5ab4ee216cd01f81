//! What a client of HTTP/2 receives, and how it judges that.

use std::time::Duration;

use weir_wire::{
    head::{Limits, Method},
    http2::{Code, Event, WINDOW_MAX},
};

use super::{AGAIN, Answer, Browser, Manner, Task, count_lost};
use crate::{
    client::Request,
    network::{BEGIN, Wake},
    peer::{Deed, Desk},
    rng::BodyOf,
    server::Style,
    unpacked::{Unpacked, takes_gzip},
};

const LIMITS: Limits = Limits { head_bytes: 64 * 1024, field_bytes: 16 * 1024, fields: 64 };

impl Browser {
    pub(super) fn hear(&mut self, bytes: Vec<u8>, desk: &mut Desk<'_>) {
        let is_promised = self.plan.calm && self.plan.manner == Manner::Polite;
        let plain = desk.open(&mut self.channel, bytes, &self.plan.name, is_promised);
        if self.is_http1(&plain, desk) {
            return;
        }
        if let Err(wrong) = self.watch.heard(&plain) {
            desk.ledger.violation(&self.plan.name, format_args!("the proxy {wrong}"));
        }
        self.take(&plain, desk);
        self.fidget(desk);
        self.go_on(desk);
    }

    /// Whether a proxy answers that does not let its clients speak HTTP/2 any more.
    fn is_http1(&mut self, plain: &[u8], desk: &mut Desk<'_>) -> bool {
        let is_first = !plain.is_empty() && !std::mem::replace(&mut self.has_heard, true);
        let is_http1 = is_first && plain.starts_with(b"HTT");
        if is_http1 {
            self.end(false, desk);
        }
        is_http1
    }

    fn take(&mut self, piece: &[u8], desk: &mut Desk<'_>) {
        let mut at = 0;
        loop {
            let now_ms = desk.now.nanos / 1_000_000;
            match self.connection.take(piece, &mut at, now_ms) {
                Ok(Event::More) => return,
                Ok(event) => self.meet(event, piece, desk),
                Err(code) => {
                    self.over = true;
                    self.settle(desk.ledger);
                    desk.deeds.push(Deed::Reset);
                    return desk.ledger.violation(&self.plan.name, format_args!("the proxy deserves {code:?}"));
                }
            }
        }
    }

    fn meet(&mut self, event: Event, piece: &[u8], desk: &mut Desk<'_>) {
        match event {
            Event::Head { stream, is_all } => self.take_head(stream, is_all, piece, desk),
            Event::Data { stream, content, is_all } => self.take_content(stream, &piece[content], is_all, desk),
            Event::Trailers { stream } => self.take_trailers(stream, piece, desk),
            Event::Reset { stream, code } => self.take_reset(stream, code, desk),
            Event::GoAway { last, code } => self.take_go_away(last, code, desk),
            Event::Room { .. } | Event::Priority { .. } | Event::More => {}
        }
    }

    fn take_head(&mut self, stream: u32, is_all: bool, piece: &[u8], desk: &mut Desk<'_>) {
        let name = &self.plan.name;
        let request = self.connection.kept(stream).and_then(|ask| ask.request.clone());
        let method = request.as_ref().map_or(Method::Get, |request| Method::of(request.method.as_bytes()));
        let (status, id, coding) = match self.connection.response(piece, method, &LIMITS, &mut self.table) {
            Ok(head) => {
                let id = head.fields.find(b"x-id").and_then(|id| std::str::from_utf8(id).ok()?.parse::<u64>().ok());
                (head.status, id, head.fields.find(b"content-encoding").map(<[u8]>::to_vec))
            }
            Err(wrong) => {
                return desk.ledger.violation(name, format_args!("{stream}: got a malformed head: {wrong:?}"));
            }
        };
        desk.tell(name, format_args!("{stream}: gets {status}"));
        if self.answers_tunnel(stream, status, desk) {
            return;
        }
        let name = &self.plan.name;
        let Some(ask) = self.connection.kept(stream) else { return };
        let Some(request) = request else {
            return desk.ledger.violation(name, format_args!("{stream}: got {status} for a malformed request"));
        };
        if status < 200 {
            ask.is_held &= status != 100;
            return;
        }
        match id {
            Some(id) if id != request.id => {
                desk.ledger.violation(name, format_args!("{stream}: asked for {} and got {id}", request.id));
            }
            Some(id) => {
                let may_be_busy = !self.plan.calm || !self.plan.promises.reselect || !request.is_repeatable();
                if status == 503 && !may_be_busy {
                    desk.ledger.violation(name, format_args!("{stream}: was turned away with request {id}"));
                }
            }
            None => {
                let swallowed = !self.plan.promises.keepalive && !request.is_repeatable();
                if self.plan.calm && self.plan.manner == Manner::Polite && !(swallowed && status == 502) {
                    desk.ledger.violation(name, format_args!("{stream}: got {status} while nothing was wrong"));
                }
            }
        }
        if coding.is_some() && (request.has_no_response_body() || !takes_gzip(request.id)) {
            desk.ledger.violation(name, format_args!("{stream}: got {coding:?}"));
        }
        let unpacked = Unpacked::of(coding.as_deref());
        ask.answer = Some(Answer { status, from_server: id.is_some(), body: BodyOf::new(request.id), unpacked });
        if is_all {
            self.finish(stream, desk);
        }
    }

    fn take_content(&mut self, stream: u32, content: &[u8], is_all: bool, desk: &mut Desk<'_>) {
        let Some(ask) = self.connection.kept(stream) else { return };
        ask.owed += content.len() as u32;
        if self.tunnel_hears(stream, content, is_all, desk) {
            return self.give_back_later(desk);
        }
        let Some(ask) = self.connection.kept(stream) else { return };
        match &mut ask.answer {
            Some(answer) => {
                let unpacked = answer.unpacked.as_mut().map(|unpacked| unpacked.unpack(content));
                let content = unpacked.as_ref().map_or(Some(content), Option::as_deref);
                if answer.from_server && !content.is_some_and(|content| answer.body.continues_with(content)) {
                    desk.ledger.violation(&self.plan.name, format_args!("{stream}: got a wrong body"));
                }
            }
            None => desk.ledger.violation(&self.plan.name, format_args!("{stream}: got content before a head")),
        }
        if is_all {
            self.finish(stream, desk);
        } else {
            self.give_back_later(desk);
        }
    }

    fn give_back_later(&mut self, desk: &mut Desk<'_>) {
        if !std::mem::replace(&mut self.giving_back, true) {
            let late = if self.plan.late_us == 0 { 0 } else { desk.rng.between(1, self.plan.late_us) };
            self.later(Duration::from_micros(late), Task::GiveBack, desk);
        }
    }

    fn take_trailers(&mut self, stream: u32, piece: &[u8], desk: &mut Desk<'_>) {
        let id =
            self.connection.kept(stream).and_then(|ask| ask.request.as_ref()).map(|request| request.id.to_string());
        match self.connection.trailers(piece, &LIMITS, &mut self.table) {
            Ok(fields) if fields.find(b"x-sum") == id.as_deref().map(str::as_bytes) => {}
            Ok(_) => desk.ledger.violation(&self.plan.name, format_args!("{stream}: got wrong trailers")),
            Err(wrong) => {
                desk.ledger.violation(&self.plan.name, format_args!("{stream}: got malformed trailers: {wrong:?}"));
            }
        }
        if let Some(ask) = self.connection.kept(stream) {
            ask.has_trailers = true;
        }
        self.finish(stream, desk);
    }

    /// An answer has come to its end.
    fn finish(&mut self, stream: u32, desk: &mut Desk<'_>) {
        let name = &self.plan.name;
        let Some(ask) = self.connection.kept(stream) else { return };
        let (Some(answer), Some(request)) = (&ask.answer, &ask.request) else { return };
        let drains_at = self.plan.drains_at.map(|after| BEGIN + after);
        if drains_at.is_some_and(|at| at < ask.asked_at) && !self.told_to_leave {
            desk.ledger
                .violation(name, format_args!("{stream}: is served while the service drains, and not told to leave"));
        }
        let expected = if request.has_no_response_body() { 0 } else { request.response_bytes };
        if answer.unpacked.as_ref().is_some_and(|unpacked| !unpacked.is_whole) {
            desk.ledger.violation(name, format_args!("{stream}: ended amid gzip"));
        }
        let (got, status, tally) = (answer.body.len, answer.status, &mut desk.ledger.tally);
        if !answer.from_server {
            tally.refused += 1;
        } else if got < expected && !self.plan.calm && request.style == Style::UntilClose {
            // A server that dies in a body without a length looks as if it were done.
            tally.cut += 1;
        } else {
            tally.answered += 1;
            tally.streams += 1;
            if got != expected {
                desk.ledger.violation(name, format_args!("{stream}: got {got} of {expected} bytes ({status})"));
            }
            let expects_trailers = request.style == Style::Trailers && request.method != "HEAD";
            if self.plan.calm && ask.has_trailers != expects_trailers {
                desk.ledger.violation(name, format_args!("{stream}: got other trailers than were sent"));
            }
            desk.ledger.hear(request.id, status, answer.unpacked.as_ref().map_or(got, |unpacked| unpacked.coded_bytes));
        }
        ask.is_answered = true;
        // Who has its answer may go on with its body, or not. Who waits with it does not send it any more.
        if ask.said_all || ask.is_held || desk.rng.chance(50) {
            self.connection.end(stream, Code::Cancel);
        }
    }

    fn take_reset(&mut self, stream: u32, code: Code, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("{stream}: is reset: {code:?}"));
        if code != Code::RefusedStream {
            self.wake_tunnel(stream, Wake::Reset, desk);
        }
        let Some(ask) = self.connection.end(stream, Code::Cancel) else { return };
        if ask.is_answered {
            return;
        }
        match (ask.request, code) {
            (None, Code::ProtocolError | Code::RefusedStream) => desk.ledger.tally.refused += 1,
            (None, _) => {
                desk.ledger.tally.refused += 1;
                desk.ledger.violation(&self.plan.name, format_args!("{stream}: got {code:?} for a malformed request"));
            }
            (Some(request), Code::RefusedStream) => self.was_refused(request, desk),
            (Some(_), _) => {
                count_lost(desk.ledger, ask.answer.is_some());
                self.complain_if_calm(desk.ledger, format_args!("{stream} was reset: {code:?}"));
            }
        }
    }

    /// No server has got the request. It is asked again, unless the connection ends.
    fn was_refused(&mut self, mut request: Request, desk: &mut Desk<'_>) {
        desk.ledger.promise_unserved(&self.plan.name, request.id);
        if self.may_ask() && request.id / AGAIN < 3 {
            request.id += AGAIN;
            self.waiting.push(request);
        } else {
            desk.ledger.tally.unread += 1;
        }
    }

    fn take_go_away(&mut self, last: u32, code: Code, desk: &mut Desk<'_>) {
        desk.tell(&self.plan.name, format_args!("is told to leave after {last}: {code:?}"));
        self.told_to_leave = true;
        if code != Code::NoError {
            self.accused = Some(code);
        }
        match &self.plan.manner {
            Manner::Breaks(breach, _) if code == breach.code => {}
            // It stopped amid a frame.
            Manner::FallsSilent(_) if code == Code::EnhanceYourCalm => {}
            _ if code == Code::NoError => {
                if self.plan.calm && self.plan.stays && self.plan.manner == Manner::Polite {
                    desk.ledger.violation(&self.plan.name, "was told to leave for no reason");
                }
            }
            _ => desk.ledger.violation(&self.plan.name, format_args!("was accused of {code:?}")),
        }
        if last < WINDOW_MAX {
            self.last = Some(last);
        }
        for id in self.connection.ids().into_iter().filter(|id| *id > last) {
            let Some(ask) = self.connection.end(id, Code::Cancel) else { continue };
            if let Some(request) = ask.request {
                desk.ledger.promise_unserved(&self.plan.name, request.id);
            }
            desk.ledger.tally.unread += u64::from(!ask.is_answered);
        }
    }
}
