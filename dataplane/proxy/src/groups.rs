//! The groups of pools of a worker, and whose turn it is in each.

use std::sync::Arc;

use weir_balance::Group;
use weir_snapshot::{Difference, Pool, PoolGroup, Snapshot};

/// Indexed by the ids of the snapshot.
#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) rows: Vec<Option<GroupRow>>,
    /// The primary pools of some wait for their activation once they were down.
    is_watched: bool,
}

pub(crate) struct GroupRow {
    pub group: Arc<PoolGroup>,
    pub turns: Group,
}

impl GroupRow {
    pub fn of(group: &Arc<PoolGroup>) -> Self {
        Self { group: group.clone(), turns: Group::new(group.balance.clone()) }
    }

    /// Whether a pool waits for its activation.
    pub fn is_deactivated(&self, pool: &Pool) -> bool {
        self.group.pools[self.turns.deactivated()].iter().any(|deactivated| deactivated.id == pool.id)
    }
}

impl Groups {
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut groups = Self::default();
        snapshot.pool_groups().for_each(|group| groups.bring(group));
        groups.watch();
        groups
    }

    /// Applies a new snapshot.
    pub fn follow(&mut self, difference: &Difference) {
        for gone in &difference.groups_gone {
            if let Some(row) = self.rows.get_mut(gone.id as usize) {
                *row = None;
            }
        }
        difference.groups.iter().for_each(|group| self.bring(group));
        if !difference.groups.is_empty() || !difference.groups_gone.is_empty() {
            self.watch();
        }
    }

    fn watch(&mut self) {
        self.is_watched = self.rows.iter().flatten().any(|row| row.group.balance.activation.is_some());
    }

    /// Those for which it matters that servers come up or go down.
    pub fn watched(&mut self) -> impl Iterator<Item = &mut GroupRow> {
        let rows = if self.is_watched { &mut self.rows[..] } else { &mut [] };
        rows.iter_mut().flatten().filter(|row| row.group.balance.activation.is_some())
    }

    pub fn peek(&self, of: &PoolGroup) -> Option<&GroupRow> {
        self.rows.get(of.id as usize)?.as_ref().filter(|row| row.group.uuid == of.uuid)
    }

    fn bring(&mut self, group: &Arc<PoolGroup>) {
        let id = group.id as usize;
        if self.rows.len() <= id {
            self.rows.resize_with(id + 1, || None);
        }
        let turns = match self.rows[id].take() {
            Some(mut row) if row.group.uuid == group.uuid => {
                row.turns.reconcile(group.balance.clone());
                row.turns
            }
            _ => Group::new(group.balance.clone()),
        };
        self.rows[id] = Some(GroupRow { group: group.clone(), turns });
    }

    pub fn row(&mut self, of: &PoolGroup) -> Option<&mut GroupRow> {
        self.rows.get_mut(of.id as usize)?.as_mut().filter(|row| row.group.uuid == of.uuid)
    }
}

/// Why a pool of a group would get a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PickedMember {
    ByRatio,
    ByAddress,
    /// A cookie names a server of it.
    ByPersistence,
    /// No server of the group takes requests.
    AsBackup,
}
