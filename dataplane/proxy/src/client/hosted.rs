//! Which virtual service a request is for, where several share a listener.

use std::sync::Arc;

use weir_snapshot::{HostName, Hosting, Role, Snapshot, VirtualService};
use weir_wire::head::RequestHead;

use crate::{client::Client, error::Error};

impl Client {
    /// Finds the child that a request is for. `None`: it is for the client's own virtual service.
    #[cold]
    pub(super) fn choose(
        &self,
        snapshot: &Snapshot,
        head: &RequestHead<'_>,
        http2: bool,
    ) -> Result<Option<Arc<VirtualService>>, Error> {
        let host = head.host.and_then(HostName::of);
        let other = || host.filter(|_| http2).and_then(|host| self.sibling(snapshot, &host));
        match self.service.role {
            Role::Parent(Hosting::ByRequest) => {
                Ok(host.and_then(|host| snapshot.child_by_request(&self.service, &host, head.path)).cloned())
            }
            Role::ByServerName { any_host: false }
                if host.is_none() || host != self.connection.channel.server_name() =>
            {
                Err(other().map_or(Error::OtherHost, |_| Error::Misdirected))
            }
            // Its certificate may have made a client believe that it serves this host.
            Role::Parent(Hosting::ByServerName) if self.facts.is_tls() => {
                other().map_or(Ok(None), |_| Err(Error::Misdirected))
            }
            Role::Single | Role::Parent(_) | Role::ByServerName { .. } | Role::ByRequest => Ok(None),
        }
    }

    /// The child that serves another host of this client's listener. A client of HTTP/2 may use one connection for several
    /// hosts; the answer 421 has it open another one (RFC 9113 §9.1.2).
    fn sibling<'s>(&self, snapshot: &'s Snapshot, host: &HostName) -> Option<&'s Arc<VirtualService>> {
        snapshot.child_by_name(&snapshot.listener(self.listener())?.service, host)
    }

    /// Serves one request by a child. The next one is given to a child anew.
    pub(super) fn serve_once(&mut self, child: Arc<VirtualService>, epoch: u32) {
        self.service = child;
        self.epoch = epoch.wrapping_sub(1);
    }
}

/// Why a virtual service without a pool cannot answer.
#[cold]
pub(crate) fn lacks_pool(service: &VirtualService) -> Error {
    match service.role {
        Role::Parent(_) => Error::UnknownHost,
        Role::Single | Role::ByServerName { .. } | Role::ByRequest => Error::NoPool,
    }
}
