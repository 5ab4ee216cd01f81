//! Where the pools of a request come from, and which of them it has left.

use std::sync::Arc;

use weir_snapshot::PoolGroup;

/// What has the pools of a request.
#[derive(Default)]
pub(crate) enum Within {
    #[default]
    Service,
    /// A rule has chosen one pool.
    Pool,
    /// A rule has chosen a group.
    Group(Arc<PoolGroup>),
}

#[derive(Default)]
pub(super) struct Elsewhere {
    pub within: Within,
    /// The ids of other pools that could not take the request. None is there twice.
    pub left: Vec<u32>,
    /// The request is at the backup of a pool or group.
    pub at_backup: bool,
    /// How many servers of pools that it has left were tried in vain.
    pub tries_before: usize,
}
