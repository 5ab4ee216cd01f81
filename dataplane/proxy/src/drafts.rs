//! A snapshot that stays a draft: a worker answers a question by it, and goes on with what it had. What is alike in both, a
//! worker keeps: also whose turn it is among servers.

use std::sync::Arc;

use weir_snapshot::{Difference, Pool, PoolGroup, Snapshot};

use crate::{
    core::Core,
    groups::{GroupRow, Groups},
    pool::{Pools, Row},
};

/// A worker with a draft. What was comes back with its end, also if that is a panic.
pub(crate) struct Drafted<'c> {
    core: &'c mut Core,
    was: Arc<Snapshot>,
    pools: Kept<Row>,
    groups: Kept<GroupRow>,
}

/// The rows that a draft replaces, by their places.
type Kept<R> = Vec<(usize, Option<R>)>;

impl<'c> Drafted<'c> {
    pub fn of(core: &'c mut Core, draft: Arc<Snapshot>) -> Self {
        let pools = core.pools.draft(draft.difference());
        let groups = core.pools.groups.draft(draft.difference());
        let was = std::mem::replace(&mut core.snapshot, draft);
        Self { core, was, pools, groups }
    }

    pub fn core(&mut self) -> &mut Core {
        self.core
    }
}

impl Drop for Drafted<'_> {
    fn drop(&mut self) {
        std::mem::swap(&mut self.core.snapshot, &mut self.was);
        give_back(&mut self.core.pools.rows, &mut self.pools);
        give_back(&mut self.core.pools.groups.rows, &mut self.groups);
    }
}

fn give_back<R>(rows: &mut [Option<R>], kept: &mut Kept<R>) {
    for (place, row) in kept.drain(..) {
        rows[place] = row;
    }
}

/// Puts a row at a place, and returns what was there.
fn put<R>(rows: &mut Vec<Option<R>>, place: usize, row: R) -> (usize, Option<R>) {
    if rows.len() <= place {
        rows.resize_with(place + 1, || None);
    }
    (place, rows[place].replace(row))
}

impl Pools {
    fn draft(&mut self, difference: &Difference) -> Kept<Row> {
        let draft = |pool: &Arc<Pool>| {
            let row = self.drafted(pool);
            put(&mut self.rows, pool.id as usize, row)
        };
        difference.pools.iter().map(draft).collect()
    }

    /// A pool with what is known of those of its servers that it has already.
    fn drafted(&self, pool: &Arc<Pool>) -> Row {
        let before = self.rows.get(pool.id as usize).and_then(Option::as_ref).filter(|row| row.pool.uuid == pool.uuid);
        let mut row = Row::new(pool, 0);
        for server in &pool.servers {
            let known = before.map(|row| &row.balancer).filter(|known| known.position(server.id).is_some());
            row.balancer.set_up(server.id, known.is_none_or(|known| known.is_up(server.id)));
            (0..known.map_or(0, |known| known.connections(server.id))).for_each(|_| row.balancer.opened(server.id));
        }
        row
    }
}

impl Groups {
    fn draft(&mut self, difference: &Difference) -> Kept<GroupRow> {
        let draft = |group: &Arc<PoolGroup>| put(&mut self.rows, group.id as usize, GroupRow::of(group));
        difference.groups.iter().map(draft).collect()
    }
}
