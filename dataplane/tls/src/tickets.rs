//! Session tickets, made as RFC 5077 §4 recommends, with keys that all engines of a service have: the first key seals,
//! and any of them opens. So a client can resume on every engine, also while the keys change on one engine after the
//! other.
//!
//! A ticket says when it was made, and is worthless after its lifetime. The first key has an end, too: an engine that
//! gets no new keys stops making tickets. Clients then make full handshakes; open connections are not affected.
//!
//! A session of a client with a certificate ends with the certificate. Its ticket is bound to what the client was judged
//! by: authorities, lists of revoked certificates, and whether a certificate is required.

use std::{fmt, num::NonZeroU32, sync::Arc};

use aws_lc_rs::{
    cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey},
    error::Unspecified,
    hmac,
    iv::FixedLength,
};
use rustls::{pki_types::UnixTime, server::ProducesTickets};

use crate::{
    Error, origin,
    shown::{self, Shown},
};

const NAME_BYTES: usize = 16;
const AES_BYTES: usize = 32;
const HMAC_BYTES: usize = 32;
const IV_BYTES: usize = 16;
const TAG_BYTES: usize = 32;
/// When a ticket was made, and when it ends.
const TIME_BYTES: usize = 8;
const ORIGIN_BYTES: usize = 4;
/// Of a ticket that is made or looked at. Without the certificates of a client they have less than 300.
const TICKET_BYTES_MAX: usize = 4096;
/// In the context of tickets that say where their session began.
const ORIGIN: &[u8] = b"origin";
/// RFC 8446 §4.6.1: seven days.
const LIFETIME_S_MAX: u32 = 604_800;

#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey([u8; TicketKey::BYTES]);

impl TicketKey {
    /// Its name, its key of AES-256-CBC, its key of HMAC-SHA256.
    pub const BYTES: usize = NAME_BYTES + AES_BYTES + HMAC_BYTES;

    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        bytes.try_into().map(Self).map_err(|_| Error::TicketKeyLength(bytes.len()))
    }
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKey")
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TicketSettings {
    /// The first seals; without one there are no tickets.
    pub keys: Vec<TicketKey>,
    pub lifetime_s: u32,
    /// No ticket is made from then on.
    pub until_unix_s: u64,
    /// Tickets say where their session began ([`TlsSession::origin`](crate::TlsSession::origin)).
    pub keep_origin: bool,
}

/// Makes and reads tickets. A worker has one for each service.
#[derive(Debug)]
pub(crate) struct Ticketer {
    keys: Vec<Key>,
    lifetime_s: u32,
    until_unix_s: u64,
    /// What tickets are bound to, if clients are asked for certificates.
    bound: Option<Bound>,
    keeps_origin: bool,
}

/// What the tickets of clients are bound to that are asked for certificates.
#[derive(Debug)]
pub(crate) struct Bound {
    pub context: [u8; 32],
    /// A client needs a good certificate.
    pub required: bool,
}

impl Ticketer {
    /// `None`: there is no key.
    pub fn new(settings: &TicketSettings, bound: Option<Bound>) -> Result<Option<Arc<Self>>, Error> {
        let keys: Result<Vec<_>, Unspecified> = settings.keys.iter().map(Key::new).collect();
        let keys = keys.map_err(|_| Error::Refused("a session ticket key cannot be used".to_owned()))?;
        let lifetime_s = settings.lifetime_s.min(LIFETIME_S_MAX);
        let keeps_origin = settings.keep_origin;
        let ticketer = Self { keys, lifetime_s, until_unix_s: settings.until_unix_s, bound, keeps_origin };
        Ok((!ticketer.keys.is_empty()).then(|| Arc::new(ticketer)))
    }

    fn seal(&self, session: &[u8], now_unix_s: u64) -> Option<Vec<u8>> {
        let key = self.keys.first().filter(|_| now_unix_s < self.until_unix_s)?;
        let made = now_unix_s.to_be_bytes();
        let until = match &self.bound {
            None => &[][..],
            Some(bound) => &shown::resumable_until(bound.required)?.to_be_bytes(),
        };
        let origin = if self.keeps_origin { &origin::known().to_be_bytes()[..] } else { &[] };
        let sealed = key.seal([&made, until, origin, session].concat(), &self.context());
        sealed.filter(|ticket| ticket.len() <= TICKET_BYTES_MAX)
    }

    /// What is signed with tickets: those of other settings are of no use.
    fn context(&self) -> [&[u8]; 2] {
        let of_client = self.bound.as_ref().map_or(&[][..], |bound| &bound.context);
        [of_client, if self.keeps_origin { ORIGIN } else { &[] }]
    }

