//! What a ClientHello says (RFC 8446 §4.1.2). With Encrypted Client Hello it is the outer one, and its name that of the
//! client-facing server.

use super::NoClientHello;

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const SUPPORTED_VERSIONS: u16 = 43;
const HOST_NAME: u8 = 0;
/// The longest name of a host (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 253;

#[derive(Clone, Copy, Debug)]
pub struct ClientHello<'m> {
    server_name: Option<&'m str>,
    protocols: &'m [u8],
    versions: &'m [u8],
    cipher_suites: &'m [u8],
    legacy_version: u16,
}

impl<'m> ClientHello<'m> {
    /// `message` is the message without its header.
    pub(super) fn read(message: &'m [u8]) -> Result<Self, NoClientHello> {
        let mut rest = Bytes(message);
        let legacy_version = rest.u16()?;
        rest.bytes(32)?;
        rest.vector8()?;
        let cipher_suites = rest.vector16()?;
        rest.vector8()?;
        let mut hello = Self { server_name: None, protocols: &[], versions: &[], cipher_suites, legacy_version };
        if rest.0.is_empty() {
            return Ok(hello); // TLS 1.2 knows hellos without extensions.
        }
        let mut extensions = Bytes(rest.vector16()?);
        rest.end()?;
        let mut seen = [false; 3];
        while !extensions.0.is_empty() {
            let (kind, content) = (extensions.u16()?, Bytes(extensions.vector16()?));
            let slot = match kind {
                SERVER_NAME => 0,
                ALPN => 1,
                SUPPORTED_VERSIONS => 2,
                _ => continue,
            };
            // No extension comes twice (RFC 8446 §4.2). Two readers could take different ones.
            if std::mem::replace(&mut seen[slot], true) {
                return Err(NoClientHello::Malformed);
            }
            match kind {
                SERVER_NAME => hello.server_name = server_name(content)?,
                ALPN => hello.protocols = protocols(content)?,
                _ => hello.versions = versions(content)?,
            }
        }
        Ok(hello)
    }

    /// The host that the client asks for, as it wrote it. `None`: it names none, or what it sends is no name of a host.
    pub fn server_name(&self) -> Option<&'m str> {
        self.server_name
    }

    /// The cipher suites that it offers, in order of preference, as two bytes each.
    pub fn cipher_suites(&self) -> &'m [u8] {
        self.cipher_suites
    }

    /// The application protocols that it offers, in order of preference.
    pub fn protocols(&self) -> impl Iterator<Item = &'m [u8]> {
        let mut rest = Bytes(self.protocols);
        std::iter::from_fn(move || rest.vector8().ok())
    }

    /// The versions of TLS that it offers, as their numbers on the wire: 0x0304 is TLS 1.3.
    pub fn versions(&self) -> impl Iterator<Item = u16> {
        let legacy = self.versions.is_empty().then_some(self.legacy_version);
        legacy.into_iter().chain(self.versions.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])))
    }
}

/// RFC 6066 §3: a list with at most one name of each kind, and hosts are the only kind.
fn server_name(mut content: Bytes<'_>) -> Result<Option<&str>, NoClientHello> {
    let mut names = Bytes(content.vector16()?);
    content.end()?;
    let mut found = None;
    while !names.0.is_empty() {
        let (kind, name) = (names.bytes(1)?[0], names.vector16()?);
        if kind == HOST_NAME && found.replace(name).is_some() {
            return Err(NoClientHello::Malformed);
        }
    }
    Ok(found.filter(|name| is_host(name)).and_then(|name| std::str::from_utf8(name).ok()))
}

fn is_host(name: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn protocols(mut content: Bytes<'_>) -> Result<&[u8], NoClientHello> {
    let list = content.vector16()?;
    content.end()?;
    let mut rest = Bytes(list);
    while !rest.0.is_empty() {
        if rest.vector8()?.is_empty() {
            return Err(NoClientHello::Malformed);
        }
    }
    Ok(list)
}

fn versions(mut content: Bytes<'_>) -> Result<&[u8], NoClientHello> {
    let list = content.vector8()?;
    content.end()?;
    if list.is_empty() || list.len() % 2 != 0 { Err(NoClientHello::Malformed) } else { Ok(list) }
}

/// What is left to read.
struct Bytes<'m>(&'m [u8]);

impl<'m> Bytes<'m> {
    fn bytes(&mut self, len: usize) -> Result<&'m [u8], NoClientHello> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(NoClientHello::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, NoClientHello> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn vector8(&mut self) -> Result<&'m [u8], NoClientHello> {
        let len = self.bytes(1)?[0];
        self.bytes(len.into())
    }

    fn vector16(&mut self) -> Result<&'m [u8], NoClientHello> {
        let len = self.u16()?;
        self.bytes(len.into())
    }

    fn end(&self) -> Result<(), NoClientHello> {
        if self.0.is_empty() { Ok(()) } else { Err(NoClientHello::Malformed) }
    }
}
