//! The server behind the proxies that are measured, and the one that the load is tested with. It answers from memory, at
//! the least cost: what a proxy can do must not depend on what stands behind it.
//!
//! It is no server for anything else: it takes all that it is sent, and has no limits but those of the protocols.

mod http1;
mod http2;
pub mod site;
mod websocket;

use std::{
    io,
    net::{SocketAddr, TcpListener, UdpSocket},
    rc::Rc,
    thread,
};

use weir_proxy::io::{Close, Conn, Event, Io, TransportAddress};
use weir_reactor::{Driver, Limits, Reactor, SocketOptions};
use weir_wire::{head::FieldTable, http2::PREFACE};

use self::{
    http1::Http1,
    http2::Http2,
    site::{Goes, Site},
    websocket::WebSocket,
};
use crate::Failure;

/// Serves these addresses over TCP, and those over UDP, until the process ends.
pub fn serve(listen: &[SocketAddr], datagrams: &[SocketAddr], object_bytes: usize) -> Result<(), Failure> {
    let bound = |address: &SocketAddr, why: io::Error| format!("{address} cannot be bound: {why}");
    for address in datagrams {
        let socket = UdpSocket::bind(address).map_err(|why| bound(address, why))?;
        thread::spawn(move || echo(&socket));
    }
    let mut listeners = Vec::new();
    for address in listen {
        listeners.push(TcpListener::bind(address).map_err(|why| bound(address, why))?);
    }
    Ok(Origin::new(listeners, object_bytes)?.run()?)
}

/// Sends each datagram back.
pub fn echo(socket: &UdpSocket) {
    let mut bytes = vec![0; 65_536];
    loop {
        // A refusal is about an earlier answer, and a client that is gone needs none.
        if let Ok((len, from)) = socket.recv_from(&mut bytes) {
            let _ = socket.send_to(&bytes[..len], from);
        }
    }
}

/// Over TCP.
pub struct Origin {
    io: Reactor,
    sites: Vec<(TransportAddress, Rc<Site>)>,
    /// By the slot of their connection.
    clients: Vec<Option<Client>>,
    /// Slots with something to send.
    dirty: Vec<u32>,
    table: FieldTable,
}

struct Client {
    conn: Conn,
    answers: Answers,
}

/// What is answered on one connection.
pub struct Answers {
    site: Rc<Site>,
    speaker: Speaker,
    pub out: Vec<u8>,
}

enum Speaker {
    /// The first bytes tell.
    Unknown(Vec<u8>),
    Http1(Http1),
    Http2(Box<Http2>),
    WebSocket(WebSocket),
}

impl Origin {
    pub fn new(listeners: Vec<TcpListener>, object_bytes: usize) -> io::Result<Self> {
        let mut io = Reactor::new(Limits::default())?;
        let mut sites = Vec::new();
        for listener in listeners {
            let name = listener.local_addr()?.to_string();
            listener.set_nonblocking(true)?;
            let options = SocketOptions { nodelay: true, ..SocketOptions::default() };
            sites.push((io.listen(listener.into(), options)?, Rc::new(Site::new(name, object_bytes))));
        }
        Ok(Self { io, sites, clients: Vec::new(), dirty: Vec::new(), table: FieldTable::new() })
    }

    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.io.poll(None, &mut events)?;
            events.drain(..).for_each(|event| self.take(event));
            self.flush();
            self.io.flush();
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Accepted { conn, listener, .. } => self.accepted(conn, listener),
            Event::Data { conn, buf } => self.received(conn, &buf),
            Event::Eof { conn } => self.end(conn),
            Event::Gone { conn, .. } => {
                if let Some(client) = self.clients.get_mut(conn.slot as usize) {
                    client.take_if(|client| client.conn == conn);
                }
            }
            _ => {}
        }
    }

    fn accepted(&mut self, conn: Conn, listener: TransportAddress) {
        let Some((_, site)) = self.sites.iter().find(|(address, _)| *address == listener) else { return };
        let slot = conn.slot as usize;
        if self.clients.len() <= slot {
            self.clients.resize_with(slot + 1, || None);
        }
        self.clients[slot] = Some(Client { conn, answers: Answers::new(site.clone()) });
    }

    fn received(&mut self, conn: Conn, bytes: &[u8]) {
        let Some(Some(client)) = self.clients.get_mut(conn.slot as usize) else { return };
        if client.conn != conn {
            return;
        }
        let goes = client.answers.feed(bytes, &mut self.table);
        if !client.answers.out.is_empty() {
            self.dirty.push(conn.slot);
        }
        if goes == Goes::Over {
            self.flush();
            self.end(conn);
        }
    }

    fn flush(&mut self) {
        for slot in self.dirty.drain(..) {
            if let Some(client) = &mut self.clients[slot as usize] {
                crate::link::send_raw(&mut self.io, client.conn, &client.answers.out);
                client.answers.out.clear();
            }
        }
    }

    fn end(&mut self, conn: Conn) {
        if let Some(client) = self.clients.get_mut(conn.slot as usize)
            && client.take_if(|client| client.conn == conn).is_some()
        {
            self.io.close(conn, Close::Flush);
        }
    }
}

impl Answers {
    pub fn new(site: Rc<Site>) -> Self {
        Self { site, speaker: Speaker::Unknown(Vec::new()), out: Vec::new() }
    }

    /// Takes what a client says; the answers are in `out` then.
    pub fn feed(&mut self, bytes: &[u8], table: &mut FieldTable) -> Goes {
        let Self { site, speaker, out, .. } = self;
        match speaker {
            Speaker::Unknown(begun) => {
                begun.extend_from_slice(bytes);
                let begun = std::mem::take(begun);
                let same = begun.len().min(PREFACE.len());
                if begun[..same] != PREFACE[..same] {
                    *speaker = Speaker::Http1(Http1::default());
                } else if same == PREFACE.len() {
                    *speaker = Speaker::Http2(Box::new(Http2::new()));
                } else {
                    *speaker = Speaker::Unknown(begun);
                    return Goes::On;
                }
                self.feed(&begun, table)
            }
            Speaker::Http1(http1) => match http1.feed(bytes, site, table, out) {
                Goes::Upgraded(rest) => {
                    *speaker = Speaker::WebSocket(WebSocket::default());
                    self.feed(&rest, table)
                }
                goes => goes,
            },
            Speaker::Http2(http2) => http2.feed(bytes, site, table, out),
            Speaker::WebSocket(socket) => socket.feed(bytes, out),
        }
    }
}
