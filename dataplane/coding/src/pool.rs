//! The encoders of one worker. They need much memory, so they are reused, and their number is bounded.

use std::{cell::RefCell, rc::Rc, time::Duration};

use crate::{
    accept::Codings,
    coding::Coding,
    encoder::Encoder,
    step::{Broken, Step, Until},
    whole::{self, Compressors, Whole},
};

/// The memory for all encoders of a worker.
pub const BYTES_MAX: usize = 16 << 20;

impl Coding {
    /// The memory of an encoder, at most.
    pub(crate) fn encoder_bytes(self) -> usize {
        match self {
            Coding::Gzip => 288 << 10,
            Coding::Zstd => 768 << 10,
            Coding::Brotli => 2 << 20,
        }
    }
}

/// Brotli leaves room for encoders that need less.
const BROTLI_BYTES_MAX: usize = BYTES_MAX / 4 * 3;
/// Content that waits for its end leaves room for encoders that take it piece by piece: it has to wait for slow servers.
const WHOLE_BYTES_MAX: usize = BYTES_MAX / 2;
/// How long an encoder rests before another response may have its memory. A client that takes less than
/// a share of a batch in this time is slow, or its server is.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// Encoders that are not in use, and the memory of all.
#[derive(Clone, Default)]
pub struct Pool(Rc<RefCell<Shelf>>);

#[derive(Default)]
struct Shelf {
    idle: Vec<Encoder>,
    in_use: Vec<Rc<RefCell<Used>>>,
    /// Of those in use and of idle ones.
    bytes: usize,
    brotli_bytes: usize,
    /// Of content that waits for its end, and of the compressors for it.
    whole_bytes: usize,
    compressors: Compressors,
}

struct Used {
    /// `None` only while being put back.
    encoder: Option<Encoder>,
    /// It has taken or written something.
    has_begun: bool,
    /// All that it has taken has come out, since this time of the caller's clock.
    rests_since: Option<Duration>,
}

/// An encoder in use. It goes back to its pool when it is dropped.
pub struct Pooled {
    used: Rc<RefCell<Used>>,
    coding: Coding,
    pool: Pool,
}

impl Pool {
    /// An encoder of the first of these codings that one can be had for. One that has rested for a while by `now` may lose its
    /// memory to it. `length` is that of the content, if it is known. `None`: the memory is used up.
    pub fn take(&self, codings: impl Into<Codings>, level: u8, length: Option<u64>, now: Duration) -> Option<Pooled> {
        let mut shelf = self.0.borrow_mut();
        let encoder = codings.into().iter().find_map(|coding| {
            let length = length.filter(|_| coding == Coding::Gzip);
            let whole = length.and_then(|length| shelf.make_whole(level, length));
            whole.or_else(|| shelf.take_idle(coding, level)).or_else(|| shelf.make(coding, level, now))
        })?;
        let coding = encoder.coding();
        let used = Rc::new(RefCell::new(Used { encoder: Some(encoder), has_begun: false, rests_since: None }));
        shelf.in_use.push(used.clone());
        Some(Pooled { used, coding, pool: self.clone() })
    }

    /// The memory of all encoders.
    pub fn bytes(&self) -> usize {
        self.0.borrow().bytes
    }
}

impl Shelf {
    fn take_idle(&mut self, coding: Coding, level: u8) -> Option<Encoder> {
        let at = self.idle.iter().rposition(|idle| idle.coding() == coding)?;
        let mut encoder = self.idle.swap_remove(at);
        if encoder.begin_again(level) {
            return Some(encoder);
        }
        self.freed(&encoder);
        None
    }

    /// `None`: the content is too long, or there is no memory for it.
    fn make_whole(&mut self, level: u8, length: u64) -> Option<Encoder> {
        let length = usize::try_from(length).ok().filter(|length| *length <= whole::BYTES_MAX)?;
        let bytes = length + self.compressors.lacks_bytes(level);
        if self.whole_bytes + bytes > WHOLE_BYTES_MAX {
            return None;
        }
        while self.bytes + bytes > BYTES_MAX {
            let idle = self.idle.pop()?;
            self.freed(&idle);
        }
        self.compressors.prepare(level);
        (self.bytes, self.whole_bytes) = (self.bytes + bytes, self.whole_bytes + bytes);
        Some(Encoder::Whole(Whole::new(level, length, self.compressors.clone())))
    }

    fn make(&mut self, coding: Coding, level: u8, now: Duration) -> Option<Encoder> {
        let bytes = coding.encoder_bytes();
        while coding == Coding::Brotli && self.brotli_bytes + bytes > BROTLI_BYTES_MAX {
            self.reclaim(now, Some(Coding::Brotli))?;
        }
        while self.bytes + bytes > BYTES_MAX {
            match self.idle.pop() {
                Some(idle) => self.freed(&idle),
                None => self.reclaim(now, None)?,
            }
        }
        let encoder = Encoder::new(coding, level).ok()?;
        self.bytes += bytes;
        if coding == Coding::Brotli {
            self.brotli_bytes += bytes;
        }
        Some(encoder)
    }

