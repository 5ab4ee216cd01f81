//! The pools that a request may go to beside the one that it was written for.

use std::sync::Arc;

use weir_snapshot::{FailAction, Pool, PoolGroup};

use crate::{
    exchange::{Exchange, Phase, bond::Bond, within::Within},
    head,
};

impl Exchange {
    /// The group that its pool is chosen in.
    pub fn group(&self) -> Option<&Arc<PoolGroup>> {
        match self.aside.as_ref().map(|aside| &aside.elsewhere.within) {
            None | Some(Within::Service) => self.service.group.as_ref(),
            Some(Within::Pool) => None,
            Some(Within::Group(group)) => Some(group),
        }
    }

    /// Whether a rule has chosen a group for it. The group may have no pools.
    #[inline]
    pub fn is_for_group(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| matches!(aside.elsewhere.within, Within::Group(_)))
    }

    pub fn stay_within(&mut self, within: Within) {
        self.aside().elsewhere.within = within;
    }

    /// The ids of pools that could not take it, with that of its pool.
    pub fn pools_left(&self) -> Vec<u32> {
        self.left().iter().copied().chain(self.pool().map(|pool| pool.id)).collect()
    }

    /// The ids of other pools that could not take it.
    pub fn left(&self) -> &[u32] {
        self.aside.as_ref().map_or(&[], |aside| &aside.elsewhere.left)
    }

    /// It may go to pools again that it has left, except those.
    pub fn return_except(&mut self, left: Vec<u32>) {
        self.aside().elsewhere.left = left;
    }

    /// Whether its pool is the backup of a group without pools.
    pub fn begin_at_backup(&mut self, is_backup: bool) {
        self.aside().elsewhere.at_backup = is_backup;
    }

    pub fn is_at_backup(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.elsewhere.at_backup)
    }

    pub(super) fn tries_before(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.elsewhere.tries_before)
    }

    /// How many servers of a pool were tried in vain.
    pub fn tries_in(&self, pool: &Pool) -> usize {
        let is_there = |tried: &&u32| pool.servers.iter().any(|server| server.id == **tried);
        self.tried.iter().filter(is_there).count()
    }

    /// Goes to another pool than before. No byte of it has been sent.
    pub fn turn_to(&mut self, pool: Arc<Pool>, is_backup: bool) {
        let mut left = self.pools_left();
        left.retain(|left| *left != pool.id);
        let tries = self.tried.len() - self.reselects() as usize;
        // It may have been there before.
        let tries_before = tries.saturating_sub(self.tries_in(&pool));
        let elsewhere = &mut self.aside().elsewhere;
        (elsewhere.left, elsewhere.tries_before) = (left, tries_before);
        elsewhere.at_backup |= is_backup;
        self.chosen = Some(pool);
        self.prefer_key_of_scripts();
        if self.named.take().is_some() && self.bond.get() == Bond::Kept {
            self.bond.set(Bond::ServerBusy);
        }
    }

    /// What its client gets, or which pool takes over, if no server does.
    pub fn fail_action(&self) -> Option<&FailAction> {
        let of_group = || self.group()?.fail_action.as_ref();
        let of_pool = || Some(&self.pool()?.fail_action);
        if self.is_at_backup() { of_pool() } else { of_group().or_else(of_pool) }
    }

    /// Keeps path and query that the client asked for. The server is asked for others.
    pub fn keep_target(&mut self, asked: &[u8]) {
        self.aside().asked_target = Some(asked.into());
    }

    /// Keeps the host that the client asked for. Servers are asked for another.
    #[cold]
    pub fn keep_host(&mut self, asked: &[u8]) {
        self.aside().asked_host = asked.into();
    }

    /// The host that its client asked for, if servers are asked for another; or nothing.
    pub fn asked_host(&self) -> &[u8] {
        self.aside.as_ref().map_or(b"", |aside| &aside.asked_host)
    }

    /// Path and query that its client asked for, while it was sent to no server.
    pub fn target(&self) -> Option<Vec<u8>> {
        if let Some(asked) = self.aside.as_ref().and_then(|aside| aside.asked_target.as_ref()) {
            return Some(asked.to_vec());
        }
        let Phase::Waiting { head, .. } = &self.phase else { return None };
        head::target_of(head, self.form)
    }
}