    fn open(&self, ticket: &[u8], now_unix_s: u64) -> Option<Vec<u8>> {
        if ticket.len() > TICKET_BYTES_MAX {
            return None;
        }
        let (name, rest) = ticket.split_first_chunk::<NAME_BYTES>()?;
        let mut opened = self.keys.iter().find(|key| key.name == *name)?.open(rest, &self.context())?;
        // The clock of the engine that made it may be ahead of ours.
        let made = time(&opened)?;
        let mut fresh = now_unix_s.saturating_sub(made) < self.lifetime_s.into();
        let mut before = TIME_BYTES;
        if self.bound.is_some() {
            let until_unix_s = time(&opened[TIME_BYTES..])?;
            fresh &= now_unix_s < until_unix_s;
            before += TIME_BYTES;
            if fresh {
                // The next ticket of this session ends with its certificate, too.
                shown::note(Shown::Ticket { until_unix_s });
            }
        }
        if self.keeps_origin {
            let origin = opened[before..].first_chunk().map(|bytes| u32::from_be_bytes(*bytes))?;
            before += ORIGIN_BYTES;
            if fresh {
                origin::note(NonZeroU32::new(origin));
            }
        }
        fresh.then(|| opened.split_off(before))
    }
}

fn time(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk::<TIME_BYTES>().map(|bytes| u64::from_be_bytes(*bytes))
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime_s
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain, UnixTime::now().as_secs())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher, UnixTime::now().as_secs())
    }
}

struct Key {
    name: [u8; NAME_BYTES],
    sealing: PaddedBlockEncryptingKey,
    opening: PaddedBlockDecryptingKey,
    signing: hmac::Key,
}