    /// Has the response go on without an encoder whose encoder has rested longest. `None`: none has rested for long.
    fn reclaim(&mut self, now: Duration, only: Option<Coding>) -> Option<()> {
        let rested = |used: &Rc<RefCell<Used>>| {
            let used = used.borrow();
            let encoder = used.encoder.as_ref().filter(|encoder| encoder.bytes() > 0)?;
            let since = used.rests_since.filter(|since| now.saturating_sub(*since) >= PATIENCE)?;
            only.is_none_or(|only| encoder.coding() == only).then_some(since)
        };
        let longest = self.in_use.iter().filter_map(|used| Some((rested(used)?, used))).min_by_key(|(since, _)| *since);
        let used = longest?.1.clone();
        let Used { encoder, has_begun, .. } = &mut *used.borrow_mut();
        if let Some(encoder) = encoder {
            self.freed(encoder);
            encoder.become_plain(!*has_begun);
        }
        Some(())
    }

    fn put_back(&mut self, used: &Rc<RefCell<Used>>) {
        if let Some(at) = self.in_use.iter().position(|other| Rc::ptr_eq(other, used)) {
            self.in_use.swap_remove(at);
        }
        let Some(encoder) = used.borrow_mut().encoder.take() else { return };
        match encoder.can_serve_again() {
            true => self.idle.push(encoder),
            false => self.freed(&encoder),
        }
    }

    fn freed(&mut self, encoder: &Encoder) {
        self.bytes -= encoder.bytes();
        if encoder.coding() == Coding::Brotli {
            self.brotli_bytes -= encoder.bytes();
        }
        if let Encoder::Whole(_) = encoder {
            self.whole_bytes -= encoder.bytes();
        }
    }
}

impl Pooled {
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// As [`Encoder::step`].
    ///
    /// # Errors
    /// The encoder has failed, and the response is lost.
    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        let mut used = self.used.borrow_mut();
        used.rests_since = None;
        let step = used.encoder.as_mut().ok_or(Broken)?.step(input, room, until)?;
        // Without content, brotli and zstd may not have written the head of the body.
        used.has_begun |= step.read + step.written > 0;
        Ok(step)
    }

    /// It was flushed, or it has taken nothing; and it may be long until more comes.
    pub fn rest(&mut self, now: Duration) {
        let mut used = self.used.borrow_mut();
        used.rests_since = used.encoder.as_ref().is_some_and(Encoder::can_rest).then_some(now);
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pool.0.borrow_mut().put_back(&self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accepted;

    #[test]
    fn memory_is_bounded_and_idle_encoders_make_room_for_others() {
        let pool = Pool::default();
        let gzips: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Gzip, 1, None, Duration::ZERO)).collect();
        assert_eq!(gzips.len(), BYTES_MAX / Coding::Gzip.encoder_bytes());
        assert!(pool.take(Coding::Zstd, 1, None, Duration::ZERO).is_none());
        drop(gzips);
        let zstds: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Zstd, 1, None, Duration::ZERO)).collect();
        drop(zstds);
        assert!(pool.bytes() > 0, "these serve again");
        assert!(pool.bytes() <= BYTES_MAX);
        let brotlis: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Brotli, 1, None, Duration::ZERO)).collect();
        assert_eq!(brotlis.len(), BROTLI_BYTES_MAX / Coding::Brotli.encoder_bytes());
        drop(brotlis);
        let shelf = pool.0.borrow();
        assert_eq!((shelf.brotli_bytes, shelf.in_use.len()), (0, 0));
        assert_eq!(shelf.bytes, shelf.idle.iter().map(Encoder::bytes).sum());
    }

    #[test]
    fn those_who_cannot_have_brotli_have_another_coding_that_they_take() {
        let pool = Pool::default();
        let codings = accepted([&b"br, gzip;q=0.5"[..]].into_iter());
        let all: Vec<_> = std::iter::from_fn(|| pool.take(codings, 1, None, Duration::ZERO)).collect();
        assert!(all[..6].iter().all(|encoder| encoder.coding() == Coding::Brotli));
        assert!(all.len() > 16 && all[6..].iter().all(|encoder| encoder.coding() == Coding::Gzip), "{}", all.len());
        assert!(pool.bytes() <= BYTES_MAX);
    }

    #[test]
    fn encoders_that_rest_serve_others_and_busy_ones_stay() {
        let pool = Pool::default();
        let mut all: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Brotli, 1, None, Duration::ZERO)).collect();
        let mut room = [0; 1000];
        for encoder in &mut all[1..] {
            encoder.step(b"content", &mut room, Until::Flush).unwrap();
            encoder.rest(Duration::from_secs(1));
        }
        assert!(pool.take(Coding::Brotli, 1, None, Duration::from_secs(1)).is_none(), "they have just begun to rest");
        let others: Vec<_> =
            std::iter::from_fn(|| pool.take(Coding::Brotli, 1, None, Duration::from_secs(2))).collect();
        assert_eq!(others.len(), all.len() - 1);
        assert!(pool.bytes() <= BYTES_MAX);
        drop((all, others));
        assert_eq!(pool.bytes(), 0);
    }
}
