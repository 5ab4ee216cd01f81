//! The scripts that see more of an exchange: whether some are to run, and what is kept for them.

use weir_balance::{Algorithm, HashKey};
use weir_script::{Ending, Persist, Seen};
use weir_wire::http1::{Body, Framing};

use crate::{
    buf::Buf,
    error::Error,
    exchange::{
        Exchange, Phase,
        bond::Bond,
        incoming::Form,
        scripted::{Collected, Collecting},
    },
    io::Time,
};

/// Of a body in chunks that hardly has content.
const FRAMING_BYTES_MAX: u64 = 16 << 10;

/// Whether a request goes to its server now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ready {
    Now,
    /// Scripts see it before.
    ForScripts,
    /// Its client is gone.
    TooLate,
}

impl Exchange {
    /// Requests that need nothing aside are asked one question.
    #[inline]
    pub fn ready(&self, now: Time) -> Ready {
        match &self.aside {
            None => Ready::Now,
            Some(_) if self.has_waited_out(now) => Ready::TooLate,
            Some(aside) if aside.scripted.is_shown_choice() => Ready::ForScripts,
            Some(_) => Ready::Now,
        }
    }

    /// Has scripts run for what comes later.
    pub fn keep_seen(&mut self, seen: Box<Seen>) {
        self.aside().scripted.seen = Some(seen);
    }

    /// What scripts see of it, if some still run.
    #[inline]
    pub fn take_seen(&mut self) -> Option<Box<Seen>> {
        self.aside.as_mut()?.scripted.seen.take()
    }

    /// Scripts answer instead of the server.
    pub fn end_with(&mut self, ending: Ending) {
        self.aside().scripted.ending = Some(Box::new(ending));
    }

    pub fn take_ending(&mut self) -> Option<Ending> {
        self.aside.as_mut()?.scripted.ending.take().map(|ending| *ending)
    }

    /// Scripts say what pools go by that choose servers by a hash.
    pub fn hash_by(&mut self, key: HashKey) {
        self.aside().scripted.key = Some(key);
        self.prefer_key_of_scripts();
    }

    /// Another pool has got the request.
    pub fn prefer_key_of_scripts(&mut self) {
        if let Some(key) = self.aside.as_ref().and_then(|aside| aside.scripted.key)
            && self.pool().is_some_and(|pool| pool.balance.algorithm == Algorithm::ConsistentHash)
        {
            self.key = key;
        }
    }

    /// Scripts bind it to a server by a key of their own.
    pub fn persist_by(&mut self, persist: Persist) {
        self.aside().scripted.persist = Some(persist);
    }

    /// The server that has got the last request with the key of a script, unless a rule or a script has chosen one.
    pub fn prefer_server_of_scripts(&mut self) {
        let bound = self.aside.as_ref().and_then(|aside| aside.scripted.persist.as_ref()?.server);
        let Some((bound, pool)) = bound.zip(self.pool()).filter(|_| self.bond.get() != Bond::Ruled) else { return };
        if let Some(server) = pool.servers.iter().find(|server| server.address == bound).map(|server| server.id) {
            (self.named, self.bond) = (Some(server), Bond::default().into());
        }
    }

    /// How scripts bind it to a server.
    pub fn persist(&self) -> Option<&Persist> {
        self.aside.as_ref()?.scripted.persist.as_ref()
    }

    /// Has scripts run for the body of the request.
    pub fn collect(&mut self, collecting: Collecting) {
        self.aside().scripted.collecting = Some(collecting);
    }

    /// How many bytes of the body are kept for scripts.
    pub fn collects_bytes(&self) -> usize {
        self.aside.as_ref().and_then(|aside| aside.scripted.collecting).map_or(0, |collecting| collecting.bytes)
    }

    /// Whether as much content has come as scripts want to see. Framing does not count, or a client could hide content by it.
    pub fn has_enough_for_scripts(&self) -> bool {
        self.body.content_bytes >= self.collects_bytes() as u64
    }

    /// Whether more than half of what is kept for scripts, and much of it, is framing. It would need as much memory as a client
    /// likes.
    pub fn keeps_mostly_framing(&self) -> bool {
        let framing_bytes = (self.held_bytes() as u64).saturating_sub(self.body.content_bytes);
        self.collects_bytes() > 0 && framing_bytes > self.body.content_bytes + FRAMING_BYTES_MAX
    }

    pub fn take_collecting(&mut self) -> Option<Collecting> {
        self.aside.as_mut()?.scripted.collecting.take()
    }

    /// The content of the body that is kept: so many bytes of it.
    #[cold]
    pub fn content_held(&self, most: usize) -> Result<Vec<u8>, Error> {
        let Some(aside) = &self.aside else { return Ok(Vec::new()) };
        let mut content = Vec::with_capacity(aside.held.bytes().min(most));
        let mut put = |part: &[u8]| {
            let room = most - content.len();
            content.extend_from_slice(&part[..part.len().min(room)]);
        };
        // As it came it may stand in chunks.
        let mut chunks = (self.form != Form::Content && self.is_endless).then(|| Body::new(Framing::Chunked));
        for piece in aside.held.iter() {
            match &mut chunks {
                None => put(piece),
                Some(body) if body.is_done() || body.is_at_trailers() => break,
                Some(body) => _ = body.read_payload(piece, |range| put(&piece[range])).map_err(Error::Request)?,
            }
        }
        Ok(content)
    }

    /// Has the response wait for scripts that want to see its body.
    pub fn collect_response(&mut self, collected: Collected) {
        self.aside().scripted.collected = Some(Box::new(collected));
    }

    /// Whether something of the response is kept for scripts, or has waited for them.
    pub fn has_collected(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.scripted.collected.is_some())
    }

    /// Whether the client has got nothing of a response that has begun.
    pub fn holds_head(&self) -> bool {
        let collected = self.aside.as_ref().and_then(|aside| aside.scripted.collected.as_ref());
        collected.is_some_and(|collected| collected.head.is_some())
    }

    pub fn collected(&mut self) -> Result<&mut Collected, Error> {
        self.aside.as_mut().and_then(|aside| aside.scripted.collected.as_deref_mut()).ok_or(Error::Defect)
    }

    /// All that was kept has gone on.
    pub fn end_collecting(&mut self) {
        self.aside().scripted.collected = None;
    }

    /// Pieces of the response that are kept.
    pub(super) fn pieces_collected(&self) -> usize {
        let collected = self.aside.as_ref().and_then(|aside| aside.scripted.collected.as_ref());
        collected.map_or(0, |collected| collected.held.pieces())
    }

    /// Scripts answer: what is kept of the body goes nowhere.
    pub fn drop_held(&mut self) {
        if let Some(aside) = &mut self.aside {
            while aside.held.pop().is_some() {}
        }
    }

    /// The head that waits for its server.
    pub fn waiting_head(&mut self) -> Result<&mut Buf, Error> {
        match &mut self.phase {
            Phase::Waiting { head, .. } => Ok(head),
            Phase::Sending { .. } | Phase::Streaming { .. } | Phase::Serving { .. } => Err(Error::Defect),
        }
    }
}
