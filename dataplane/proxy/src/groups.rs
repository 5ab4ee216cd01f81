//! The groups of pools of a worker, and whose turn it is in each.

use std::sync::Arc;

use weir_balance::Group;
use weir_snapshot::{Difference, PoolGroup, Snapshot};

/// Indexed by the ids of the snapshot.
#[derive(Default)]
pub(crate) struct Groups(Vec<Option<GroupRow>>);

pub(crate) struct GroupRow {
    pub group: Arc<PoolGroup>,
    pub turns: Group,
}

impl Groups {
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut groups = Self::default();
        snapshot.pool_groups().for_each(|group| groups.bring(group));
        groups
    }

    /// Applies a new snapshot.
    pub fn follow(&mut self, difference: &Difference) {
        for gone in &difference.groups_gone {
            if let Some(row) = self.0.get_mut(gone.id as usize) {
                *row = None;
            }
        }
        difference.groups.iter().for_each(|group| self.bring(group));
    }

    fn bring(&mut self, group: &Arc<PoolGroup>) {
        let id = group.id as usize;
        if self.0.len() <= id {
            self.0.resize_with(id + 1, || None);
        }
        let turns = match self.0[id].take() {
            Some(mut row) if row.group.uuid == group.uuid => {
                row.turns.reconcile(group.balance.clone());
                row.turns
            }
            _ => Group::new(group.balance.clone()),
        };
        self.0[id] = Some(GroupRow { group: group.clone(), turns });
    }

    pub fn row(&mut self, of: &PoolGroup) -> Option<&mut GroupRow> {
        self.0.get_mut(of.id as usize)?.as_mut().filter(|row| row.group.uuid == of.uuid)
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
