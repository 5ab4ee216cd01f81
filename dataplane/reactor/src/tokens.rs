//! The connections of this worker that wait for tokens of buckets, each bucket with its own line. `limited` moves bytes.

use std::{collections::VecDeque, num::NonZeroU16, sync::Arc};

use weir_proxy::io::{Bucket, Conn, Ration, Time};

/// One of the buckets of this worker.
pub type Limiter = NonZeroU16;

#[derive(Default)]
pub struct Tokens {
    lines: Vec<Line>,
    /// When the next connection has its turn, or earlier.
    next: Option<Time>,
}

struct Line {
    ration: Ration,
    /// The first has the next turn. Some of them may have ended.
    waiting: VecDeque<Conn>,
    /// Connections that the bucket is for.
    connections: usize,
}

impl Tokens {
    /// One more connection of a bucket. `None`: there are too many buckets.
    pub fn join(&mut self, bucket: &Arc<Bucket>) -> Option<Limiter> {
        let known = self.lines.iter().position(|line| line.ration.is_of(bucket));
        let index =
            known.or_else(|| self.lines.iter().position(|line| line.connections == 0)).unwrap_or(self.lines.len());
        let limiter = u16::try_from(index + 1).ok().and_then(Limiter::new)?;
        if known.is_none() {
            let line = Line { ration: Ration::of(bucket.clone()), waiting: VecDeque::new(), connections: 0 };
            match self.lines.get_mut(index) {
                Some(unused) => *unused = line,
                None => self.lines.push(line),
            }
        }
        self.line(limiter).connections += 1;
        Some(limiter)
    }

    pub fn leave(&mut self, limiter: Limiter) {
        self.line(limiter).connections -= 1;
    }

    pub fn is_of(&self, limiter: Limiter, bucket: &Arc<Bucket>) -> bool {
        self.lines[index(limiter)].ration.is_of(bucket)
    }

    /// Whether bytes may move now, and no other connection waits for that.
    pub fn are_free(&mut self, limiter: Limiter, now: Time) -> bool {
        let line = self.line(limiter);
        line.waiting.is_empty() && line.ration.ask(now.nanos).is_ok()
    }

    /// How many bytes may move now.
    pub fn left(&mut self, limiter: Limiter, now: Time) -> u64 {
        self.line(limiter).ration.ask(now.nanos).unwrap_or(0)
    }

    pub fn spend(&mut self, limiter: Limiter, bytes: usize) {
        self.line(limiter).ration.spend(bytes as u64);
    }

    /// A connection waits for its turn.
    pub fn wait(&mut self, limiter: Limiter, conn: Conn, now: Time) {
        let line = self.line(limiter);
        line.waiting.push_back(conn);
        let at = line.turn(now);
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// How many wait in each line.
    pub fn waiting(&self) -> impl Iterator<Item = (Limiter, usize)> + use<> {
        let waiting: Vec<_> = self.lines.iter().map(|line| line.waiting.len()).collect();
        waiting.into_iter().zip(1..).filter_map(|(waiting, number)| Some((Limiter::new(number)?, waiting)))
    }

    /// Who has its turn now.
    pub fn take_turn(&mut self, limiter: Limiter, now: Time) -> Option<Conn> {
        let line = self.line(limiter);
        if line.waiting.is_empty() || line.ration.ask(now.nanos).is_err() {
            return None;
        }
        line.waiting.pop_front()
    }

    /// All who had their turn now have had it.
    pub fn look_ahead(&mut self, now: Time) {
        let lines = self.lines.iter_mut().filter(|line| !line.waiting.is_empty());
        self.next = lines.map(|line| line.turn(now)).min();
    }

    fn line(&mut self, limiter: Limiter) -> &mut Line {
        &mut self.lines[index(limiter)]
    }
}

impl Line {
    fn turn(&mut self, now: Time) -> Time {
        self.ration.ask(now.nanos).map_or_else(|nanos| Time { nanos }, |_| now)
    }
}

fn index(limiter: Limiter) -> usize {
    usize::from(limiter.get()) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Time = Time { nanos: 1_000_000_000 };

    fn conn(slot: u32) -> Conn {
        Conn { slot, generation: 1 }
    }

    #[test]
    fn connections_have_their_turns_in_the_order_in_which_they_came() {
        let (mut tokens, bucket) = (Tokens::default(), Arc::new(Bucket::new(8)));
        let limiter = tokens.join(&bucket).unwrap();
        assert!(tokens.are_free(limiter, S) && tokens.next().is_none());
        tokens.spend(limiter, 200_000);
        (0..3).for_each(|slot| tokens.wait(limiter, conn(slot), S));
        assert_eq!(tokens.take_turn(limiter, S), Some(conn(0)), "the burst");
        tokens.spend(limiter, 10_000);
        assert_eq!(tokens.take_turn(limiter, S), None);
        tokens.look_ahead(S);
        let next = tokens.next().unwrap();
        assert!(next > S && tokens.take_turn(limiter, Time { nanos: next.nanos - 1 }).is_none());
        assert!(!tokens.are_free(limiter, next), "others wait");
        assert_eq!(tokens.take_turn(limiter, next), Some(conn(1)));
        assert_eq!(tokens.waiting().collect::<Vec<_>>(), [(limiter, 1)]);
        assert_eq!(tokens.take_turn(limiter, next), Some(conn(2)));
        tokens.look_ahead(next);
        assert_eq!(tokens.next(), None);
    }

    #[test]
    fn line_without_connections_is_used_again() {
        let mut tokens = Tokens::default();
        let buckets: Vec<_> = (0..3).map(|_| Arc::new(Bucket::new(1))).collect();
        let first = tokens.join(&buckets[0]).unwrap();
        assert_eq!(tokens.join(&buckets[0]), Some(first));
        let second = tokens.join(&buckets[1]).unwrap();
        assert!(first != second && tokens.is_of(second, &buckets[1]));
        (0..2).for_each(|_| tokens.leave(first));
        assert_eq!(tokens.join(&buckets[2]), Some(first));
        assert!(tokens.is_of(first, &buckets[2]));
    }
}
