//! Turns that the workers of an engine take together: each request draws the next ticket of the engine, and the ticket says
//! whose turn it is. Workers with the same servers have the same round.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Turns of a round, unless there are more servers than that.
const ROUND_MAX: u64 = 1 << 16;

/// Numbers that workers take from one counter. Two are equal if they have the same counter.
#[derive(Clone, Default, Debug)]
pub struct Tickets(Arc<AtomicU64>);

impl Tickets {
    pub fn beginning_at(first: u64) -> Self {
        Self(Arc::new(AtomicU64::new(first)))
    }

    /// Whether nobody else has the counter.
    pub fn are_last(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn next(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Tickets {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tickets {}

#[derive(Default, Debug)]
pub(crate) struct Turns {
    tickets: Tickets,
    /// Positions in the pool.
    round: Vec<u32>,
}

impl Turns {
    pub fn of(tickets: &Tickets) -> Self {
        Self { tickets: tickets.clone(), round: Vec::new() }
    }

    /// Makes the round of servers with these positions and weights, a heavy server's turns spread over it.
    pub fn renew(&mut self, servers: impl Iterator<Item = (usize, u64)>) {
        let mut servers: Vec<(u32, u64)> = servers.map(|(position, weight)| (position as u32, weight.max(1))).collect();
        let divisor = servers.iter().fold(0, |divisor, (_, weight)| greatest_divisor(divisor, *weight)).max(1);
        servers.iter_mut().for_each(|(_, weight)| *weight /= divisor);
        let turns: u64 = servers.iter().map(|(_, weight)| weight).sum();
        if turns > ROUND_MAX {
            servers.iter_mut().for_each(|(_, weight)| *weight = (*weight * ROUND_MAX / turns).max(1));
        }
        let turn = |weight: u64, number: u64| ((2 * number + 1) << 40) / weight;
        let mut round: Vec<_> = servers
            .iter()
            .flat_map(|(position, weight)| (0..*weight).map(move |number| (turn(*weight, number), *position)))
            .collect();
        round.sort_unstable();
        self.round.clear();
        self.round.extend(round.into_iter().map(|(_, position)| position));
    }

    /// The position whose turn it is, of those that `may` have it.
    pub fn take(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(self.tickets.take(), may)
    }

    /// The same, while the turn stays free.
    pub fn next(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(self.tickets.next(), may)
    }

    fn find(&self, ticket: u64, may: impl Fn(usize) -> bool) -> Option<usize> {
        let begin = ticket.checked_rem(self.round.len() as u64)? as usize;
        let turns = self.round[begin..].iter().chain(&self.round[..begin]);
        turns.map(|position| *position as usize).find(|position| may(*position))
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if a == 0 { b } else { greatest_divisor(b % a, a) }
}