impl Key {
    fn new(TicketKey(bytes): &TicketKey) -> Result<Self, Unspecified> {
        let (name, keys) = bytes.split_first_chunk().ok_or(Unspecified)?;
        let (aes, signing) = keys.split_at(AES_BYTES);
        Ok(Self {
            name: *name,
            sealing: PaddedBlockEncryptingKey::cbc_pkcs7(UnboundCipherKey::new(&AES_256, aes)?)?,
            opening: PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(&AES_256, aes)?)?,
            signing: hmac::Key::new(hmac::HMAC_SHA256, signing),
        })
    }

    /// Name, initialisation vector, sealed state, tag.
    fn seal(&self, mut state: Vec<u8>, bound_to: &[&[u8]; 2]) -> Option<Vec<u8>> {
        let context = self.sealing.encrypt(&mut state).ok()?;
        let iv: &[u8] = (&context).try_into().ok()?;
        let tag = hmac::sign(&self.signing, &self.signed(iv, &state, bound_to)?);
        Some([&self.name, iv, &state, tag.as_ref()].concat())
    }

    /// Of what follows the name.
    fn open(&self, sealed: &[u8], bound_to: &[&[u8]; 2]) -> Option<Vec<u8>> {
        let (iv, sealed) = sealed.split_first_chunk::<IV_BYTES>()?;
        let (state, tag) = sealed.split_last_chunk::<TAG_BYTES>()?;
        hmac::verify(&self.signing, &self.signed(iv, state, bound_to)?, tag).ok()?;
        let mut state = state.to_vec();
        let context = DecryptionContext::Iv128(FixedLength::from(*iv));
        let opened = self.opening.decrypt(&mut state, context).ok()?.len();
        state.truncate(opened);
        Some(state)
    }

    /// RFC 5077 §4: the name, the vector, the length of the state, the state. Behind it what the ticket is bound to.
    fn signed(&self, iv: &[u8], state: &[u8], bound_to: &[&[u8]; 2]) -> Option<Vec<u8>> {
        let length = u16::try_from(state.len()).ok()?.to_be_bytes();
        Some([&self.name, iv, &length, state, bound_to[0], bound_to[1]].concat())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn key(seed: u8) -> TicketKey {
        TicketKey([seed; TicketKey::BYTES])
    }

    fn ticketer(seeds: &[u8]) -> Arc<Ticketer> {
        let keys = seeds.iter().map(|seed| key(*seed)).collect();
        let settings = TicketSettings { keys, lifetime_s: 3600, until_unix_s: NOW + 7200, keep_origin: false };
        Ticketer::new(&settings, None).unwrap().unwrap()
    }

    #[test]
    fn ticket_of_one_engine_is_read_by_another_before_and_after_the_keys_are_turned() {
        let (before, after) = (ticketer(&[1, 0, 2]), ticketer(&[2, 1, 3]));
        for (maker, reader) in [(&before, &before), (&before, &after), (&after, &before), (&after, &after)] {
            let ticket = maker.seal(b"session", NOW).unwrap();
            assert_eq!(reader.open(&ticket, NOW + 1).unwrap(), b"session");
        }
        assert_eq!(ticketer(&[3, 2, 4]).open(&before.seal(b"session", NOW).unwrap(), NOW), None, "turned twice");
    }

    #[test]
    fn ticket_is_worth_nothing_after_its_lifetime_and_made_by_a_clock_that_is_ahead_it_is_new() {
        let ticketer = ticketer(&[1]);
        let ticket = ticketer.seal(b"session", NOW).unwrap();
        assert!(ticketer.open(&ticket, NOW + 3599).is_some());
        assert!(ticketer.open(&ticket, NOW + 3600).is_none());
        assert!(ticketer.open(&ticket, NOW - 60).is_some());
    }

    #[test]
    fn engine_without_new_keys_makes_no_more_tickets_and_reads_those_there_are() {
        let ticketer = ticketer(&[1]);
        let last = ticketer.seal(b"session", NOW + 7199).unwrap();
        assert!(ticketer.seal(b"session", NOW + 7200).is_none());
        assert!(ticketer.open(&last, NOW + 7300).is_some());
    }

    #[test]
    fn ticket_that_was_changed_anywhere_or_cut_short_is_worth_nothing() {
        let ticketer = ticketer(&[1, 2]);
        let ticket = ticketer.seal(b"session", NOW).unwrap();
        for position in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[position] ^= 1;
            assert_eq!(ticketer.open(&changed, NOW), None, "byte {position}");
            assert_eq!(ticketer.open(&ticket[..position], NOW), None, "{position} bytes");
        }
        assert_eq!(ticketer.open(&[ticket, vec![0; TICKET_BYTES_MAX]].concat(), NOW), None);
    }

    /// rustls makes new tickets in each resumed handshake, for which it asks nobody about the certificate.
    #[test]
    fn tickets_of_a_resumed_session_end_with_its_certificate_too() {
        for required in [false, true] {
            let settings =
                TicketSettings { keys: vec![key(1)], lifetime_s: 3600, until_unix_s: NOW + 7200, keep_origin: false };
            let bound = Bound { context: [7; 32], required };
            let ticketer = Ticketer::new(&settings, Some(bound)).unwrap().unwrap();
            shown::note(Shown::Good { until_unix_s: NOW + 100 });
            let mut ticket = ticketer.seal(b"session", NOW).unwrap();
            for time in 1..4 {
                shown::resume(None);
                assert_eq!(ticketer.open(&ticket, NOW + time).unwrap(), b"session");
                ticket = ticketer.seal(b"session", NOW + time).unwrap();
            }
            assert!(ticketer.open(&ticket, NOW + 99).is_some());
            assert!(ticketer.open(&ticket, NOW + 100).is_none());
            shown::suspend();
        }
    }

    #[test]
    fn session_keeps_its_origin_from_ticket_to_ticket_and_tickets_of_other_settings_are_of_no_use() {
        let settings =
            TicketSettings { keys: vec![key(1)], lifetime_s: 3600, until_unix_s: NOW + 7200, keep_origin: true };
        let (ticketer, without) = (Ticketer::new(&settings, None).unwrap().unwrap(), ticketer(&[1]));
        origin::resume(NonZeroU32::MIN);
        let mut ticket = ticketer.seal(b"session", NOW).unwrap();
        for time in 1..3 {
            origin::resume(NonZeroU32::MAX);
            assert_eq!(ticketer.open(&ticket, NOW + time).unwrap(), b"session");
            ticket = ticketer.seal(b"session", NOW + time).unwrap();
            assert_eq!(origin::suspend(), Some(NonZeroU32::MIN));
        }
        assert_eq!(without.open(&ticket, NOW), None);
        assert_eq!(ticketer.open(&without.seal(b"session", NOW).unwrap(), NOW), None);
        origin::resume(NonZeroU32::MAX);
        assert_eq!(ticketer.open(&ticket, NOW + 3700), None);
        assert_eq!(origin::suspend(), Some(NonZeroU32::MAX), "what is too old says nothing");
    }

    #[test]
    fn key_has_its_length_and_shows_itself_to_nobody() {
        assert_eq!(TicketKey::read(&[7; 79]), Err(Error::TicketKeyLength(79)));
        let settings = TicketSettings { keys: vec![key(77)], lifetime_s: 1, until_unix_s: 1, keep_origin: false };
        let ticketer = Ticketer::new(&settings, None).unwrap();
        assert!(!format!("{settings:?} {ticketer:?}").contains("77"));
        assert!(Ticketer::new(&TicketSettings { keys: Vec::new(), ..settings }, None).unwrap().is_none());
    }
}
