//! What servers say to health monitors about the tasks that they have.

use crate::{Proxy, io::Io};

impl Proxy {
    /// A server of a pool has said how many tasks it has; `None`: nobody knows. Ignores unknown names.
    pub fn set_tasks<I: Io>(&mut self, io: &I, pool_uuid: &str, server_name: &str, tasks: Option<u32>) {
        let Some(pool) = self.core.snapshot.pool(pool_uuid) else { return };
        let Some(row) = self.core.pools.rows.get_mut(pool.id as usize).and_then(Option::as_mut) else { return };
        if let Some(position) = row.pool.position(server_name) {
            row.balancer.set_tasks(row.pool.servers[position].id, tasks, io.now().nanos);
        }
    }
}
