//! The pools that a request may go to beside the one that it was written for.

use std::sync::Arc;

use weir_snapshot::{FailAction, Pool, PoolGroup};

use crate::{
    exchange::{Exchange, Phase, within::Within},
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

    pub fn stay_within(&mut self, within: Within) {
        self.aside().elsewhere.within = within;
    }

    /// The ids of pools that could not take it, with that of its pool.
    pub fn pools_left(&self) -> Vec<u32> {
        let left = self.aside.as_ref().map_or(&[][..], |aside| &aside.elsewhere.left);
        left.iter().copied().chain(self.pool().map(|pool| pool.id)).collect()
    }

    pub fn is_at_backup(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.elsewhere.at_backup)
    }

    pub(super) fn tries_before(&self) -> usize {
        self.aside.as_ref().map_or(0, |aside| aside.elsewhere.tries_before)
    }

    /// Goes to another pool than before. No byte of it has been sent.
    pub fn turn_to(&mut self, pool: Arc<Pool>, is_backup: bool) {
        let (left, tried) = (self.pools_left(), self.tried.len() - self.reselects() as usize);
        let elsewhere = &mut self.aside().elsewhere;
        (elsewhere.left, elsewhere.tries_before) = (left, tried);
        elsewhere.at_backup |= is_backup;
        self.chosen = Some(pool);
        self.named = None;
    }

    /// What its client gets, or which pool takes over, if no server does.
    pub fn fail_action(&self) -> Option<&FailAction> {
        let of_group = || self.group()?.fail_action.as_ref();
        let of_pool = || Some(&self.pool()?.fail_action);
        if self.is_at_backup() { of_pool() } else { of_group().or_else(of_pool) }
    }

    /// Path and query of a request that was sent to no server.
    pub fn target(&self) -> Option<Vec<u8>> {
        let Phase::Waiting { head, .. } = &self.phase else { return None };
        head::target_of(head, self.form)
    }
}
