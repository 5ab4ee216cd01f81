//! Cookies that say when they were made. A server's digest and the time are one block of AES-256, and the name in the cookie
//! is that block encrypted. So it needs no random number, and 96 bits of the digest show that no client has made it
//! (encode-then-encipher; Bellare and Rogaway, "Encode-Then-Encipher Encryption", 2000).

use aws_lc_rs::{
    cipher::{AES_256, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey},
    digest::{SHA256, digest},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use foldhash::{HashMap, HashMapExt};

const BLOCK_BYTES: usize = 16;
const DIGEST_BYTES: usize = 12;
/// In base64, without padding.
const TEXT_BYTES: usize = 22;
/// What the decoder asks room for.
const ROOM_BYTES: usize = 18;

type Digest = [u8; DIGEST_BYTES];

/// The keys of a pool, and its servers.
#[derive(Debug)]
pub(crate) struct Seal {
    seals: EncryptingKey,
    opens: Vec<DecryptingKey>,
    servers: HashMap<Digest, u32>,
}

impl Seal {
    /// The first key seals, and all open. `None`: there is none, or one is not of 32 bytes.
    pub fn of(keys: &[Vec<u8>]) -> Option<Self> {
        let seals = EncryptingKey::ecb(UnboundCipherKey::new(&AES_256, keys.first()?).ok()?).ok()?;
        let opens = keys.iter().map(|key| DecryptingKey::ecb(UnboundCipherKey::new(&AES_256, key).ok()?).ok());
        Some(Self { seals, opens: opens.collect::<Option<_>>()?, servers: HashMap::new() })
    }

    /// A token names this server.
    pub fn learn(&mut self, token: &str, server: u32) -> Digest {
        let mut own = Digest::default();
        own.copy_from_slice(&digest(&SHA256, token.as_bytes()).as_ref()[..DIGEST_BYTES]);
        self.servers.insert(own, server);
        own
    }

    /// Writes the name that a server has from this time on.
    pub fn write(&self, server: Digest, unix_s: u64, out: &mut Vec<u8>) {
        let mut block = [0; BLOCK_BYTES];
        block[..DIGEST_BYTES].copy_from_slice(&server);
        block[DIGEST_BYTES..].copy_from_slice(&(unix_s as u32).to_be_bytes());
        let mut text = [0; TEXT_BYTES];
        if self.seals.encrypt(&mut block).is_ok() && BASE64_URL_SAFE_NO_PAD.encode_slice(block, &mut text).is_ok() {
            out.extend_from_slice(&text);
        }
    }

    /// The server that a name was made for, and when. `None`: by none of the keys.
    pub fn open(&self, text: &[u8]) -> Option<(u32, u64)> {
        if text.len() != TEXT_BYTES {
            return None;
        }
        let mut sealed = [0; ROOM_BYTES];
        BASE64_URL_SAFE_NO_PAD.decode_slice(text, &mut sealed).ok()?;
        self.opens.iter().find_map(|key| {
            let mut block = [0; BLOCK_BYTES];
            block.copy_from_slice(&sealed[..BLOCK_BYTES]);
            key.decrypt(&mut block, DecryptionContext::None).ok()?;
            let (digest, made) = block.split_at(DIGEST_BYTES);
            let server = self.servers.get(digest)?;
            Some((*server, u32::from_be_bytes(made.try_into().ok()?).into()))
        })
    }
}
