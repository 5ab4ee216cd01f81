//! The unix socket: accepts agents and reads their frames into the control thread's inbox, on one thread per agent. One
//! frame of an agent is handled before the next is read.

use std::{
    fs, io,
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use weir_api::dataplane::v1::{ToDataplane, to_dataplane};
use weir_reactor::unix;

use crate::{
    Error, Inbox, frame,
    inbox::{Message, Received},
    log, vital,
};

/// An agent that takes nothing for this long has lost the link.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// An agent must send its greeting within this time.
const GREETING_MAX: Duration = Duration::from_secs(2);
/// The maximum of connections without a greeting. One more is closed.
const NEWCOMERS_MAX: usize = 16;
const ROOT: u32 = 0;

pub struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Serves at `path`, for this user only. Replaces the socket of a dead process, but not of a live one.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        let failed = |why| Error::Bind { path: path.to_owned(), why };
        if path.exists() {
            if UnixStream::connect(path).is_ok() {
                return Err(Error::InUse { path: path.to_owned() });
            }
            fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Accepts agents from now on, on threads of its own.
    pub(crate) fn start(self, inbox: Inbox) -> io::Result<SocketName> {
        let path = self.path;
        vital::spawn("control-accept", move || accept(&self.listener, &inbox))?;
        Ok(SocketName { path })
    }
}

/// The path of the socket; removed on drop.
pub struct SocketName {
    path: PathBuf,
}

impl Drop for SocketName {
    fn drop(&mut self) {
        // The next process replaces a socket that remains.
        let _ = fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, inbox: &Inbox) {
    let newcomers = Arc::new(AtomicUsize::new(0));
    for agent in 1.. {
        let begun = listener.accept().and_then(|(stream, _)| {
            stream.set_write_timeout(Some(WRITE_MAX))?;
            let (inbox, newcomer) = (inbox.clone(), Newcomer::of(&newcomers));
            if newcomers.load(Ordering::Relaxed) > NEWCOMERS_MAX {
                log::warn(format!(
                    "{NEWCOMERS_MAX} connections to the control socket have sent no greeting yet; closed another one"
                ));
                return Ok(());
            }
            vital::spawn("control-read", move || receive(agent, stream, newcomer, &inbox)).map(drop)
        });
        if let Err(why) = begun {
            log::error(format!("cannot accept an agent: {why}"));
            // Without a pause, a process without free descriptors would spin here.
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A connection that has not sent a greeting yet. Counts them all.
struct Newcomer(Arc<AtomicUsize>);

impl Newcomer {
    fn of(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all.clone())
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Any process may connect, so the current agent stays until another peer has sent a greeting.
fn receive(agent: u64, stream: UnixStream, newcomer: Newcomer, inbox: &Inbox) {
    let greeted = greeted(&stream);
    drop(newcomer);
    if let Err(why) = greeted {
        return log::warn(format!("closed a connection to the control socket that is not an agent's: {why}"));
    }
    let stream = Arc::new(stream);
    // The control thread must learn of the agent before it gets a frame.
    if inbox.tell(Message::AgentCame { agent, stream: stream.clone() }) {
        read(agent, &stream, inbox);
    }
}

fn greeted(stream: &UnixStream) -> Result<(), Error> {
    let uid = unix::peer_uid(stream)?;
    if uid != unix::own_uid() && uid != ROOT {
        return Err(Error::Foreign { uid });
    }
    match frame::read_first(stream, Instant::now() + GREETING_MAX)? {
        ToDataplane { frame: Some(to_dataplane::Frame::Greeting(_)) } => Ok(()),
        _ => Err(Error::NoGreeting),
    }
}

fn read(agent: u64, stream: &UnixStream, inbox: &Inbox) {
    let why = loop {
        let (busy, done) = mpsc::channel();
        let received = match frame::read::<ToDataplane>(stream) {
            Ok((ToDataplane { frame: Some(frame) }, fds)) => Received { agent, frame, fds, _busy: busy },
            // A newer agent has sent a kind of frame that this version does not know.
            Ok((ToDataplane { frame: None }, _)) => continue,
            Err(why) => break why,
        };
        if !inbox.tell(Message::Frame(Box::new(received))) {
            return;
        }
        // Returns when the control thread has dropped its end.
        let _ = done.recv();
    };
    // If the control thread has ended, nobody needs this.
    inbox.tell(Message::AgentGone { agent, why });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_socket_of_a_dead_process_but_not_a_live_one() {
        let dir = std::env::temp_dir().join(format!("weir-control-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let server = Server::bind(&path).unwrap();
        assert!(matches!(Server::bind(&path), Err(Error::InUse { .. })));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(server);
        fs::remove_dir_all(&dir).unwrap();
    }
}
